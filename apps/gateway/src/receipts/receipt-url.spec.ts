// Promise: a receipt opens only by its own address, and printed addresses outlive a rotation of keys.
import { randomBytes } from 'node:crypto';
import { newId } from '#runtime';
import { ReceiptUrls } from './receipt-url.js';

const [key, older] = [randomBytes(32), randomBytes(32)];
const urls = new ReceiptUrls('https://gateway.test', key, [older]);
const tokenOf = (url: string): string => url.slice(url.lastIndexOf('/') + 1);

test('an address opens its own receipt', () => {
  const id = newId('rcp');
  const url = urls.urlOf(id);
  expect(url).toMatch(/^https:\/\/gateway\.test\/r\/[0-9a-z]{26}\.[A-Za-z0-9_-]{16}$/);
  expect(urls.receiptIdOf(tokenOf(url))).toBe(id);
});

test('an address made under an older key of the ring opens it still, one of a stranger’s key does not', () => {
  const id = newId('rcp');
  const made = (secret: Buffer): string => tokenOf(new ReceiptUrls('https://gateway.test', secret).urlOf(id));
  expect(urls.receiptIdOf(made(older))).toBe(id);
  expect(urls.receiptIdOf(made(randomBytes(32)))).toBeNull();
});

test('every changed character closes it', () => {
  const token = tokenOf(urls.urlOf(newId('rcp')));
  for (let at = 0; at < token.length; at += 1) {
    const other = token[at] === 'a' ? 'b' : 'a';
    expect([at, urls.receiptIdOf(token.slice(0, at) + other + token.slice(at + 1))]).toEqual([at, null]);
  }
});

test.each([
  '',
  '.',
  'x',
  '0'.repeat(26),
  `${'0'.repeat(26)}.`,
  `${'z'.repeat(26)}.${'A'.repeat(16)}`,
  `rcp_${'0'.repeat(40)}`,
])('what has not the form of a token opens nothing: %s', (token) => {
  expect(urls.receiptIdOf(token)).toBeNull();
});
