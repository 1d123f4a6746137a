// Promise: the metrics say how many messages are due, and no number where the database does not answer; neither that count nor what ends behind
// disabled accounts reads all messages.
import pg from 'pg';
import { createTestDatabase, planOf, recorded, testClient, type TestDatabase } from '#database/testing';
import { createLogger, Metrics, newId } from '#runtime';
import { until } from '../../../../../libs/runtime/src/testing/until.js';
import { MessageBacklog } from './message-backlog.js';
import { MessageRepository, waitingOfDisabled } from './message.repository.js';

let database: TestDatabase;
let warnings = 0;
const logger = createLogger('test', 'warn', { write: () => void (warnings += 1) });

beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database?.drop());

/** As a gateway does, until `isRead`. @returns the line of the metric */
async function shownWith(url: string, isRead: (line: string) => boolean): Promise<string> {
  const prisma = testClient(url, 1);
  const metrics = new Metrics('gateway');
  const backlog = new MessageBacklog(new MessageRepository(prisma), logger, metrics);
  const line = async (): Promise<string> => /^messages_waiting.*$/m.exec((await metrics.read()).text)?.[0] ?? 'none';
  expect(await line()).toBe('none');
  backlog.onApplicationBootstrap();
  try {
    return await until('the metric is as wanted', line, isRead);
  } finally {
    await backlog.onModuleDestroy();
    await prisma.$disconnect();
  }
}

test('those that are due count, in each open state; finished and later ones do not', async () => {
  const owner = new pg.Client({ connectionString: database.ownerUrl });
  await owner.connect();
  const [merchant, account] = [newId('mer'), newId('mac')];
  await owner.query(
    `INSERT INTO message_accounts (id, merchant_id, channel, provider, name, settings, credentials_sealed)
     VALUES ($1, $2, 'email', 'smtp', 'Mail', '{}', '')`,
    [account, merchant],
  );
  for (const [state, due] of [
    ...(['pending', 'sending', 'unclear'] as const).map((each) => [each, '-1 minute'] as const),
    ['pending', '1 hour'],
    ['sent', '-1 minute'],
    ['failed', '-1 minute'],
  ] as const)
    await owner.query(
      `INSERT INTO messages (id, merchant_id, receipt_id, account_id, channel, source, language, address_hash, address_hint, state, due_at)
       VALUES ($1, $2, $3, $4, 'email', 'api', 'uz', '', '', $5, now() + $6::interval)`,
      [newId('msg'), merchant, newId('rcp'), account, state, due],
    );
  await owner.end();
  expect(await shownWith(database.url, (line) => line !== 'none')).toBe('messages_waiting{program="gateway"} 3');
});

test('no number while nothing answers', async () => {
  const nowhere = Object.assign(new URL(database.url), { host: '127.0.0.1:1' }).href;
  expect(await shownWith(nowhere, () => warnings > 0)).toBe('none');
});

test('what waits for later is not read, however much of it one account has', async () => {
  const admin = new pg.Client({ connectionString: database.adminUrl });
  await admin.connect();
  try {
    await admin.query(
      `INSERT INTO message_accounts (id, merchant_id, channel, provider, name, settings, credentials_sealed)
       SELECT 'mac_' || n, 'mer_' || n, 'email', 'smtp', 'Mail', '{}', '' FROM generate_series(1, 20) AS n`,
    );
    await admin.query(
      `INSERT INTO messages (id, merchant_id, receipt_id, account_id, channel, source, language, address_hash, address_hint, state, due_at)
       SELECT 'msg_' || n, 'mer_1', 'rcp_' || n, 'mac_1', 'email', 'api', 'uz', '', '', 'pending', now() + interval '1 hour' + n * interval '1 s'
         FROM generate_series(1, 60000) AS n`,
    );
    await admin.query('VACUUM ANALYZE messages, message_accounts');
    const statement = recorded((prisma) => new MessageRepository(prisma).countDue());
    // PostgreSQL 18 skips from account to account by itself; 15 to 17 would read the whole index. The first reading fills caches.
    await planOf(admin, statement);
    const { wholeTables, pages } = await planOf(admin, statement);
    expect(wholeTables).not.toContain('messages');
    expect(pages).toBeLessThanOrEqual(150);
  } finally {
    await admin.end();
  }
});

test('what has waited for too long behind a disabled account is found without the messages of others, or those that still wait there', async () => {
  const admin = new pg.Client({ connectionString: database.adminUrl });
  await admin.connect();
  try {
    await admin.query(
      `INSERT INTO message_accounts (id, merchant_id, channel, provider, name, settings, credentials_sealed, disabled_at)
       SELECT 'mac_plan_' || n, 'mer_plan_' || n, 'sms', 'eskiz', 'SMS', '{}', '', CASE WHEN n <= 3 THEN now() END
         FROM generate_series(1, 300) AS n`,
    );
    // Most are over, many wait behind one disabled account, some of those for too long.
    await admin.query(
      `INSERT INTO messages (id, merchant_id, receipt_id, account_id, channel, source, language, address_hash, address_hint, state, due_at, finished_at)
       SELECT 'msg_plan_' || n, 'mer_plan_' || of, 'rcp_plan_' || n, 'mac_plan_' || of, 'sms', 'api', 'uz', '', '',
              (CASE WHEN n % 3 = 0 THEN 'pending' ELSE 'sent' END)::message_state, now() - n * interval '1 minute',
              CASE WHEN n % 3 <> 0 THEN now() END
         FROM generate_series(1, 44000) AS n, LATERAL (SELECT CASE WHEN n % 3 = 0 THEN 1 ELSE n % 300 + 1 END AS of) AS one`,
    );
    await admin.query('VACUUM ANALYZE messages, message_accounts');
    const statement = waitingOfDisabled(30, 500);
    await planOf(admin, statement);
    const { wholeTables, largest, pages } = await planOf(admin, statement);
    expect(wholeTables).not.toContain('messages');
    expect(largest).toBeLessThanOrEqual(500);
    expect(pages).toBeLessThanOrEqual(1_500);
  } finally {
    await admin.end();
  }
});
