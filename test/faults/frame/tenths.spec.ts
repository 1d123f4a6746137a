// Promise: no case of the fault table is left out of `npm test` and `npm run test:long`, and none is tried on a system that cannot break so.
import { CASES } from '../cases.js';
import { TENTHS } from './tenths.js';

test('each case is tried once', () => {
  const tried = Object.values(TENTHS).flatMap(({ inTurn, sideBySide }): string[] => [...inTurn, ...sideBySide]);
  expect(tried.sort()).toEqual(CASES.map(({ number }) => number).sort());
});
