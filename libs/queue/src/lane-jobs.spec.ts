/** Promise at stake: no process takes jobs that it cannot handle, and a foreign job does no harm. */
import { assertEveryJobHasHandler, deviceIdOf } from './lane-jobs.js';

test('a table without a handler for every job is refused by name', () => {
  expect(() => assertEveryJobHasHandler({})).toThrow('drain-lane');
  expect(() => assertEveryJobHasHandler({ 'drain-lane': 'a string' })).toThrow('drain-lane');
  expect(() => assertEveryJobHasHandler({ 'drain-lane': () => Promise.resolve() })).not.toThrow();
});

test.each([null, undefined, 7, 'dev_1', {}, { deviceId: 7 }, { deviceId: '' }])('%j names no device', (data) => {
  expect(deviceIdOf(data)).toBeNull();
});

test('a job names its device', () => {
  expect(deviceIdOf({ deviceId: 'dev_1' })).toBe('dev_1');
});
