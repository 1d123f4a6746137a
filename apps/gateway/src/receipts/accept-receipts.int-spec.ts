// Promise: what was answered is on disk exactly once, whatever arrives together with it.
import pg from 'pg';
import { PrismaService } from '#database';
import type { NewReceipt } from '#ledger';
import { Metrics, newId, sha256 } from '#runtime';
import { createTestDatabase, sampleDocument, type TestDatabase } from '../../../../libs/database/src/testing/index.js';
import { observeAccepting } from './accept-metrics.js';
import { AcceptReceipts, type Acceptance } from './accept-receipts.js';
import { ReceiptRepository } from './receipt.repository.js';

let database: TestDatabase;
let prisma: PrismaService;
let acceptor: AcceptReceipts;

beforeAll(async () => {
  database = await createTestDatabase();
  prisma = new PrismaService({ url: database.url, poolSize: 6, applicationName: 'test', lockTimeoutMs: 400 });
  acceptor = new AcceptReceipts(new ReceiptRepository(prisma));
});

afterAll(async () => {
  await prisma?.$disconnect();
  await database?.drop();
});

test('a receipt is stored with its place and its event', async () => {
  const row = newRow({ idempotencyKey: 'one' });
  expect(await acceptor.accept(row)).toMatchObject({ kind: 'accepted', id: row.id });
  const [stored] = await prisma.$queryRaw<
    { status: string; lane_place: bigint; document: unknown; body_hash: Uint8Array }[]
  >`
    SELECT status, lane_place, document, body_hash FROM receipts WHERE id = ${row.id}`;
  expect(stored?.status).toBe('accepted');
  expect(stored?.lane_place).toBeGreaterThan(0n);
  expect(stored?.document).toEqual(row.document);
  expect(Buffer.from(stored?.body_hash ?? []).equals(row.bodyHash)).toBe(true);
  const events = await prisma.$queryRaw`SELECT type, subject_id FROM events WHERE subject_id = ${row.id}`;
  expect(events).toEqual([{ type: 'receipt.accepted', subject_id: row.id }]);
});

test('that the database refuses to write is known until it writes again', async () => {
  const readOnly = new PrismaService({
    ...{
      url: `${database.url}${database.url.includes('?') ? '&' : '?'}options=-c%20default_transaction_read_only%3Don`,
    },
    ...{ poolSize: 1, applicationName: 'read-only', lockTimeoutMs: 400 },
  });
  const receipts = new ReceiptRepository(readOnly);
  const refused = new AcceptReceipts(receipts, { settleMs: 100 });
  const metrics = new Metrics('test');
  observeAccepting(metrics, refused);
  const shown = async (): Promise<unknown> => /^accept_writes_refused.* (.*)$/m.exec((await metrics.read()).text)?.[1];
  expect([refused.isWriteRefused, await shown()]).toEqual([false, '0']);
  await expect(refused.accept(newRow({ idempotencyKey: 'refused' }))).rejects.toMatchObject({ code: '25006' });
  expect([refused.isWriteRefused, await shown()]).toEqual([true, '1']);
  await readOnly.$executeRaw`SET default_transaction_read_only = off`;
  await refused.accept(newRow({ idempotencyKey: 'refused' }));
  expect(refused.isWriteRefused).toBe(false);
  await readOnly.$disconnect();
});

test('2 000 at once with repeated keys and other bodies: every caller gets its own right answer', async () => {
  const rows = Array.from({ length: 2_000 }, (_, index) => {
    // Every tenth repeats the key before it; half of those with another body.
    const repeats = index % 10 === 9;
    const key = `burst-${repeats ? index - 1 : index}`;
    return newRow({ idempotencyKey: key, body: repeats && index % 20 === 9 ? `other-${key}` : key });
  });
  const answers = await Promise.all(rows.map((row) => acceptor.accept(row)));
  const kinds = tally(answers);
  expect(kinds).toEqual({ accepted: 1_800, replay: 100, mismatch: 100 });
  // Of two with one key either may win; the loser's replay names the winner.
  rows.forEach((row, index) => {
    const answer = answers[index];
    if (answer?.kind === 'accepted') expect(answer.id).toBe(row.id);
    if (answer?.kind !== 'replay') return;
    const twin = index % 10 === 9 ? index - 1 : index + 1;
    expect(answer.id).toBe(rows[twin]?.id);
  });
  const [{ count } = { count: 0n }] = await prisma.$queryRaw<{ count: bigint }[]>`
    SELECT count(*) FROM receipts WHERE idempotency_key LIKE 'burst-%'`;
  expect(count).toBe(1_800n);
});

test('receipts that are written together stand in the lane in the order in which they came, not in that of their names', async () => {
  const rows = Array.from({ length: 120 }, (_, index) =>
    newRow({
      externalId: `placed-${index + 1}`,
      idempotencyKey: `placed-${(index * 7) % 120}`,
      deviceId: 'dev_placed',
    }),
  );
  // Taken before: it has no place, and its neighbours keep theirs.
  const taken = newRow({ externalId: 'placed-60', idempotencyKey: 'placed-60', deviceId: 'dev_placed', body: 'other' });
  await acceptor.accept(taken);
  const answers = await Promise.all(rows.map((row) => acceptor.accept(row)));
  expect(tally(answers)).toEqual({ accepted: 118, mismatch: 2 });
  const stored = await prisma.$queryRaw<{ id: string }[]>`
    SELECT id FROM receipts WHERE device_id = 'dev_placed' ORDER BY lane_place`;
  const accepted = rows.filter((_, index) => answers[index]?.kind === 'accepted');
  expect(stored.map(({ id }) => id)).toEqual([taken, ...accepted].map(({ id }) => id));
});

test('external ids are unique per merchant, also across keys and clients', async () => {
  const first = newRow({ idempotencyKey: 'x1', externalId: 'order-1', body: 'same' });
  const second = newRow({ idempotencyKey: null, externalId: 'order-1', body: 'same', clientId: 'cli_other' });
  const other = newRow({ idempotencyKey: 'x2', externalId: 'order-1', body: 'different' });
  const foreign = newRow({ idempotencyKey: 'x1', externalId: 'order-1', merchantId: 'mer_2', clientId: 'cli_2' });
  expect(await acceptor.accept(first)).toMatchObject({ kind: 'accepted', id: first.id });
  expect(await acceptor.accept(second)).toEqual({ kind: 'replay', id: first.id });
  expect((await acceptor.accept(other)).kind).toBe('mismatch');
  expect(await acceptor.accept(foreign)).toMatchObject({ kind: 'accepted', id: foreign.id });
});

test('key and external id that name two receipts are a mismatch', async () => {
  const a = newRow({ idempotencyKey: 'two-a', externalId: 'two-1' });
  const b = newRow({ idempotencyKey: 'two-b', externalId: 'two-2' });
  await acceptor.accept(a);
  await acceptor.accept(b);
  const crossed = newRow({ idempotencyKey: 'two-a', externalId: 'two-2' });
  expect(await acceptor.accept(crossed)).toEqual({
    kind: 'mismatch',
    detail: expect.stringContaining('two different'),
  });
});

test('groups whose keys cross each other both end without a lost row', async () => {
  const second = new AcceptReceipts(new ReceiptRepository(prisma));
  for (let round = 0; round < 20; round += 1) {
    const left = [row(round, 'k1', 'e9'), row(round, 'k3', 'e8')];
    const right = [row(round, 'k2', 'e8'), row(round, 'k4', 'e9')];
    const answers = await Promise.all([
      ...left.map((each) => acceptor.accept(each)),
      ...right.map((each) => second.accept(each)),
    ]);
    const accepted = answers.filter(({ kind }) => kind === 'accepted').length;
    // One winner for each of the two external ids, or a deadlock's victim was asked to retry: never more.
    expect(accepted).toBeLessThanOrEqual(2);
    expect(answers.every(({ kind }) => ['accepted', 'mismatch', 'in_flight'].includes(kind))).toBe(true);
  }

  function row(round: number, key: string, externalId: string): NewReceipt {
    return newRow({ idempotencyKey: `${round}-${key}`, externalId: `${round}-${externalId}`, body: key });
  }
});

test('a key that another session is still writing costs only its own row', async () => {
  const held = newRow({ idempotencyKey: 'held' });
  const session = new pg.Client({ connectionString: database.url });
  await session.connect();
  await session.query('BEGIN');
  await session.query(
    `INSERT INTO receipts (id, merchant_id, client_id, operation, idempotency_key, body_hash, type, status, lane_place,
                           device_id, document, total_tiyin, vat_total_tiyin)
     VALUES ('rcp_held', $1, $2, 'receipts', 'held', '\\x00', 'sale', 'accepted', 1, 'dev_1', '{}', 1, 0)`,
    [held.merchantId, held.clientId],
  );
  const others = Array.from({ length: 20 }, (_, index) => newRow({ idempotencyKey: `beside-${index}` }));
  const answers = await Promise.all([held, ...others].map((row) => acceptor.accept(row)));
  expect(answers[0]).toEqual({ kind: 'in_flight' });
  expect(answers.slice(1).map(({ kind }) => kind)).toEqual(others.map(() => 'accepted'));
  await session.query('ROLLBACK');
  await session.end();
  expect(await acceptor.accept(held)).toMatchObject({ kind: 'accepted', id: held.id });
});

test('503, not 409, while a migration holds the table: no other request has the key', async () => {
  const migration = new pg.Client({ connectionString: database.ownerUrl });
  await migration.connect();
  await migration.query('BEGIN; LOCK TABLE receipts IN SHARE MODE');
  const rows = Array.from({ length: 40 }, (_, index) => newRow({ idempotencyKey: `locked-${index}` }));
  const answers = await Promise.allSettled(rows.map((row) => acceptor.accept(row)));
  for (const answer of answers) {
    expect(answer).toMatchObject({ status: 'rejected', reason: { isRefusal: false, code: 'service_unavailable' } });
  }
  await migration.query('ROLLBACK');
  await migration.end();
  const again = await Promise.all(rows.map((row) => acceptor.accept(row)));
  expect(tally(again)).toEqual({ accepted: 40 });
});

test('the same row written twice is recognised as its own earlier commit', async () => {
  const row = newRow({ idempotencyKey: 'again' });
  await acceptor.accept(row);
  expect(await acceptor.accept(row)).toMatchObject({ kind: 'accepted', id: row.id });
});

test('connections killed under load: each caller gets the true outcome', async () => {
  const rows = Array.from({ length: 400 }, (_, index) => newRow({ idempotencyKey: `killed-${index}` }));
  const admin = new pg.Client({ connectionString: database.adminUrl });
  await admin.connect();
  const answering = Promise.allSettled(rows.map((row) => acceptor.accept(row)));
  await admin.query(
    // Of this file's own database: others run beside it on the same server, under the same name.
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND application_name = 'test' AND state = 'active'`,
  );
  const answers = await answering;
  await admin.end();
  for (const [index, answer] of answers.entries()) {
    if (answer.status === 'rejected') continue;
    expect(answer.value).toMatchObject({ kind: 'accepted', id: rows[index]?.id });
  }
  const accepted = answers.flatMap((answer) =>
    answer.status === 'fulfilled' && answer.value.kind === 'accepted' ? [answer.value.id] : [],
  );
  const stored = await prisma.$queryRaw<{ id: string }[]>`SELECT id FROM receipts WHERE id = ANY(${accepted}::text[])`;
  expect(stored).toHaveLength(accepted.length);
});

function tally(answers: readonly Acceptance[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { kind } of answers) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}

function newRow(given: Partial<NewReceipt> & { body?: string }): NewReceipt {
  const { body = given.idempotencyKey ?? 'body', ...rest } = given;
  return {
    id: newId('rcp'),
    eventId: newId('evt'),
    merchantId: 'mer_1',
    clientId: 'cli_1',
    operation: 'receipts',
    idempotencyKey: null,
    externalId: null,
    bodyHash: sha256(body),
    type: 'sale',
    deviceId: 'dev_1',
    branchId: 'brn_1',
    cashierId: 'csh_1',
    document: sampleDocument('Non «Бухоро» o‘zbek'),
    ...rest,
  };
}
