// Promise: a login sends the browser nowhere but to a path of the console's own origin.
import { returnPath } from './return-path.js';

const ORIGIN = 'https://gateway.uz';

test.each(['/', '/console/', '/console/receipts?status=unknown&from=2026-01-01T00:00:00Z', '/console/a#b', '/a/../b'])(
  '%s is one',
  (text) => {
    expect(returnPath(text, ORIGIN)).toMatch(/^\/(?!\/)/);
  },
);

test.each([
  '',
  'console',
  '//evil.uz',
  '/\\evil.uz',
  '\\/evil.uz',
  '/\t/evil.uz',
  '/\n/evil.uz',
  ' /console',
  'https://evil.uz/',
  'javascript:alert(1)',
  '/..//evil.uz',
  '/.//evil.uz',
  '/%00',
  '/a\u0000',
  `/${'a'.repeat(1_000)}`,
])('%p is none, or stays here', (text) => {
  const path = returnPath(text, ORIGIN);
  if (path !== null) expect(new URL(path, ORIGIN).origin).toBe(ORIGIN);
  if (path !== null) expect(path).toMatch(/^\/(?![/\\])/);
});
