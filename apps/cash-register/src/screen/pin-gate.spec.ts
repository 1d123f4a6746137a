// Breaks if a PIN could be guessed in reasonable time.
import { delayAfter, isGoodPin } from './pin-gate.js';

test('three attempts are free, then the delay doubles up to an hour', () => {
  expect([0, 1, 2, 3, 4, 5, 9, 10, 50].map((failures) => delayAfter(failures) / 1000)).toEqual([
    ...[0, 0, 0, 30, 60, 120, 1920, 3600, 3600],
  ]);
});

test.each(['290417', '112233', '123457', '987653', '111112', '000000001', '135791'])('%s may be a PIN', (pin) =>
  expect(isGoodPin(pin)).toBe(true),
);

test.each(['', '12345', '111111', '123456', '654321', '012345678', '1234567890123', '29041a', '29 417', '٢٩٠٤١٧'])(
  '%s may not',
  (pin) => expect(isGoodPin(pin)).toBe(false),
);
