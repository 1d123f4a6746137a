// Promise: no URL that another party chose leads a program of ours into a network that the operator did not open for it.
import { parseCidr, type Cidr } from './cidr.js';
import type { NameLookup } from './name-lookup.js';
import { isPublicUnicast, OutgoingGuard, readOutgoingUrl } from './outgoing-guard.js';

const networks = (...texts: string[]): Cidr[] =>
  texts.map((text) => {
    const parse = parseCidr(text);
    if (parse.kind === 'invalid') throw new Error(parse.reason);
    return parse.cidr;
  });

/** A name server that answers the next list at each question. */
function names(...answers: string[][]): NameLookup {
  return (_hostname, _options, callback) => {
    const addresses = (answers.length > 1 ? answers.shift() : answers[0]) ?? [];
    if (addresses.length === 0) callback(Object.assign(new Error('no such name'), { code: 'ENOTFOUND' }), []);
    else
      callback(
        null,
        addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
      );
  };
}

const verdictOf = async (guard: OutgoingGuard, url: string): Promise<string> => (await guard.check(url)).kind;

test.each([
  'https://127.0.0.1/',
  'https://2130706433/',
  'https://0x7f.1/',
  'https://0177.0.0.1/',
  'https://127.1/',
  'https://127.0.0.1./',
  'https://１２７.0.0.1/',
  'https://%31%32%37.0.0.1/',
  'https://0/',
  'https://10.1.2.3/',
  'https://100.64.0.1/',
  'https://169.254.169.254/latest/meta-data/',
  'https://172.31.255.255/',
  'https://192.168.1.1/',
  'https://198.18.0.1/',
  'https://224.0.0.1/',
  'https://255.255.255.255/',
  'https://[::1]/',
  'https://[::]/',
  'https://[::127.0.0.1]/',
  'https://[::ffff:127.0.0.1]/',
  'https://[::ffff:7f00:1]/',
  'https://[64:ff9b::127.0.0.1]/',
  'https://[64:ff9b::a9fe:a9fe]/',
  'https://[64:ff9b:1::1]/',
  'https://[2002:7f00:1::]/',
  'https://[2001:0:7f00:1::]/',
  'https://[fe80::1]/',
  'https://[fc00::1]/',
  'https://[fd00:ec2::254]/',
  'https://[ff02::1]/',
  'https://[2001:db8::1]/',
])('%s is refused to webhooks and providers', async (url) => {
  expect(await verdictOf(OutgoingGuard.forWebhooks([]), url)).toBe('refused');
  expect(await verdictOf(OutgoingGuard.forProviders(networks('203.0.113.0/24')), url)).toBe('refused');
});

test.each([
  'https://8.8.8.8/hook?a=b',
  'https://[2606:4700::1111]/',
  'https://[::ffff:8.8.8.8]/',
  'https://[64:ff9b::808:808]/',
])('%s is allowed to them', async (url) => {
  expect(await verdictOf(OutgoingGuard.forWebhooks([]), url)).toBe('allowed');
});

test('what is listed may be called, also by http; what is not listed only by https', async () => {
  const guard = OutgoingGuard.forWebhooks(networks('127.0.0.0/8'));
  expect(await verdictOf(guard, 'http://127.0.0.1:9000/hook')).toBe('allowed');
  expect(await verdictOf(guard, 'http://8.8.8.8/')).toBe('refused');
  expect(await verdictOf(guard, 'http://10.0.0.1/')).toBe('refused');
});

test('registers are called in the listed networks and nowhere else', async () => {
  const guard = OutgoingGuard.forDevices(networks('10.0.0.0/8'));
  expect(await verdictOf(guard, 'http://10.1.2.3:8765')).toBe('allowed');
  expect(await verdictOf(guard, 'http://[::ffff:10.1.2.3]:8765')).toBe('allowed');
  for (const url of ['https://8.8.8.8', 'http://127.0.0.1:8765', 'http://2130706433'])
    expect([url, await verdictOf(guard, url)]).toEqual([url, 'refused']);
});

test('a name counts by all addresses that it leads to', async () => {
  const check = (...addresses: string[]): Promise<string> =>
    verdictOf(OutgoingGuard.forWebhooks([], names(addresses)), 'https://shop.example/');
  expect(await check('8.8.8.8', '2606:4700::1111')).toBe('allowed');
  expect(await check('8.8.8.8', '10.0.0.1')).toBe('refused');
  expect(await check('::ffff:127.0.0.1')).toBe('refused');
  expect(await check()).toBe('unresolved');
  expect(await verdictOf(OutgoingGuard.forWebhooks([]), 'https://localhost/')).toBe('refused');
});

test.each([
  'ftp://8.8.8.8/',
  'file:///etc/passwd',
  'https://user@8.8.8.8/',
  'https://user:pass@8.8.8.8/',
  'https://8.8.8.8/#x',
  'https://8.8.8.8/#',
  '//8.8.8.8/',
  'https://',
  'https://1.2.3.4.5.6.7.8.9.300/',
  `https://8.8.8.8/${'a'.repeat(2_100)}`,
])('%s is no URL to call', (url) => {
  expect(readOutgoingUrl(url).kind).toBe('malformed');
});

test('what is no address is not public', () => {
  for (const text of ['', 'localhost', '2130706433', 'fe80::1%lo']) expect(isPublicUnicast(text)).toBe(false);
});
