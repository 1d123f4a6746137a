import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';

import { ROOT } from './paths.mjs';
import { run } from './run.mjs';
import { LOCALES, localisedConfig } from './docs-site-locales.mjs';
import { recorded } from './translations.mjs';
import { UserError } from './user-error.mjs';

/** The site's own packages: they are many, and only who builds the site needs them. */
export const SITE_TOOLS = path.join(ROOT, '.artifacts', 'docs-site');
/** Where the gateway serves it. */
export const SITE_BASE = '/docs/guide/';
const LOCK = path.join(ROOT, 'scripts', 'docs-site');
const SOURCE = path.join(SITE_TOOLS, 'source');

/** What the site holds, by its place in the repository. */
const PAGES = ['docs', 'examples', 'libs/sdk/README.md', 'CONTRIBUTING.md', 'CHANGELOG.md'];
const FILES = /^docs\/(\w+\.json|pictures\/[\w-]+\.png)$/;

/**
 * @param {string} target the site
 * @returns {Promise<string>} the folder from which it was built
 */
export async function buildSite(target) {
  await installTools();
  layOut();
  fs.rmSync(target, { recursive: true, force: true });
  fs.mkdirSync(path.join(SOURCE, '.vitepress'), { recursive: true });
  fs.writeFileSync(path.join(SOURCE, '.vitepress', 'config.mjs'), configOf(target));
  const vitepress = path.join(SITE_TOOLS, 'node_modules', 'vitepress', 'bin', 'vitepress.js');
  // Dead links end the build.
  const { code, output } = await run(process.execPath, [vitepress, 'build', SOURCE], { cwd: SITE_TOOLS });
  if (code !== 0) throw new UserError(`The site cannot be built:\n${output.trimEnd()}`);
  moveScriptsOut(target);
  return SOURCE;
}

async function installTools() {
  const lock = fs.readFileSync(path.join(LOCK, 'package-lock.json'), 'utf8');
  const installed = path.join(SITE_TOOLS, 'package-lock.json');
  const isThere = fs.existsSync(path.join(SITE_TOOLS, 'node_modules', '.package-lock.json'));
  if (isThere && fs.existsSync(installed) && fs.readFileSync(installed, 'utf8') === lock) return;
  fs.mkdirSync(SITE_TOOLS, { recursive: true });
  fs.copyFileSync(path.join(LOCK, 'package.json'), path.join(SITE_TOOLS, 'package.json'));
  fs.writeFileSync(installed, lock);
  const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const { code, output } = await run('npm', args, { cwd: SITE_TOOLS });
  if (code !== 0) throw new UserError(`npm ci for the site failed:\n${output.trim()}`);
}

/** Copies the pages; what a browser cannot follow becomes text. */
function layOut() {
  fs.rmSync(SOURCE, { recursive: true, force: true });
  for (const page of PAGES.flatMap(pagesBelow))
    write(placeOf(page), readable(markOutdated(fs.readFileSync(path.join(ROOT, page), 'utf8'), page), page));
  for (const file of fs.readdirSync(path.join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })) {
    if (FILES.test(`docs/${file}`)) fs.cpSync(path.join(ROOT, 'docs', file), path.join(SOURCE, 'public', file));
  }
}

/**
 * A translation that says that it is older than its original says so to its readers as well.
 * @param {string} text
 * @param {string} page
 */
function markOutdated(text, page) {
  const [, language = ''] = /^docs\/([a-z]{2})\//.exec(page) ?? [];
  const note = LOCALES[language]?.words['outdated'];
  if (note === undefined || !recorded(text).saysSo) return text;
  return text.replace(/^(---\n[\s\S]*?\n---\n)/, `$1\n> [${note}](../${page.slice('docs/xx/'.length)})\n`);
}

/** @param {string} place @returns {string[]} */
function pagesBelow(place) {
  if (fs.statSync(path.join(ROOT, place)).isFile()) return [place];
  return fs
    .readdirSync(path.join(ROOT, place), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md') && !file.includes('node_modules'))
    .map((file) => path.posix.join(place, file));
}

/** docs/index.md leads. @param {string} page in the repository @returns {string} in the site */
function placeOf(page) {
  const short = page.replace(/^docs\//, '').replace(/^libs\/sdk\/README(?=\.md$)/, 'sdk');
  return short.replace(/README\.md$/, 'index.md').replace(/^[A-Z]+\.md$/, (name) => name.toLowerCase());
}

/** @param {string} place @param {string} text */
function write(place, text) {
  const file = path.join(SOURCE, place);
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, text);
}

/**
 * @param {string} text
 * @param {string} page
 */
function readable(text, page) {
  // Marks for the tests, not for readers.
  const shown = text.replace(/^<!--.*-->\n/gm, '');
  return shown.replace(/\[([^\]]*)\]\(([^)\s]+)\)/g, (whole, label, link) => {
    if (/^[a-z]+:/.test(link)) return whole;
    const [file = '', anchor] = String(link).split('#');
    const hash = anchor === undefined ? '' : `#${anchor}`;
    if (file === '') return whole;
    const target = path.posix.normalize(path.posix.join(path.posix.dirname(page), file)).replace(/\/$/, '');
    if (target === 'README.md') return `[${label}](/)`;
    if (target === 'docs/adr') return `[${label}](/adr/)`;
    if (target.endsWith('.png')) return `[${label}](${target.replace(/^docs/, '')})`;
    if (FILES.test(target)) return `[${label}](${target.replace(/^docs/, '')}){target="_self"}`;
    const isPage = PAGES.some(
      (place) => target === place || (target.startsWith(`${place}/`) && target.endsWith('.md')),
    );
    return isPage ? `[${label}](/${placeOf(target).replace(/(index)?\.md$/, '')}${hash})` : label;
  });
}

/**
 * The ways of an index, with the pages that each names.
 * @param {string} index docs/index.md, or that of a language
 */
function sidebarOf(index) {
  const parts = fs.readFileSync(path.join(ROOT, index), 'utf8').split(/^## /m).slice(1);
  return parts.map((part) => {
    const links = [...part.matchAll(/\[([^\]]+)\]\(([\w./-]+\.md)\)/g)].map(([, text = '', link = '']) => ({
      text: text.replaceAll('`', ''),
      link: `/${placeOf(path.posix.join(path.posix.dirname(index), link)).replace(/(index)?\.md$/, '')}`,
    }));
    return { text: part.split('\n')[0], items: links };
  });
}

/** The anchor of a heading as on the usual hosts: links between the pages are written for those. */
const SLUG = String.raw`(heading) => heading.toLowerCase().replace(/[^\p{L}\p{N} _-]/gu, '').replaceAll(' ', '-')`;

/** @param {string} target */
function configOf(target) {
  const settings = {
    title: 'Fiscal receipt gateway',
    description: 'Sales become fiscal receipts',
    base: SITE_BASE,
    // Else browsers ask for /favicon.ico.
    head: [['link', { rel: 'icon', href: 'data:,' }]],
    outDir: target,
    // Pages of other languages are named by their index alone.
    ...localisedConfig(sidebarOf),
    ignoreDeadLinks: 'localhostLinks',
  };
  // Of what is between < and > in a page, nothing is HTML.
  return `export default { ...${JSON.stringify(settings)}, markdown: { html: false, anchor: { slugify: ${SLUG} } } };\n`;
}

/**
 * Scripts within the pages become files, so that the gateway's policy needs to allow none.
 * @param {string} target
 */
function moveScriptsOut(target) {
  const pages = fs.readdirSync(target, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.html'));
  for (const page of pages) {
    const file = path.join(target, page);
    const html = fs.readFileSync(file, 'utf8');
    const moved = html.replace(/<script((?:(?! src=)[^>])*)>([\s\S]+?)<\/script>/g, (_whole, attributes, code) => {
      const name = `assets/page.${createHash('sha256').update(code).digest('hex').slice(0, 16)}.js`;
      fs.writeFileSync(path.join(target, name), code);
      return `<script${attributes} src="${SITE_BASE}${name}"></script>`;
    });
    fs.writeFileSync(file, moved);
  }
}
