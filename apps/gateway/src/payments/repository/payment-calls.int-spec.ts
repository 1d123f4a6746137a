// Promise: one call to a provider is open of a payment at a time. One that a dead worker left open is closed as lost by the next one, in whichever
// month it began; who has lost the payment opens and closes nothing. On a server whose database no program has compared no money is asked for.
import pg from 'pg';
import { KnownServer, SalesDatabase } from '#database';
import { createTestDatabase, type TestDatabase } from '#database/testing';
import { createLogger } from '#runtime';
import { holdAfterRestore } from '../../../../device-relay/src/copies/hold-after-restore.js';
import { PaymentRepository } from './payment.repository.js';

const OPENING = { from: 'authorized', during: 'capturing', refund: null, putBackUs: null } as const;
const SILENT = createLogger('test', 'silent');
const LEASE = { paymentId: 'pay_1', leaseId: 'first' };
let database: TestDatabase;
let owner: pg.Client;
let prisma: SalesDatabase;
let payments: PaymentRepository;

const TIMING = { leaseSeconds: 60 } as never;
const knownServer = (): KnownServer =>
  new KnownServer(prisma, { databaseUrl: database.url, applicationName: 'test' }, SILENT);

beforeAll(async () => {
  database = await createTestDatabase();
  owner = new pg.Client({ connectionString: database.ownerUrl });
  await owner.connect();
  await owner.query(`
    INSERT INTO merchants (id, code, name, tin) VALUES ('mer_1', 'm', 'M', '300000000');
    INSERT INTO provider_accounts (id, merchant_id, provider, name, settings, credentials_sealed) VALUES ('pac_1', 'mer_1', 'payme', 'P', '{}', '\\x00')`);
  prisma = new SalesDatabase({ url: database.url, poolSize: 2, applicationName: 'test', lockTimeoutMs: 5_000 });
});
beforeEach(async () => {
  payments = new PaymentRepository(prisma, TIMING, knownServer());
  await owner.query(`
    DELETE FROM payment_calls;
    DELETE FROM payments;
    DELETE FROM database_identity;
    INSERT INTO payments (id, merchant_id, account_id, receipt_id, provider, flow, state, amount_tiyin, expires_at, lease_id, lease_until)
    VALUES ('pay_1', 'mer_1', 'pac_1', 'rcp_1', 'payme', 'hold', 'authorized', 1, now(), 'first', now() + interval '1 hour')`);
});
afterAll(async () => {
  await prisma?.$disconnect();
  await owner?.end();
  await database?.drop();
});

async function calls(): Promise<unknown[]> {
  const { rows } = await owner.query<{ call: string; lease: string; kind: string | null; detail: string | null }>(
    `SELECT call, lease_id AS lease, outcome ->> 'kind' AS kind, outcome ->> 'detail' AS detail FROM payment_calls ORDER BY id`,
  );
  return rows.map(({ call, lease, kind, detail }) => [call, lease, kind, detail]);
}

test('what a dead worker left open is closed as lost by the next one, also of another month', async () => {
  const first = await payments.openCall(LEASE, 'capture', OPENING);
  expect(first).toMatchObject({ started_at: expect.any(Date) as unknown });
  await owner.query(`UPDATE payment_calls SET started_at = now() - interval '40 days'`);
  await owner.query(`UPDATE payments SET lease_id = 'second'`);
  const next = { paymentId: 'pay_1', leaseId: 'second' };
  const second = await payments.openCall(next, 'read_status', { ...OPENING, from: 'capturing' });
  const lost = ['capture', 'first', 'unknown', 'lost: its caller died'];
  expect(await calls()).toEqual([lost, ['read_status', 'second', null, null]]);
  // The first one comes back, to where its call is: what it has heard is no longer waited for, and changes nothing.
  const { rows } = await owner.query<{ started_at: Date }>(
    `SELECT started_at FROM payment_calls WHERE lease_id = 'first'`,
  );
  const moved = { ...first!, started_at: rows[0]!.started_at };
  const change = { state: 'captured' } as const;
  const heard = { kind: 'unsent', detail: 'x' } as const;
  expect(await payments.closeCall(LEASE, moved, heard, { from: 'capturing', change })).toBeNull();
  expect(await calls()).toEqual([lost, ['read_status', 'second', null, null]]);
  expect(await payments.closeCall(next, second!, heard, { from: 'capturing', change })).not.toBeNull();
  expect(await calls()).toEqual([lost, ['read_status', 'second', 'unsent', 'x']]);
});

test('who has lost the payment, or read it before it changed, opens nothing, and the open call stays', async () => {
  await payments.openCall(LEASE, 'capture', OPENING);
  const stranger = { paymentId: 'pay_1', leaseId: 'stranger' };
  expect(await payments.openCall(stranger, 'void', { ...OPENING, from: 'capturing' })).toBeNull();
  expect(await payments.openCall(LEASE, 'void', OPENING)).toBeNull();
  expect(await calls()).toEqual([['capture', 'first', null, null]]);
});

const identity = async (): Promise<unknown> =>
  (
    await owner.query(
      `SELECT identity, changed_at::text, (extract(epoch FROM changed_at) * 1000000)::int8::text AS us, server_started = pg_postmaster_start_time() AS is_known FROM database_identity`,
    )
  ).rows[0];

test('a server that was only started anew is noted by the call that meets it', async () => {
  expect(await payments.openCall(LEASE, 'capture', OPENING)).not.toBeNull();
  expect(await identity()).toMatchObject({ changed_at: null, is_known: true });
  await owner.query(`
    UPDATE database_identity SET server_started = now() - interval '1 day'; UPDATE payments SET state = 'authorized'; DELETE FROM payment_calls`);
  expect(await payments.openCall(LEASE, 'void', { ...OPENING, during: 'voiding' })).not.toBeNull();
  expect(await identity()).toMatchObject({ is_known: true });
});

test('on one with another database only what moves no money is asked, until a relay has noted the change, and then by who knows of it', async () => {
  await owner.query(
    `INSERT INTO database_identity (identity, server_started) VALUES ('the one before', now() - interval '1 day')`,
  );
  for (const call of ['prepare', 'authorize', 'capture', 'void', 'refund', 'submit_lines'] as const)
    expect(await payments.openCall(LEASE, call, OPENING)).toBeNull();
  expect([await calls(), await identity()]).toEqual([
    [],
    expect.objectContaining({ identity: 'the one before', is_known: false }),
  ]);
  expect(await payments.openCall(LEASE, 'read_status', { ...OPENING, during: 'authorized' })).not.toBeNull();
  await owner.query('DELETE FROM payment_calls');
  const session = new pg.Client({ connectionString: database.ownerUrl });
  await session.connect();
  await holdAfterRestore(session, SILENT);
  await session.end();
  const noted = (await identity()) as { changed_at: string; us: string; is_known: boolean };
  expect(noted).toMatchObject({ changed_at: expect.any(String), is_known: true });
  expect(await payments.openCall(LEASE, 'capture', OPENING)).toBeNull();
  expect(await calls()).toEqual([]);
  expect(await payments.openCall(LEASE, 'capture', { ...OPENING, putBackUs: BigInt(noted.us) })).not.toBeNull();
});

test('nor on one of which it is not certain: another role says less of it, or what it says lags behind', async () => {
  await payments.openCall(LEASE, 'capture', OPENING);
  const { identity: known } = (await identity()) as { identity: string };
  const [cluster, timeline, tables] = known.split('/');
  for (const before of [
    `server=10.0.0.1:5432/server=10.0.0.1:5432/${tables}`,
    `${cluster}/checkpoint=${timeline}/${tables}`,
  ]) {
    await owner.query(`UPDATE payments SET state = 'authorized'; DELETE FROM payment_calls`);
    await owner.query(`UPDATE database_identity SET identity = $1, server_started = NULL`, [before]);
    // Refused a moment ago it does not ask again so soon.
    payments = new PaymentRepository(prisma, TIMING, knownServer());
    expect(await payments.openCall(LEASE, 'capture', OPENING)).toBeNull();
    expect(await identity()).toMatchObject({ identity: before, is_known: null });
  }
});
