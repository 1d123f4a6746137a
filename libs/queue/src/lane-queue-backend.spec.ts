/** Promise at stake: a mistyped QUEUE_URL is one clear sentence at start and never a silent fall-back. */
import { laneQueueBackend } from './lane-queue-backend.js';
import { parseQueueUrl } from './queue-address.js';

const databaseUrl = 'postgresql://app@127.0.0.1:5432/ledger';

test.each([
  ['redis://127.0.0.1:6379', 'redis'],
  ['rediss://user:secret@queue.internal:6380/2', 'redis'],
  ['redis+sentinel://one:26379,two/mymaster', 'redis'],
  ['rediss+cluster://user:secret@one:7001,[::1]:7002', 'redis'],
  [null, 'postgres'],
] as const)('%s → %s', (queueUrl, kind) => {
  expect(laneQueueBackend({ queueUrl, databaseUrl }).kind).toBe(kind);
});

test('an address of several hosts is read whole', () => {
  expect(parseQueueUrl('rediss+sentinel://:p%40ss@one:1234,two/my-master.1')).toEqual({
    ...{ kind: 'sentinel', isTls: true, master: 'my-master.1', account: { password: 'p@ss' } },
    hosts: [
      { host: 'one', port: 1234 },
      { host: 'two', port: 26_379 },
    ],
  });
  expect(parseQueueUrl('redis+cluster://user:a:b@[::1]:7000')).toEqual({
    ...{ kind: 'cluster', isTls: false, account: { username: 'user', password: 'a:b' } },
    hosts: [{ host: '::1', port: 7000 }],
  });
});

test.each([
  ...['', '127.0.0.1:6379', 'amqp://user:secret@host', 'http://redis://x', 'redis://user:secret@[bad'],
  ...[
    'redis+sentinel://secret@host',
    'redis+sentinel:///master',
    'redis+cluster://host/secret',
    'redis+cluster://h,,h',
  ],
  ...['redis+cluster://host:0', 'redis+cluster://secret%zz@host', 'redis+cluster://a@b@host', 'redis+other://host'],
])('%j is refused without repeating what may hold a password', (queueUrl) => {
  expect(() => laneQueueBackend({ queueUrl, databaseUrl })).toThrow(
    /^a URL that begins with redis:\/\/ or rediss:\/\/, redis\+sentinel:\/\/host,host\/name, or redis\+cluster:\/\/host,host$/,
  );
});
