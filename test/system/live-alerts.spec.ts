// Promise: no alert is shipped of which it is not known whether a running system can make it true.
import { NOT_SEEN, SEEN_IN, shippedAlerts, shortened } from './live-alerts.js';

test('each alert is made true in one file, or a reason says why not', () => {
  const listed = [...Object.values(SEEN_IN).flat(), ...Object.keys(NOT_SEEN)];
  expect(listed.sort()).toEqual(shippedAlerts().sort());
  for (const reason of Object.values(NOT_SEEN)) expect(reason.length).toBeGreaterThan(20);
});

test.each([
  ['expr: sum(rate(a_seconds_sum{b="5m"}[5m])) > 5', 'expr: sum(rate(a_seconds_sum{b="5m"}[15000ms])) > 5'],
  ['for: 1h', 'for: 180000ms'],
  ['interval: 30s', 'interval: 1500ms'],
  ['expr: max by (device) (device_oldest_seconds) > 600', 'expr: max by (device) (device_oldest_seconds) > 600 / 20'],
  ['expr: max(archive_behind_seconds) > 7 * 86400', 'expr: max(archive_behind_seconds) > 7 * 86400 / 20'],
  ['expr: max(lag_seconds) > 0.3', 'expr: max(lag_seconds) > 0.3'],
  ['expr: max(waiting) > 500', 'expr: max(waiting) > 500'],
  ['record: slo:accept:errors:ratio_rate5m', 'record: slo:accept:errors:ratio_rate5m'],
])('spans of time are shortened, and nothing else: %s', (shipped, short) => {
  expect(shortened(shipped)).toBe(short);
});
