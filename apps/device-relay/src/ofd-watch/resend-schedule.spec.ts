// Promise: unsent documents are sent again, the nearer their 48-hour fuse, the more often.
import { resendAfterMs } from './resend-schedule.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const calm = { everyMs: 15 * MINUTE, hasProgress: false, random: () => 0.5 };

test.each([
  [0, 15 * MINUTE],
  [24 * HOUR - 1, 15 * MINUTE],
  [24 * HOUR, 5 * MINUTE],
  [40 * HOUR - 1, 5 * MINUTE],
  [40 * HOUR, 2.5 * MINUTE],
  [46 * HOUR - 1, 2.5 * MINUTE],
  [46 * HOUR, MINUTE],
  [1_000 * HOUR, MINUTE],
  [-HOUR, 15 * MINUTE],
])('unsent for %p ms: again after %p ms', (ageMs, expected) => {
  expect(resendAfterMs(ageMs, calm)).toBe(expected);
});

test('a short pause when something went through', () => {
  expect(resendAfterMs(0, { ...calm, hasProgress: true })).toBe(MINUTE);
  expect(resendAfterMs(47 * HOUR, { ...calm, hasProgress: true })).toBe(MINUTE);
});

test('never grows with age, and is spread by a fifth either way', () => {
  const ages = Array.from({ length: 60 }, (_, hours) => resendAfterMs(hours * HOUR, calm));
  expect(ages).toEqual([...ages].sort((a, b) => b - a));
  expect(resendAfterMs(0, { ...calm, random: () => 0 })).toBe(12 * MINUTE);
  expect(resendAfterMs(0, { ...calm, random: () => 1 })).toBe(18 * MINUTE);
});
