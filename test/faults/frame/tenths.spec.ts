// Promise: no case of the fault table is left out of `npm test` and `npm run test:long`, and none is tried on a system that cannot break so.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { CASES } from '../cases.js';
import { TENTHS } from './tenths.js';

test('each case is tried once', () => {
  const tried = Object.values(TENTHS).flatMap(({ inTurn, sideBySide }): string[] => [...inTurn, ...sideBySide]);
  expect(tried.sort()).toEqual(CASES.map(({ number }) => number).sort());
});

test('each group of cases is one file', () => {
  const files = readdirSync(join(import.meta.dirname, '..')).filter((name) => name.startsWith('tenths-'));
  expect(files.map((name) => name.replace(/^tenths-(\w+)\.(e2e|long)-spec\.ts$/, '$1')).sort()).toEqual(
    Object.keys(TENTHS).sort(),
  );
});
