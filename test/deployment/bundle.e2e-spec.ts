// Promise: the programs that production runs are bundled so that no closure is given a name each time that it is made.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const APPS = join(import.meta.dirname, '..', '..', 'dist', 'apps');

test.each(['gateway', 'device-relay', 'cash-register'])('%s', (app) => {
  const text = readFileSync(join(APPS, app, 'src', 'main.bundle.cjs'), 'utf8');
  const calls = [...text.matchAll(/\b__name\(.{5}/g)].map(([call]) => call);
  expect(calls.length).toBeGreaterThan(0);
  expect(calls.filter((call) => call !== '__name(this,')).toEqual([]);
  expect(text).toContain('function __same(');
});
