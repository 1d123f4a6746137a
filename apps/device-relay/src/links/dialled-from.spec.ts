import type { IncomingMessage } from 'node:http';
import { CidrSet, parseCidr, type Cidr } from '#outgoing';
import { dialledFrom } from './dialled-from.js';

const proxies = new CidrSet(['10.0.0.1/32', '10.0.0.2/32'].map((text) => cidrOf(text)));

function cidrOf(text: string): Cidr {
  const parsed = parseCidr(text);
  if (parsed.kind === 'invalid') throw new Error(parsed.reason);
  return parsed.cidr;
}

function from(remoteAddress: string | undefined, forwarded?: string): string {
  const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded };
  return dialledFrom({ headers, socket: { remoteAddress } } as unknown as IncomingMessage, proxies);
}

test.each([
  ['the peer where it is no proxy, whatever it says', from('192.0.2.7', '198.51.100.1'), '192.0.2.7'],
  ['the address before the proxy', from('10.0.0.1', '198.51.100.1'), '198.51.100.1'],
  ['the last of several, which the proxy has seen itself', from('10.0.0.1', '1.1.1.1, 198.51.100.1'), '198.51.100.1'],
  ['the first that is no proxy of ours', from('10.0.0.1', '198.51.100.1, 10.0.0.2'), '198.51.100.1'],
  ['the proxy where it names no one', from('10.0.0.1'), '10.0.0.1'],
  ['IPv4 inside IPv6', from('::ffff:10.0.0.1', '198.51.100.1'), '198.51.100.1'],
  ['a network of IPv6', from('10.0.0.1', '2001:db8:1:2::5'), '20010db800010002::/64'],
  ['one unit for all texts that are no address', from('10.0.0.1', 'x'), 'none'],
  ['one unit for peers that have gone', from(undefined), 'none'],
])('%s', (_what, actual, expected) => {
  expect(actual).toBe(expected);
});
