// Promise: every dependency has a stated reason, and exactly one version of it is possible.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..', '..');
const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Record<string, Record<string, string>>;
const dependencies = {
  ...manifest['dependencies'],
  ...manifest['optionalDependencies'],
  ...manifest['devDependencies'],
};

test('docs/dependencies.md lists what package.json lists', () => {
  const rows = readFileSync(join(ROOT, 'docs', 'dependencies.md'), 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('| `'));
  const listed = rows.flatMap((row) => [...(row.split('|')[1] ?? '').matchAll(/`([^`]+)`/g)].map(([, name]) => name));
  expect(listed.sort()).toEqual(Object.keys(dependencies).sort());
});

test('every version is pinned exactly', () => {
  // A second version of a package has a name of its own.
  expect(Object.entries(dependencies).filter(([, version]) => !/^(npm:[a-z-]+@)?\d/.test(version))).toEqual([]);
});

test('the lock file names no registry', () => {
  expect(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')).not.toMatch(/"resolved": "http/);
});
