// Promise: a token is taken from exactly one Authorization header and from nowhere else.
import { hasAccessToken, readBearerCredentials, type BearerCredentials } from './bearer-credentials.js';

const read = (headers: string[], query: unknown = {}): BearerCredentials => readBearerCredentials(headers, query);

test.each([
  [['Authorization', 'Bearer abc.DEF-1_2~3+/=='], { kind: 'token', token: 'abc.DEF-1_2~3+/==' }],
  [['authorization', 'bearer   abc', 'host', 'x'], { kind: 'token', token: 'abc' }],
  [['AUTHORIZATION', 'BEARER abc'], { kind: 'token', token: 'abc' }],
  [[], { kind: 'none' }],
  [['Authorization', 'Basic abc'], { kind: 'none' }],
  [['Authorization', 'Bearerabc'], { kind: 'none' }],
  [['X-Authorization', 'Bearer abc'], { kind: 'none' }],
  [['X-Note', 'authorization', 'host', 'Bearer abc'], { kind: 'none' }],
  [['Authorization', ''], { kind: 'none' }],
])('%j', (headers, expected) => {
  expect(read(headers)).toEqual(expected);
});

test.each([
  [['Authorization', 'Bearer']],
  [['Authorization', 'Bearer ']],
  [['Authorization', 'Bearer a b']],
  [['Authorization', 'Bearer a,Bearer b']],
  [['Authorization', 'Bearer "abc"']],
  [['Authorization', 'Bearer abc ']],
  [['Authorization', 'Bearer\tabc']],
  [['Authorization', 'Bearer =abc']],
  [['Authorization', 'Basic abc', 'Authorization', 'Bearer abc']],
  [['AUTHORIZATION', 'BEARER abc', 'authorization', '']],
  [['Authorization', 'Bearer абв']],
  [['Authorization', 'Bearer a', 'authorization', 'Bearer b']],
  [['Authorization', 'Bearer a', 'Authorization', 'Bearer a']],
])('malformed: %j', (headers) => {
  expect(read(headers)).toMatchObject({ kind: 'malformed' });
});

test('a token in query or body is refused, also beside a good header', () => {
  const good = ['Authorization', 'Bearer abc'];
  expect(read(good, { access_token: 'x' })).toMatchObject({ kind: 'malformed' });
  expect(read([], { access_token: 'x' })).toMatchObject({ kind: 'malformed' });
  expect([{ access_token: 'x' }, {}, undefined, null, 'access_token', []].map(hasAccessToken)).toEqual([
    ...[true, false, false, false, false, false],
  ]);
});
