// Promise: only this machine and https count as ways on which nothing can be read, however the address is written.
import { isReadableOnTheWay, isSameOrigin } from './addresses.js';

test.each([
  'https://fiscal.example.uz',
  'http://localhost:3000',
  'http://127.0.0.1:3000',
  'http://127.1',
  'http://[::1]:3000/hook',
])('%s cannot be read on the way', (address) => {
  expect(isReadableOnTheWay(address)).toBe(false);
});

test.each([
  'http://fiscal.example.uz',
  'http://10.0.0.5:3000',
  'http://0.0.0.0:3000',
  'http://127.0.0.1.example.uz',
  'http://127.example.uz',
  'http://localhost.example.uz',
  'http://127.0.0.1@example.uz',
  'HTTP://example.uz',
])('%s can', (address) => {
  expect(isReadableOnTheWay(address)).toBe(true);
});

test('an origin is scheme, host and port', () => {
  expect(isSameOrigin('https://Example.uz/', 'https://example.uz:443/api')).toBe(true);
  for (const other of ['http://example.uz', 'https://example.uz:8443', 'https://example.uz.evil.test', 'none'])
    expect(isSameOrigin('https://example.uz', other)).toBe(false);
});
