// Promise: an answer about a receipt says what is known: stored, not stored, or unclear; and what no caller waits for any more is not written.
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { SalesDatabase } from '#database';
import type { NewReceipt } from '#ledger';
import { Problem } from '#problems';
import { newId, sha256 } from '#runtime';
import { createTestDatabase, sampleDocument, type TestDatabase } from '../../../../libs/database/src/testing/index.js';
import { untilTrue } from '../../../../libs/runtime/src/testing/until.js';
import { lineTo, type TcpProxy } from '../../../../test/system/tcp-proxy.js';
import { AcceptReceipts } from './accept-receipts.js';
import { ReceiptRepository } from './receipt.repository.js';

let database: TestDatabase;
let proxy: TcpProxy;
let sales: SalesDatabase;
let direct: SalesDatabase;

beforeAll(async () => {
  database = await createTestDatabase();
  direct = new SalesDatabase({ url: database.url, poolSize: 2, applicationName: 'direct', lockTimeoutMs: 400 });
});
beforeEach(async () => {
  const { line, url } = await lineTo(database.url);
  proxy = line;
  url.searchParams.delete('connect_timeout');
  const timeouts = { lockTimeoutMs: 200, statementTimeoutMs: 800 };
  sales = new SalesDatabase({ url: url.href, poolSize: 4, applicationName: 'silent-accept', ...timeouts });
});
afterEach(async () => {
  await sales.$disconnect();
  await proxy.close();
});
afterAll(async () => {
  await direct?.$disconnect();
  await database?.drop();
});

function acceptor(more?: ConstructorParameters<typeof AcceptReceipts>[1]): AcceptReceipts {
  return new AcceptReceipts(new ReceiptRepository(sales), more);
}

async function storedIds(rows: readonly NewReceipt[]): Promise<string[]> {
  const ids = rows.map(({ id }) => id);
  const stored = await direct.$queryRaw<{ id: string }[]>`SELECT id FROM receipts WHERE id = ANY(${ids}::text[])`;
  return stored.map(({ id }) => id);
}

async function problemOf(answer: Promise<unknown>): Promise<Problem> {
  const error: unknown = await answer.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (error instanceof Problem) return error;
  throw new Error(`not a problem: ${String(error)}`);
}

test('connections that fall silent: what waits for them is written over others, under the same ids', async () => {
  const receipts = acceptor();
  await receipts.accept(newRow());
  proxy.deafen();
  const rows = Array.from({ length: 30 }, () => newRow());
  const answers = await Promise.all(rows.map((row) => receipts.accept(row)));
  expect(answers.map(({ kind }) => kind)).toEqual(rows.map(() => 'accepted'));
  expect(await storedIds(rows)).toHaveLength(rows.length);
});

test('a frozen database: of those who have left meanwhile nothing is written when it thaws', async () => {
  const receipts = acceptor();
  await receipts.accept(newRow());
  proxy.freeze();
  let hasLeft = false;
  const rows = Array.from({ length: 700 }, () => newRow());
  const answers = rows.map((row) => problemOf(receipts.accept(row, () => hasLeft)));
  await delay(100); // the first statements are under way, the others wait for their turn
  hasLeft = true;
  const problems = await Promise.all(answers);
  while (proxy.heldBack > 0) await delay(5);
  proxy.thaw();
  expect(await receipts.accept(newRow())).toMatchObject({ kind: 'accepted' });
  expect(await storedIds(rows)).toEqual([]);
  expect(problems.every(({ isRefusal }) => !isRefusal)).toBe(true);
});

test('503 outcome_unclear, never "nothing was stored", when the statement left and nothing can be asked any more', async () => {
  const receipts = acceptor({ settleMs: 1_000 });
  await receipts.accept(newRow());
  proxy.freeze();
  const problem = await problemOf(receipts.accept(newRow({ idempotencyKey: 'unclear' })));
  expect(problem).toMatchObject({ code: 'outcome_unclear', isRefusal: false });
  expect(problem.detail).toContain('Idempotency-Key');
  expect(problem.detail).not.toContain('nothing was stored');
});

test('a statement that was given up and is still at work: its end is waited for, and it is the receipt', async () => {
  const receipts = acceptor();
  await receipts.accept(newRow());
  const row = newRow({ idempotencyKey: 'still-at-work' });
  const abandoned = await openInsert(row);
  proxy.deafen();
  const answer = receipts.accept(row);
  await untilTrue(isAnyWaitingForLock, 'the next try waits for it');
  await abandoned.query('COMMIT');
  await abandoned.end();
  expect(await answer).toMatchObject({ kind: 'accepted', id: row.id });
});

test('a receipt counts as not written until it is decided, also between one try and the next', async () => {
  const receipts = acceptor({ settleMs: 60_000 });
  await receipts.accept(newRow());
  const row = newRow();
  const abandoned = await openInsert(row);
  proxy.deafen();
  const answer = receipts.accept(row);
  // No single statement of these sessions takes so long.
  await untilTrue(() => receipts.oldestMs > 4_000, 'it is seen for how long it has waited');
  await abandoned.query('COMMIT');
  await abandoned.end();
  expect(await answer).toMatchObject({ kind: 'accepted', id: row.id });
  await untilTrue(() => receipts.oldestMs === 0, 'nothing waits any more');
});

test('503 outcome_unclear when it is still at work at the end of all patience', async () => {
  const receipts = acceptor({ settleMs: 600 });
  await receipts.accept(newRow());
  const row = newRow();
  const abandoned = await openInsert(row);
  proxy.deafen();
  const problem = await problemOf(receipts.accept(row));
  expect(problem.code).toBe('outcome_unclear');
  await abandoned.query('COMMIT');
  await abandoned.end();
  expect(await storedIds([row])).toEqual([row.id]);
});

test('503 "nothing was stored" when no connection was to be had', async () => {
  await proxy.close();
  const problem = await problemOf(acceptor().accept(newRow({ idempotencyKey: 'never-sent' })));
  expect(problem).toMatchObject({ code: 'database_unavailable', isRefusal: false });
  expect(problem.detail).toContain('nothing was stored');
  await proxy.listen();
});

test('503 at once when too many wait already', async () => {
  const receipts = acceptor({ maxWaiting: 20 });
  proxy.freeze();
  const answers = await Promise.allSettled(Array.from({ length: 40 }, () => receipts.accept(newRow())));
  const refused = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason as Problem] : []));
  const early = refused.filter(({ detail }) => detail.startsWith('Too many receipts'));
  expect(early).toHaveLength(20);
  expect(early[0]).toMatchObject({ code: 'service_unavailable', retryAfterSeconds: 1 });
  proxy.thaw();
});

async function isAnyWaitingForLock(): Promise<boolean> {
  const rows = await direct.$queryRaw<unknown[]>`
    SELECT FROM pg_stat_activity
     WHERE datname = current_database() AND application_name = 'silent-accept' AND wait_event_type = 'Lock'`;
  return rows.length > 0;
}

/** Plays a statement of this very row that its client has given up, before its commit. */
async function openInsert(row: NewReceipt): Promise<pg.Client> {
  const session = new pg.Client({ connectionString: database.url });
  await session.connect();
  await session.query('BEGIN');
  await session.query(
    `INSERT INTO receipts (id, merchant_id, client_id, operation, idempotency_key, body_hash, type, status, lane_place,
                           device_id, document, total_tiyin, vat_total_tiyin)
     VALUES ($1, $2, $3, 'receipts', $4, $5, 'sale', 'accepted', nextval('lane_place_seq'), 'dev_1', '{}', 1, 0)`,
    [row.id, row.merchantId, row.clientId, row.idempotencyKey, row.bodyHash],
  );
  return session;
}

function newRow(given: Partial<NewReceipt> = {}): NewReceipt {
  return {
    id: newId('rcp'),
    eventId: newId('evt'),
    merchantId: 'mer_1',
    clientId: 'cli_1',
    operation: 'receipts',
    idempotencyKey: null,
    externalId: null,
    bodyHash: sha256(given.idempotencyKey ?? 'body'),
    type: 'sale',
    deviceId: 'dev_1',
    branchId: 'brn_1',
    cashierId: 'csh_1',
    document: sampleDocument('Non'),
    ...given,
  };
}
