// Breaks if a stranger's web page could speak to the register by pointing its own name at it (DNS rebinding).
import { networkInterfaces } from 'node:os';
import { isLoopbackAddress, isOwnHost } from './hosts.js';

const own = Object.values(networkInterfaces()).flatMap((list) => (list ?? []).map(({ address }) => address));

test.each(['localhost', 'LocalHost:8765', '127.0.0.1', '127.0.0.1:8765', '127.9.9.9:1', '[::1]:8765', 'localhost.'])(
  '%s is this machine',
  (header) => expect(isOwnHost(header, [])).toBe(true),
);

test('so is every address of its network cards', () => {
  for (const address of own.filter((one) => !one.includes(':'))) expect(isOwnHost(`${address}:8765`, [])).toBe(true);
});

test.each([
  ...[undefined, '', 'evil.example', 'localhost.evil.example', '127.0.0.1.evil.example', '203.0.113.9', '0.0.0.0'],
  ...['127.0.0.1:8765:1', 'localhost:', 'a@localhost', 'localhost/x', '[::1', '::1', '127.1', '2130706433', '[::2]:80'],
])('%s is not', (header) => expect(isOwnHost(header, [])).toBe(false));

test('a configured name is, by any port and case', () => {
  expect(isOwnHost('Kassa.Shop.Example:443', ['kassa.shop.example'])).toBe(true);
  expect(isOwnHost('x.kassa.shop.example', ['kassa.shop.example'])).toBe(false);
});

test('a peer on this machine is distinguished from one elsewhere', () => {
  expect(['127.0.0.1', '::1', '::ffff:127.0.0.1'].map(isLoopbackAddress)).toEqual([true, true, true]);
  expect(['10.0.0.1', '::ffff:10.0.0.1', undefined].map(isLoopbackAddress)).toEqual([false, false, false]);
});
