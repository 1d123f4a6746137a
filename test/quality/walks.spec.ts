// Promise: from the entry of a call to its commit there are at most six files to read, each calling the next one
// (docs/architecture.md, "From entry to commit").
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..', '..');
const MOST_FILES = 6;
/** What paths of the table may leave out. */
const BASES = [
  '',
  'apps/gateway/src',
  'apps/gateway/src/payments/inbound',
  'apps/device-relay/src/lanes',
  'libs/ledger/src/attempts',
];

interface Walk {
  name: string;
  files: string[];
}

function walksOf(page: string): Walk[] {
  const [, section = ''] = page.split('### From entry to commit');
  const rows = section.split('\n## ')[0]?.matchAll(/^\| (?!Walk|---)([^|]+) \| ([^|]+) \|/gm) ?? [];
  return [...rows].map(([, name = '', way = '']) => ({
    name,
    files: [...way.matchAll(/`([^`]+\.ts)`/g)].map(([, file]) => located(file ?? '')),
  }));
}

function located(file: string): string {
  const found = BASES.map((base) => join(base, file)).filter((path) => existsSync(join(ROOT, path)));
  if (found.length !== 1) throw new Error(`${file} is ${found.length === 0 ? 'no file' : found.join(' or ')}`);
  return found[0] ?? '';
}

function sourceOf(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8').replace(/^import[\s\S]*?;$/gm, '');
}

/** What another file can call of it: its functions, and the methods of its classes. */
function callableOf(file: string): string[] {
  const source = sourceOf(file);
  const exported = [...source.matchAll(/^export (?:async )?function (\w+)/gm)];
  const methods = [
    ...source.matchAll(/^ {2}(?:async )?(?!constructor|if|for|return|switch|while)(\w+)(?:<[^>]+>)?\(/gm),
  ];
  return [...exported, ...methods].map(([, name]) => name ?? '');
}

function calls(file: string, name: string): boolean {
  return new RegExp(`\\b${name}\\(`).test(sourceOf(file));
}

/** Steps of a walk of which the first does not call the second. */
function gapsOf({ files }: Walk): string[] {
  return files.slice(1).flatMap((next, index) => {
    const from = files[index] ?? '';
    return callableOf(next).some((name) => calls(from, name)) ? [] : [`${from} does not call ${next}`];
  });
}

/** Files that import one before them in the walk: to understand that one, a reader has to go back. */
function backwards({ files }: Walk): string[] {
  return files.flatMap((file, index) => {
    const imports = readFileSync(join(ROOT, file), 'utf8').match(/^import (?!type)[\s\S]*?;$/gm) ?? [];
    const before = files.slice(0, index).map((each) => each.replace(/^.*\//, '').replace(/\.ts$/, '.js'));
    return before
      .filter((name) => imports.some((each) => each.includes(`/${name}'`)))
      .map((name) => `${file} ← ${name}`);
  });
}

const walks = walksOf(readFileSync(join(ROOT, 'docs', 'architecture.md'), 'utf8'));

test('a receipt, a refund, a call of Payme and a send have their walks', () => {
  expect(walks.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['a sale', 'a refund', 'a usual call of Payme', 'a send, to the intent']),
  );
});

test('the check sees a file that is not called', () => {
  const files = ['apps/gateway/src/receipts/create-receipt.ts', 'apps/device-relay/src/lanes/send-turns.ts'];
  expect(gapsOf({ name: 'none', files })).toHaveLength(1);
});

test.each(walks)('$name: at most six files, each called by the one before it', (walk) => {
  expect(walk.files.length).toBeLessThanOrEqual(MOST_FILES);
  expect(walk.files.length).toBeGreaterThan(2);
  expect(gapsOf(walk)).toEqual([]);
  expect(backwards(walk)).toEqual([]);
});
