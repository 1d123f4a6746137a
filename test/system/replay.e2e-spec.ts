// Promise: a known key is answered with its receipt whatever has changed since, and never makes a second one.
import pg from 'pg';
import { newId } from '#runtime';
import { BREAD } from './bad-bodies.js';
import { RowCounter, sql } from './database.js';
import { GatewayClient, type Answer } from './gateway-client.js';
import { setFaults } from './ground-truth.js';
import { startSystem, type TestSystem } from './system.js';
import { until } from '../../libs/runtime/src/testing/until.js';
let system: TestSystem;
let client: GatewayClient;
let rows: RowCounter;

beforeAll(async () => {
  system = await startSystem({ profile: { sendTimeoutMs: 5_000 } });
  ({ client } = system);
  rows = await RowCounter.connect(system.database);
});

afterAll(async () => {
  await rows?.close();
  await system?.stop();
});

const keyed = (key: string, more: Record<string, string> = {}): Record<string, string> => ({
  'idempotency-key': key,
  ...more,
});

function expectReplayOf(first: Answer, again: Answer): void {
  expect(again.status).toBe(first.status);
  expect(again.headers.get('idempotency-replayed')).toBe('true');
  expect(again.headers.get('location')).toBe(first.headers.get('location'));
  expect(again.body).toEqual(first.body);
}

/** Runs the change, waits until a new sale is refused by it, and checks that the old key is still answered. */
async function expectReplayAfter(
  change: string,
  undo: string,
  refusal: { status: number; code: string },
): Promise<void> {
  const sale = client.saleOf(0, { external_id: newId('evt') });
  const key = newId('evt');
  const first = await client.post('/v1/receipts', sale, keyed(key));
  expect(first.status).toBe(201);
  await sql(system.database, change);
  try {
    const refused = await until(
      `a new sale is refused after ${change}`,
      () => client.post('/v1/receipts', client.saleOf(0), { prefer: 'respond-async' }),
      ({ status }) => status !== 202,
    );
    expect(refused).toMatchObject({ status: refusal.status, body: { code: refusal.code } });
    if (refusal.status === 503) expect(refused.headers.get('retry-after')).toMatch(/^\d+$/);
    // Only receipts: sales taken before the change may still be on their way to the register.
    const { receipts: before } = await rows.count();
    expectReplayOf(first, await client.post('/v1/receipts', sale, keyed(key)));
    expectReplayOf(first, await client.post('/v1/receipts', sale));
    const other = await client.post('/v1/receipts', client.saleOf(0), keyed(key));
    expect(other).toMatchObject({ status: 422, body: { code: 'idempotency_mismatch' } });
    const unknown = await client.post('/v1/receipts', client.saleOf(0), keyed(newId('evt')));
    expect(unknown).toMatchObject({ status: refusal.status, body: { code: refusal.code } });
    expect((await rows.count()).receipts).toBe(before);
  } finally {
    await sql(system.database, undo);
  }
  await until(
    'sales are taken again',
    () => client.post('/v1/receipts', client.saleOf(0)),
    ({ status }) => status === 201,
  );
}

test('after the product was archived', () =>
  expectReplayAfter(
    `UPDATE products SET archived_at = now() WHERE name = '${BREAD}'`,
    'UPDATE products SET archived_at = NULL',
    { status: 422, code: 'goods_unknown' },
  ));

test('after the device was disabled', () =>
  expectReplayAfter("UPDATE devices SET state = 'disabled'", "UPDATE devices SET state = 'online'", {
    status: 503,
    code: 'no_device',
  }));

test('after the cashier was archived', () =>
  expectReplayAfter('UPDATE cashiers SET archived_at = now()', 'UPDATE cashiers SET archived_at = NULL', {
    status: 422,
    code: 'cashier_unknown',
  }));

test('the same body is the same by content: order of fields and white space do not count', async () => {
  const sale = client.saleOf(0, { metadata: { b: '1', a: '2' } });
  const key = newId('evt');
  const first = await client.post('/v1/receipts', sale, keyed(key));
  const reordered = JSON.stringify(
    { ...Object.fromEntries(Object.entries(sale).reverse()), metadata: { a: '2', b: '1' } },
    null,
    3,
  );
  const again = await client.call('POST', '/v1/receipts', {
    body: reordered,
    headers: keyed(key, { 'content-type': 'application/json' }),
  });
  expectReplayOf(first, again);
});

test('keys belong to the client, external ids to the merchant', async () => {
  const sale = client.saleOf(0, { external_id: 'shared-1' });
  const first = await client.post('/v1/receipts', sale, keyed('shared'));
  expect(first.status).toBe(201);
  const colleague = await colleagueOf(system);
  const other = await colleague.post('/v1/receipts', client.saleOf(0), keyed('shared'));
  expect(other.status).toBe(201);
  expect(other.body.id).not.toBe(first.body.id);
  expectReplayOf(first, await colleague.post('/v1/receipts', sale));
  const crossed = await colleague.post('/v1/receipts', sale, keyed('shared'));
  expect(crossed).toMatchObject({ status: 422, body: { code: 'idempotency_mismatch' } });
});

test('a refusal by the register is stored and answered again', async () => {
  await setFaults(system, [{ fault: 'refuse', code: 'E-013', next: 1 }]);
  const key = newId('evt');
  const first = await client.post('/v1/receipts', client.saleOf(0), keyed(key));
  expect(first).toMatchObject({ status: 422, body: { code: 'E-013', retryable: false } });
  const location = first.headers.get('location') ?? '';
  const stored = await client.get(location);
  expect(stored.body).toMatchObject({ status: 'rejected', rejection: { code: 'E-013' }, fiscal: null });
  const again = await client.post('/v1/receipts', client.saleOf(0), keyed(key));
  expect(again).toMatchObject({ status: 422, body: { code: 'E-013', errors: first.body.errors } });
  expect(again.headers.get('idempotency-replayed')).toBe('true');
  expect(again.headers.get('location')).toBe(location);
});

test('while another session is still writing the key: 409 and nothing stored', async () => {
  const { merchantId, clientId } = system.merchant;
  const session = new pg.Client({ connectionString: system.database.adminUrl });
  await session.connect();
  try {
    await session.query('BEGIN');
    await session.query(
      `INSERT INTO receipts (id, merchant_id, client_id, operation, idempotency_key, body_hash, type, status, lane_place,
                             device_id, document, total_tiyin, vat_total_tiyin)
       VALUES ('rcp_held', $1, $2, 'receipts', 'held', '\\x00', 'sale', 'cancelled', 1, 'dev_1', '{}', 1, 0)`,
      [merchantId, clientId],
    );
    const before = await rows.count();
    const held = await client.post('/v1/receipts', client.saleOf(0), keyed('held'));
    expect(held).toMatchObject({ status: 409, body: { code: 'idempotency_in_progress', retryable: true } });
    expect(held.headers.get('retry-after')).toMatch(/^\d+$/);
    expect(await rows.count()).toEqual(before);
    await session.query('ROLLBACK');
  } finally {
    await session.end();
  }
  expect((await client.post('/v1/receipts', client.saleOf(0), keyed('held'))).status).toBe(201);
});

describe('Prefer', () => {
  test.each([
    ['respond-async', 202],
    ['wait=0', 202],
    ['Respond-Async, handling=strict', 202],
    ['wait=30', 201],
    ['WAIT = "30"', 201],
    ['respond-async, wait=30', 201],
    ['wait=soon', 201],
    ['handling=lenient; x=1', 201],
    ['wait=-5', 201],
  ])('%s → %d', async (prefer, status) => {
    const answer = await client.post('/v1/receipts', client.saleOf(0), { prefer });
    expect(answer.status).toBe(status);
    expect(answer.headers.get('location')).toBe(`/v1/receipts/${answer.body.id}`);
    if (status === 202) expect(answer.headers.get('retry-after')).toMatch(/^\d+$/);
  });
});

test('the register is away: accepted, cancelled ones stay cancelled, the others are registered when it is back', async () => {
  await system.register.end('SIGKILL');
  const [kept, withdrawn] = [newId('evt'), newId('evt')];
  const sale = client.saleOf(0);
  for (const key of [kept, withdrawn]) {
    const answer = await client.post('/v1/receipts', sale, keyed(key, { prefer: 'wait=1' }));
    expect(answer).toMatchObject({ status: 202, body: { status: 'accepted', fiscal: null } });
    expect(answer.headers.get('retry-after')).toMatch(/^\d+$/);
  }
  await sql(
    system.database,
    "UPDATE receipts SET status = 'cancelled' WHERE idempotency_key = $1 AND status = 'accepted'",
    [withdrawn],
  );
  expect(await client.post('/v1/receipts', sale, keyed(withdrawn))).toMatchObject({
    status: 200,
    body: { status: 'cancelled' },
  });
  expect((await client.post('/v1/receipts', sale, keyed(kept))).status).toBe(202);
  await system.register.start();
  const back = await until(
    'the waiting receipt is registered',
    () => client.post('/v1/receipts', sale, keyed(kept)),
    ({ status }) => status === 201,
  );
  expect(back.body).toMatchObject({ status: 'registered', fiscal: { evidence: 'answer' } });
  expect((await client.post('/v1/receipts', sale, keyed(withdrawn))).status).toBe(200);
});

/** Another OAuth client of the same merchant, with the same secret. */
async function colleagueOf({ database, merchant, gatewayUrls }: TestSystem): Promise<GatewayClient> {
  const clientId = newId('cli');
  await sql(
    database,
    `INSERT INTO oauth_clients (id, merchant_id, name, secret_hash, scopes)
     SELECT $1, merchant_id, 'colleague', secret_hash, scopes FROM oauth_clients WHERE id = $2`,
    [clientId, merchant.clientId],
  );
  return new GatewayClient(gatewayUrls, { ...merchant, clientId });
}
