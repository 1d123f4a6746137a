// Promise: a command that the chart or a page gives for a container is a file of the image, and runs without what only a checkout has.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readComposeFile } from './compose-file.js';

const ROOT = join(import.meta.dirname, '..', '..');
const NOTES = join('ops', 'helm', 'fiscal-gateway', 'templates', 'NOTES.txt');
const pages = readdirSync(join(ROOT, 'docs')).flatMap((name) => (name.endsWith('.md') ? [join('docs', name)] : []));

/** What runs in a container anyhow; other scripts begin with the packages, the lock file and the build of a checkout. */
const scripts = Object.values(readComposeFile().services).flatMap(({ command = [], healthcheck }) =>
  [...command, ...(healthcheck?.test ?? [])].filter((word) => /^scripts\/.*\.mjs$/.test(word)),
);

function runsInImage(file: string): boolean {
  if (scripts.includes(file)) return true;
  // Each source of a program is compiled to the same place below dist.
  const source = /^dist\/(apps\/.*)\.js$/.exec(file)?.[1];
  return source !== undefined && existsSync(join(ROOT, `${source}.ts`));
}

/** Files that `text` runs by `node` in a container, or by its path in dist. */
function runIn(text: string): string[] {
  const lines = text.split('\n').filter((line) => /\bexec\b|docker compose run\b|node dist\/apps\//.test(line));
  return lines.flatMap((line) => [...line.matchAll(/\bnode (\S+\.m?js)\b/g)].map(([, file]) => file ?? ''));
}

test('the chart says how to examine what it installed, by a file of the image', () => {
  const found = runIn(readFileSync(join(ROOT, NOTES), 'utf8'));
  expect(found).toHaveLength(1);
  expect(found.filter((file) => !runsInImage(file))).toEqual([]);
});

test('so do the pages, for each command that a checkout has as an npm script', () => {
  const found = pages.flatMap((page) =>
    runIn(readFileSync(join(ROOT, page), 'utf8')).map((file): [string, string] => [page, file]),
  );
  expect(found.filter(([, file]) => !runsInImage(file))).toEqual([]);
  const program = (name: string): string => `dist/apps/gateway/src/programs/${name}/main.js`;
  expect(found).toEqual(
    expect.arrayContaining([
      [join('docs', 'runbook.md'), program('cli')],
      [join('docs', 'alarms.md'), program('cli')],
      [join('docs', 'runbook.md'), program('audit')],
      [join('docs', 'security.md'), program('secrets')],
    ]),
  );
});
