// Promise: an address list lets in exactly the networks that it names, for IPv4, IPv6 and IPv4 seen through IPv6.
import { CidrSet, parseCidr, type Cidr } from './cidr.js';

function cidr(text: string): Cidr {
  const parse = parseCidr(text);
  if (parse.kind === 'invalid') throw new Error(`${text}: ${parse.reason}`);
  return parse.cidr;
}

test('contains what lies within and nothing else', () => {
  const set = new CidrSet(['10.0.0.0/8', '192.0.2.7', '2001:db8::/32', '::1'].map(cidr));
  for (const inside of [
    '10.1.2.3',
    '192.0.2.7',
    '2001:db8:1::5',
    '::1',
    '::ffff:10.9.9.9',
    '::ffff:a09:909',
    '64:ff9b::a09:909',
  ]) {
    expect([inside, set.contains(inside)]).toEqual([inside, true]);
  }
  for (const outside of [
    '11.0.0.1',
    '192.0.2.8',
    '2001:db9::1',
    '::2',
    '::ffff:11.0.0.1',
    '64:ff9b::11.0.0.1',
    '::1%lo',
    'evil" onload',
    '',
    '2130706433',
  ]) {
    expect([outside, set.contains(outside)]).toEqual([outside, false]);
  }
});

test('an empty set contains nothing', () => {
  expect(new CidrSet([]).contains('127.0.0.1')).toBe(false);
});

test.each([
  ['2001:db8::1/32', 'bits are set outside the prefix'],
  ['::ffff:1.2.3.4', 'write IPv4-mapped networks as IPv4'],
  ['1.2.3.4/08', 'prefix is not a number'],
  ['1.2.3.4/', 'prefix is not a number'],
  ['1.2.3.4/24/3', 'not an IP network'],
])('refuses %s', (text, reason) => {
  expect(parseCidr(text)).toEqual({ kind: 'invalid', reason });
});
