// Promise: an address list lets in exactly the networks that it names, for IPv4, IPv6 and IPv4 seen through IPv6.
import fc from 'fast-check';
import { addressGroup, CidrSet, parseCidr, type Cidr } from './cidr.js';

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

/** Network and address share so many bits that both answers come often. */
test('says of any address what its first bits say', () => {
  const bits = (width: number) => fc.bigInt({ min: 0n, max: (1n << BigInt(width)) - 1n });
  const four = (value: bigint): string => [24n, 16n, 8n, 0n].map((shift) => String((value >> shift) & 255n)).join('.');
  const six = (value: bigint): string =>
    [7n, 6n, 5n, 4n, 3n, 2n, 1n, 0n].map((at) => ((value >> (at * 16n)) & 0xffffn).toString(16)).join(':');
  const answers = new Set<boolean>();
  for (const { width, text } of [
    { width: 32, text: four },
    { width: 128, text: six },
  ]) {
    // Of IPv6 what is handed out: what carries IPv4 is judged as that.
    const highest = width === 128 ? 2n << 124n : 0n;
    fc.assert(
      fc.property(bits(width - 4), fc.integer({ min: 4, max: width }), fc.nat(width - 4), (value, prefix, flipped) => {
        const network = ((highest | value) >> BigInt(width - prefix)) << BigInt(width - prefix);
        const address = (highest | value) ^ (1n << BigInt(flipped));
        const expected = address >> BigInt(width - prefix) === network >> BigInt(width - prefix);
        answers.add(expected);
        expect(new CidrSet([cidr(`${text(network)}/${prefix}`)]).contains(text(address))).toBe(expected);
      }),
      { numRuns: 1_000 },
    );
  }
  expect(answers.size).toBe(2);
});

test('an empty set contains nothing', () => {
  expect(new CidrSet([]).contains('127.0.0.1')).toBe(false);
});

test('writes one network in one way', () => {
  expect(cidr('2001:DB8:0:0::/32').text).toBe('2001:db8::/32');
  expect(cidr('2001:db8:0:0:1:0:0:1').text).toBe('2001:db8::1:0:0:1/128');
  expect(cidr('2001:db8::10.0.0.0/104').text).toBe('2001:db8::a00:0/104');
  expect(cidr('10.0.0.0/8').text).toBe('10.0.0.0/8');
});

test.each([
  ['192.0.2.7', '192.0.2.7'],
  ['::ffff:192.0.2.7', '192.0.2.7'],
  ['2001:db8:1:2:3::4', '20010db800010002::/64'],
  ['2001:db8:1:2::9', '20010db800010002::/64'],
  ['fe80::1%eth0', 'fe80000000000000::/64'],
  ['::1', '0::/64'],
  ['evil" onload', null],
  ['10.0.0.1:80', null],
  ['', null],
])('counts %s as %s', (address, group) => {
  expect(addressGroup(address)).toBe(group);
});

test.each([
  ['::/8', 'it holds all of IPv4'],
  ['::/64', 'it holds all of IPv4'],
  ['::fffe:0:0/95', 'it holds all of IPv4'],
  ['2001:db8::1/32', 'bits are set outside the prefix'],
  ['::ffff:1.2.3.4', 'write IPv4-mapped networks as IPv4'],
  ['1.2.3.4/08', 'prefix is not a number'],
  ['1.2.3.4/', 'prefix is not a number'],
  ['1.2.3.4/24/3', 'not an IP network'],
])('refuses %s', (text, reason) => {
  expect(parseCidr(text)).toEqual({ kind: 'invalid', reason });
});
