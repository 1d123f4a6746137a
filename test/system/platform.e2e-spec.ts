// Promise: the platform makes, limits, counts and suspends merchants without a shell; one merchant's flood is its own, and what was accepted is finished.
import { sql } from './database.js';
import { eventsSoFar } from './event-feed.js';
import { GatewayClient, type Answer } from './gateway-client.js';
import type { TestMerchant } from './merchant.js';
import { startSystem, type TestSystem } from './system.js';
import { until } from '../../libs/runtime/src/testing/until.js';

const GOODS = { spic: '10101001001000000', package_code: '1234567', units: 796, vat_percent: 12 };

let system: TestSystem;
let platform: GatewayClient;

beforeAll(async () => {
  system = await startSystem({ registers: 1, gateways: 2, env: { HEALTH_POLL_MS: '300' } });
  platform = new GatewayClient(system.gatewayUrls, await system.addMerchant({ scopes: ['platform:admin'] }));
});
afterAll(() => system?.stop());

type Json = Record<string, unknown>;

function json(answer: Answer): Json {
  return answer.body;
}

async function patch(client: GatewayClient, path: string, body: unknown): Promise<Answer> {
  const headers = { 'content-type': 'application/json' };
  return client.call('PATCH', path, { body: JSON.stringify(body), headers });
}

/** A sandbox made by the platform alone, with a client of its own; nothing in it yet. */
async function merchant(
  code: string,
  quotas: Json = {},
): Promise<{ id: string; client: GatewayClient; goods: string }> {
  const made = await platform.post('/v1/platform/merchants', {
    code,
    name: code,
    tin: '300000000',
    mode: 'sandbox',
    quotas,
  });
  expect(made).toMatchObject({ status: 201, body: { mode: 'sandbox', id: expect.stringMatching(/^mer_test_/) } });
  const id = String(json(made)['id']);
  const scopes = [
    'receipts:write',
    'receipts:read',
    'refunds:write',
    'devices:admin',
    'clients:admin',
    'catalog:write',
  ];
  const client = await platform.post(`/v1/platform/merchants/${id}/clients`, { name: 'erp', scopes, ip_policy: 'any' });
  expect(client.status).toBe(201);
  const { id: clientId, client_secret: clientSecret } = json(client) as { id: string; client_secret: string };
  const [goods] = await sql<{ spic: string; package_code: string; units: number }>(
    system.database,
    `SELECT spic, packages->0->>'code' AS package_code, units FROM classifier_entries
      WHERE active AND NOT marked AND cash_allowed ORDER BY spic LIMIT 1`,
  );
  const known = { merchantId: id, clientId, clientSecret, tills: [], goods: [] } satisfies TestMerchant;
  const own = new GatewayClient(system.gatewayUrls, known);
  await patch(own, '/v1/merchant', { default_goods: { ...GOODS, ...goods } });
  return { id, client: own, goods: 'Non' };
}

async function place(client: GatewayClient): Promise<void> {
  const steps: [string, unknown][] = [
    ['/v1/branches', { code: 'shop', name: 'Shop' }],
    ['/v1/devices', { branch_id: 'shop', name: 'Till', profile: { pacing_ms: 0 } }],
    ['/v1/cashiers', { code: 'anna', name: 'Anna', branch_id: 'shop' }],
  ];
  for (const [path, body] of steps) expect([path, (await client.post(path, body)).status]).toEqual([path, 201]);
}

function sale(more: Json = {}): Json {
  return { items: [{ name: 'Non', price: 450_000, qty: 1 }], payment: { method: 'cash' }, cashier_id: 'anna', ...more };
}

async function eventsOf(client: GatewayClient, type: string): Promise<Json[]> {
  return (await eventsSoFar(system.database, client, type)).map(({ data }) => data);
}

test('from nothing to the first receipt by the API alone; each step is seen when it is done', async () => {
  const { client } = await merchant('onboarding');
  const next = async (): Promise<unknown> => json(await client.get('/v1/onboarding'))['next'];
  const way: [string, () => Promise<Answer>][] = [
    ['branch', () => client.post('/v1/branches', { code: 'shop', name: 'Shop' })],
    ['cashier', () => client.post('/v1/cashiers', { code: 'anna', name: 'Anna', branch_id: 'shop' })],
    ['device', () => client.post('/v1/devices', { branch_id: 'shop', name: 'Till' })],
    ['first_receipt', () => client.post('/v1/receipts', sale(), { prefer: 'wait=60' })],
  ];
  for (const [step, take] of way) {
    expect(await next()).toBe(step);
    expect([step, (await take()).status]).toEqual([step, 201]);
  }
  expect(json(await client.get('/v1/onboarding'))).toMatchObject({ complete: true, next: null });
});

test('the quota of one merchant stops its flood, is announced, and touches no other; refunds and replays pass', async () => {
  const [flooding, other] = [await merchant('flood', { receipts_per_day: 20 }), await merchant('quiet')];
  for (const { client } of [flooding, other]) await place(client);
  const first = await flooding.client.post('/v1/receipts', sale({ external_id: 'first' }), { prefer: 'wait=60' });
  expect([first.status, first.headers.get('ratelimit')]).toEqual([
    201,
    expect.stringMatching(/"receipts-day";r=19;t=\d+/),
  ]);
  const answers = await Promise.all(
    Array.from({ length: 80 }, (_, at) =>
      flooding.client.post('/v1/receipts', sale({ external_id: `f${at}` }), { prefer: 'wait=0' }),
    ),
  );
  const refused = answers.filter(({ status }) => status === 429);
  expect(refused[0]?.body.code).toBe('quota_exceeded');
  expect(Number(refused[0]?.headers.get('retry-after'))).toBeGreaterThan(0);
  const accepted = async (): Promise<number> => {
    const [row] = await sql<{ count: number }>(
      system.database,
      'SELECT count(*)::int AS count FROM receipts WHERE merchant_id = $1',
      [flooding.id],
    );
    return row?.count ?? 0;
  };
  // Two gateways, each of which may not know of the other's last second.
  expect(await accepted()).toBeGreaterThanOrEqual(20);
  expect(await accepted()).toBeLessThanOrEqual(40);
  await until(
    'both shares were announced',
    async () => [
      ...(await eventsOf(flooding.client, 'quota.warning')),
      ...(await eventsOf(flooding.client, 'quota.reached')),
    ],
    (events) => events.length === 2,
  );
  expect(await eventsOf(flooding.client, 'quota.reached')).toMatchObject([
    { quota: 'receipts_per_day', limit: 20, percent: 100 },
  ]);
  await until(
    'no gateway takes another sale',
    async () => (await flooding.client.post('/v1/receipts', sale(), { prefer: 'wait=0' })).status,
    (status) => status === 429,
  );
  expect((await other.client.post('/v1/receipts', sale(), { prefer: 'wait=60' })).status).toBe(201);
  const replay = await flooding.client.post('/v1/receipts', sale({ external_id: 'first' }));
  expect([replay.status, replay.body.id]).toEqual([201, first.body.id]);
  const refund = await flooding.client.post(`/v1/receipts/${first.body.id}/refunds`, {}, { prefer: 'wait=60' });
  expect(refund.status).toBe(201);
  const raised = await patch(platform, `/v1/platform/merchants/${flooding.id}`, { quotas: { receipts_per_day: null } });
  expect(raised).toMatchObject({ status: 200, body: { quotas: { receipts_per_day: null } } });
  await until(
    'the quota is gone',
    async () => (await flooding.client.post('/v1/receipts', sale(), { prefer: 'wait=0' })).status,
    (status) => status === 202 || status === 201,
  );
  await until(
    'the month has all of them',
    async () => {
      const usage = json(await platform.get(`/v1/platform/merchants/${flooding.id}/usage`));
      return [(usage['data'] as { receipts: number }[])[0]?.receipts, await accepted()];
    },
    ([counted, there]) => counted === there,
  );
});

test('quotas of registers and clients are refused when they are used up, and announced', async () => {
  const { client } = await merchant('small', { devices: 1, clients: 1 });
  await place(client);
  const device = await client.post('/v1/devices', { branch_id: 'shop', name: 'Second' });
  expect([device.status, device.body.code]).toEqual([422, 'device_limit_reached']);
  const more = await client.post('/v1/clients', { name: 'more', scopes: ['receipts:read'], ip_policy: 'any' });
  expect([more.status, more.body.code]).toEqual([422, 'client_limit_reached']);
  const reached = await eventsOf(client, 'quota.reached');
  expect(reached.map(({ quota }) => quota).sort()).toEqual(['clients', 'devices']);
});

test('a suspended merchant accepts nothing, reads, and what it has accepted is finished', async () => {
  const { id, client } = await merchant('suspended');
  await place(client);
  const waiting: string[] = [];
  for (const value of ['offline_6', undefined, undefined]) {
    const body = sale(value === undefined ? {} : { metadata: { sandbox: value } });
    const answer = await client.post('/v1/receipts', body, { prefer: 'wait=0' });
    expect(answer.status).toBe(202);
    waiting.push(answer.body.id ?? '');
  }
  const suspended = await platform.post(`/v1/platform/merchants/${id}/suspend`, { reason: 'unpaid' });
  expect(suspended).toMatchObject({ status: 200, body: { suspended_reason: 'unpaid' } });
  for (const [path, body] of [
    ['/v1/receipts', sale()],
    ['/v1/branches', { code: 'b', name: 'B' }],
    ['/v1/receipts/batch', { receipts: [sale({ external_id: 'b' })] }],
  ] as const)
    await until(
      `both gateways refuse ${path}`,
      async () => {
        const answers = [await client.post(path, body), await client.post(path, body)];
        return answers.map((answer) => `${answer.status} ${answer.body.code ?? ''}`);
      },
      (answers) => answers.every((answer) => answer === '403 merchant_suspended'),
    );
  for (const receipt of waiting)
    await until(
      `${receipt} is registered`,
      async () => (await client.get(`/v1/receipts/${receipt}`)).body.status,
      (status) => status === 'registered',
    );
  await platform.post(`/v1/platform/merchants/${id}/resume`, {});
  await until(
    'it sells again',
    async () => (await client.post('/v1/receipts', sale(), { prefer: 'wait=0' })).status,
    (status) => status === 202 || status === 201,
  );
  const trail = json(await client.get('/v1/audit'))['data'] as { action: string }[];
  expect(trail.map(({ action }) => action)).toEqual(
    expect.arrayContaining(['merchant.create', 'merchant.suspend', 'merchant.resume']),
  );
});

test('the platform is for its own clients alone, and merchants see nothing of one another', async () => {
  const [one, two] = [await merchant('one'), await merchant('two')];
  await place(one.client);
  const { body: receipt } = await one.client.post('/v1/receipts', sale(), { prefer: 'wait=60' });
  expect((await two.client.get(`/v1/receipts/${receipt.id}`)).status).toBe(404);
  expect((await two.client.get(`/v1/devices/${receipt.device_id}`)).status).toBe(404);
  expect((await two.client.post('/v1/receipts', sale(), { prefer: 'wait=0' })).status).toBe(422);
  expect((await one.client.get('/v1/platform/merchants')).status).toBe(403);
  const grab = { name: 'grab', scopes: ['platform:admin'], ip_policy: 'any' };
  expect((await one.client.post('/v1/clients', grab)).status).toBe(403);
  expect((await platform.post(`/v1/platform/merchants/${one.id}/clients`, grab)).status).toBe(403);
  const taken = await platform.post('/v1/platform/merchants', { code: 'one', name: 'x', tin: '300000000' });
  expect([taken.status, taken.body.code]).toEqual([409, 'code_taken']);
  const page = json(await platform.get('/v1/platform/merchants?mode=sandbox&limit=2'));
  expect([(page['data'] as unknown[]).length, typeof page['next_cursor']]).toEqual([2, 'string']);
  expect((await platform.get('/v1/platform/merchants/mer_01')).status).toBe(404);
});
