import fs from 'node:fs';
import path from 'node:path';

import { ROOT } from './paths.mjs';
import { run } from './run.mjs';
import { UserError } from './user-error.mjs';

/** The site's own packages: they are many, and only who builds the site needs them. */
export const SITE_TOOLS = path.join(ROOT, '.artifacts', 'docs-site');
const LOCK = path.join(ROOT, 'scripts', 'docs-site');
const SOURCE = path.join(SITE_TOOLS, 'source');

/** What the site holds, by its place in the repository: links between the pages stay as they are. */
const PAGES = ['docs', 'examples', 'libs/sdk/README.md', 'CONTRIBUTING.md', 'CHANGELOG.md'];

/**
 * @param {string} target the site
 * @returns {Promise<string>} the folder from which it was built
 */
export async function buildSite(target) {
  await installTools();
  layOut();
  fs.rmSync(target, { recursive: true, force: true });
  fs.mkdirSync(path.join(SOURCE, '.vitepress'), { recursive: true });
  fs.writeFileSync(
    path.join(SOURCE, '.vitepress', 'config.mjs'),
    `export default ${JSON.stringify(configOf(target))};\n`,
  );
  const vitepress = path.join(SITE_TOOLS, 'node_modules', 'vitepress', 'bin', 'vitepress.js');
  // Dead links end the build.
  const { code, output } = await run(process.execPath, [vitepress, 'build', SOURCE], { cwd: SITE_TOOLS });
  if (code !== 0) throw new UserError(`The site cannot be built:\n${output.trimEnd()}`);
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
  for (const place of PAGES) {
    for (const page of pagesBelow(place)) {
      write(page, readable(fs.readFileSync(path.join(ROOT, page), 'utf8'), page));
    }
  }
  write(path.join('docs', 'adr', 'index.md'), decisions());
  write(
    'index.md',
    '---\nlayout: home\nhero:\n  name: Fiscal receipt gateway\n  text: Sales become fiscal receipts\n' + hero(),
  );
  for (const file of ['openapi.json', 'postman.json'])
    fs.cpSync(path.join(ROOT, 'docs', file), path.join(SOURCE, 'public', 'docs', file));
}

/** @param {string} place @returns {string[]} */
function pagesBelow(place) {
  if (fs.statSync(path.join(ROOT, place)).isFile()) return [place];
  return fs
    .readdirSync(path.join(ROOT, place), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md') && !file.includes('node_modules'))
    .map((file) => path.join(place, file));
}

/** @param {string} page @param {string} text */
function write(page, text) {
  const file = path.join(SOURCE, page);
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
    if (/^([a-z]+:|#)/.test(link)) return whole;
    const [file = '', anchor] = String(link).split('#');
    const target = path.posix.normalize(path.posix.join(path.posix.dirname(page), file)).replace(/\/$/, '');
    if (target === 'README.md') return `[${label}](/)`;
    if (target === 'docs/adr') return `[${label}](/docs/adr/)`;
    if (/^docs\/\w+\.json$/.test(target)) return `[${label}](/${target}){target="_self"}`;
    const isPage = PAGES.some(
      (place) => target === place || (target.startsWith(`${place}/`) && target.endsWith('.md')),
    );
    return isPage ? `[${label}](${file}${anchor === undefined ? '' : `#${anchor}`})` : label;
  });
}

function decisions() {
  const files = pagesBelow('docs/adr').sort();
  const lines = files.map((file) => {
    const title = /^# (.+)$/m.exec(fs.readFileSync(path.join(ROOT, file), 'utf8'))?.[1] ?? file;
    return `- [${title}](${path.basename(file)})`;
  });
  return `# Decisions\n\n${lines.join('\n')}\n`;
}

function hero() {
  const actions = [
    ['brand', 'Quickstart', '/docs/quickstart'],
    ['alt', 'Documentation', '/docs/'],
    ['alt', 'SDK', '/libs/sdk/README'],
  ];
  const lines = actions.map(([theme, text, link]) => `    - theme: ${theme}\n      text: ${text}\n      link: ${link}`);
  return `  actions:\n${lines.join('\n')}\n---\n`;
}

/** The four ways of docs/index.md, with the pages that each names. */
function sidebar() {
  const parts = fs
    .readFileSync(path.join(ROOT, 'docs', 'index.md'), 'utf8')
    .split(/^## /m)
    .slice(1);
  return parts.map((part) => {
    const links = [...part.matchAll(/\[([^\]]+)\]\(([\w./-]+\.md)\)/g)].map(([, text = '', link = '']) => ({
      text: text.replaceAll('`', ''),
      link: `/${path.posix.join('docs', link).replace(/\.md$/, '')}`,
    }));
    return { text: part.split('\n')[0], items: links };
  });
}

/** @param {string} target */
function configOf(target) {
  return {
    title: 'Fiscal receipt gateway',
    description: 'Sales become fiscal receipts',
    outDir: target,
    // Of what is between < and > in a page, nothing is HTML.
    markdown: { html: false },
    ignoreDeadLinks: 'localhostLinks',
    themeConfig: { search: { provider: 'local' }, sidebar: sidebar(), outline: [2, 3] },
  };
}
