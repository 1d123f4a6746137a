// Promise: a relay names an address that other relays can reach, or asks for one; never a name that only it can resolve.
import type { NetworkInterfaceInfo } from 'node:os';
import { ownUrlOf } from './own-url.js';

function address(address: string, internal = false): NetworkInterfaceInfo {
  const common = { address, internal, netmask: '', mac: '', cidr: null };
  return address.includes(':') ? { ...common, family: 'IPv6', scopeid: 0 } : { ...common, family: 'IPv4' };
}
const lo = [address('127.0.0.1', true), address('::1', true)];

test.each([
  ['a pod with one address', { lo, eth0: [address('10.42.0.7'), address('fe80::1')] }, 'http://10.42.0.7:8081'],
  ['both families', { lo, eth0: [address('10.42.0.7'), address('fd00::7')] }, 'http://10.42.0.7:8081'],
  ['IPv6 alone', { lo, eth0: [address('fd00::7'), address('fe80::1')] }, 'http://[fd00::7]:8081'],
  ['nothing but loopback', { lo }, 'http://127.0.0.1:8081'],
  ['link-local addresses alone', { lo, eth0: [address('169.254.1.2')] }, 'http://127.0.0.1:8081'],
])('%s', (_name, interfaces, url) => {
  expect(ownUrlOf(interfaces, 8081)).toEqual({ kind: 'one', url });
});

test('several addresses: none is guessed', () => {
  const interfaces = { lo, eth0: [address('10.42.0.7')], docker0: [address('172.17.0.1')] };
  expect(ownUrlOf(interfaces, 8081)).toEqual({ kind: 'several', addresses: ['10.42.0.7', '172.17.0.1'] });
});
