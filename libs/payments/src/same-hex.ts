import { timingSafeEqual } from 'node:crypto';

/** Whether a signature in hex is the expected one, in constant time; providers write either case. */
export function isSameHex(expected: string, given: string): boolean {
  const [left, right] = [Buffer.from(expected), Buffer.from(given.toLowerCase())];
  return left.length === right.length && timingSafeEqual(left, right);
}
