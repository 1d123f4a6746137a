/** Promise at stake: a mistyped QUEUE_URL is one clear sentence at start and never a silent fall-back. */
import { laneQueueBackend } from './lane-queue-backend.js';

const databaseUrl = 'postgresql://app@127.0.0.1:5432/ledger';

test.each([
  ['redis://127.0.0.1:6379', 'redis'],
  ['rediss://user:secret@queue.internal:6380/2', 'redis'],
  [null, 'postgres'],
] as const)('%s → %s', (queueUrl, kind) => {
  expect(laneQueueBackend({ queueUrl, databaseUrl }).kind).toBe(kind);
});

test.each(['', '127.0.0.1:6379', 'amqp://user:secret@host', 'http://redis://x', 'redis://user:secret@[bad'])(
  '%j is refused without repeating what may hold a password',
  (queueUrl) => {
    expect(() => laneQueueBackend({ queueUrl, databaseUrl })).toThrow(
      /^QUEUE_URL must be a redis:\/\/ or rediss:\/\/ URL\.$/,
    );
  },
);
