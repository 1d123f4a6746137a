// Promise: what the documents name exists: files, links, sections, npm scripts and problem codes.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { ADVICE, PROBLEMS } from '#problems';
import { findAdviceFaults, renderErrorsPage } from '../../scripts/docs-errors.mjs';

const ROOT = join(import.meta.dirname, '..', '..');
/** Made by tools or by a running system: a fresh clone does not have them. */
const NOT_IN_A_CLONE = new Set(['node_modules', 'dist', 'generated', '.git', '.data', '.artifacts']);
const FOLDERS = [
  'apps',
  'examples',
  'ops',
  'libs',
  'prisma',
  'scripts',
  'test',
  'bench',
  'docs',
  'data',
  'docker',
  '.ci',
];

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (NOT_IN_A_CLONE.has(entry.name)) return [];
    const path = join(folder, entry.name);
    return entry.isDirectory() ? filesBelow(path) : [relative(ROOT, path)];
  });
}

const files = filesBelow(ROOT);
const names = new Set(files.map((file) => basename(file)));
const pages = files.filter((file) => file.endsWith('.md'));
const sources = files.filter((file) => /\.(ts|mjs|cjs|js|prisma|sql|yml|sh|md)$/.test(file));
const scripts = (JSON.parse(read('package.json')) as { scripts: Record<string, string> }).scripts;

function read(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8');
}

function isThere(path: string): boolean {
  return existsSync(join(ROOT, path)) && !path.split('/').some((step) => NOT_IN_A_CLONE.has(step));
}

/** `text` between backticks, outside of fenced blocks. */
function codeSpans(text: string): string[] {
  const prose = text.replace(/^```[\s\S]*?^```/gm, '');
  return [...prose.matchAll(/`([^`\n]+)`/g)].map(([, span]) => span ?? '');
}

/** The anchor that a heading gets on the usual hosts. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}

function anchorsOf(page: string): string[] {
  return [...read(page).matchAll(/^#+ (.+)$/gm)].map(([, heading]) => anchorOf(heading ?? ''));
}

function brokenLinks(page: string): string[] {
  const links = [...read(page).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target]) => target ?? '');
  return links.filter((link) => {
    if (/^[a-z]+:/.test(link)) return false;
    const [path = '', anchor] = link.split('#');
    const target = path === '' ? page : join(dirname(page), path);
    if (!isThere(target)) return true;
    const isPage = statSync(join(ROOT, target)).isFile() && target.endsWith('.md');
    return anchor !== undefined && !(isPage && anchorsOf(target).includes(anchor));
  });
}

/** Paths from the root, and bare names of source files; a placeholder like `<provider>` names nothing. */
function missingFiles(page: string): string[] {
  return codeSpans(read(page))
    .filter((span) => /^[\w.@/-]+$/.test(span))
    .filter((span) => {
      const [top = '', ...rest] = span.split('/');
      if (rest.length > 0) return FOLDERS.includes(top) && !isThere(span);
      return /\.(ts|mjs|cjs|prisma|sql|yml|md)$/.test(span) && !span.startsWith('.') && !names.has(span);
    });
}

test('there are pages to check, and the check sees what is missing', () => {
  expect(pages).toEqual(expect.arrayContaining(['README.md', 'CONTRIBUTING.md', 'docs/architecture.md']));
  expect(isThere('docs/no-such-page.md')).toBe(false);
  expect(codeSpans('a `b.ts` c\n```\n`d`\n```\n')).toEqual(['b.ts']);
});

test.each(pages)('the links in %s lead somewhere', (page) => {
  expect(brokenLinks(page)).toEqual([]);
});

test.each(pages)('the files that %s names exist', (page) => {
  expect(missingFiles(page)).toEqual([]);
});

test.each(pages)('the npm scripts that %s names exist', (page) => {
  const named = [...read(page).matchAll(/\bnpm (?:run ([a-z][\w:-]*)|(start|test)\b)/g)].map(
    ([, run, short]) => run ?? short,
  );
  expect(named.filter((name) => !(name !== undefined && name in scripts))).toEqual([]);
});

test('the pages that comments refer to exist', () => {
  const missing = sources.flatMap((file) =>
    [...read(file).matchAll(/\bdocs\/[\w./-]+\.md\b/g)].map(([page]) => page).filter((page) => !isThere(page)),
  );
  // Named above as missing.
  expect([...new Set(missing)].filter((page) => page !== 'docs/no-such-page.md')).toEqual([]);
});

test('comments name no page that only some people have', () => {
  const code = sources.filter((file) => !file.endsWith('.md'));
  const named = code.flatMap((file) =>
    [...read(file).matchAll(/(?<![\w/.-])[\w-]+\.md\b/g)].map(([page]) => `${file}: ${page}`),
  );
  expect(named.filter((line) => !names.has(line.split(': ')[1] ?? ''))).toEqual([]);
});

test('decisions have a number of their own and stay short; the README does, too', () => {
  const decisions = pages.filter((page) => /^docs\/adr\/\d/.test(page));
  const index = read('docs/adr/README.md');
  expect(decisions.filter((page) => !index.includes(`](${basename(page)})`))).toEqual([]);
  const numbers = decisions.map((page) => basename(page).slice(0, 4));
  expect(new Set(numbers).size).toBe(decisions.length);
  const lines = (page: string): number => read(page).split('\n').length - 1;
  expect(decisions.filter((page) => lines(page) > 60)).toEqual([]);
  expect(lines('README.md')).toBeLessThan(120);
});

test('docs/errors.md is what the catalogue says (node scripts/docs-errors.mjs writes it)', () => {
  expect(read('docs/errors.md')).toBe(renderErrorsPage(PROBLEMS, ADVICE));
});

test('a code without advice, advice without a code, and a repeat that cannot succeed are found', () => {
  const { required, internal } = ADVICE;
  expect(findAdviceFaults({ required: PROBLEMS.required }, {})).toEqual(['required has no advice']);
  expect(findAdviceFaults({ required: PROBLEMS.required }, { required: internal })).toEqual([
    'required is not retryable, and its advice is repeat',
  ]);
  expect(findAdviceFaults({}, { required })).toEqual(['required has advice and is no code']);
});
