// Promise: the programs that production runs are bundled so that no closure is given a name each time that it is made.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const APPS = join(import.meta.dirname, '..', '..', 'dist', 'apps');

test.each(['gateway', 'device-relay', 'cash-register'])('%s', (app) => {
  const folder = join(APPS, app, 'src');
  const files = readdirSync(folder).filter((name) => name === 'main.js' || /^main\.part-.*\.js$/.test(name));
  const texts = files.map((name) => readFileSync(join(folder, name), 'utf8'));
  const calls = texts.flatMap((text) => [...text.matchAll(/\b__name\(.{5}/g)].map(([call]) => call));
  expect(calls.length).toBeGreaterThan(0);
  expect(calls.filter((call) => call !== '__name(this,')).toEqual([]);
  for (const text of texts) expect(text).toContain('function __same(');
});
