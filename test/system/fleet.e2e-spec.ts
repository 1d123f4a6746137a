// Promise: a register becomes a device only when it can work for this merchant, sells, and leaves without a trace of risk.
import { commandLine, type CommandEnd } from './command-line.js';
import { GatewayClient } from './gateway-client.js';
import { sql } from './database.js';
import type { TestMerchant } from './merchant.js';
import { startSystem, type TestSystem } from './system.js';
import { until } from '../../libs/runtime/src/testing/until.js';

const SCOPES = ['receipts:write', 'receipts:read', 'devices:admin'] as const;

interface Answer {
  status: number;
  headers: Headers;
  body: Record<string, unknown> & { id: string; code: string; errors: { pointer: string; code: string }[] };
}

/** A merchant's administrator: whatever method, whatever answer. */
class Admin extends GatewayClient {
  async ask(method: string, path: string, body?: unknown): Promise<Answer> {
    const json = body === undefined ? {} : { body: JSON.stringify(body) };
    const headers: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' };
    return (await this.call(method, path, { ...json, headers })) as unknown as Answer;
  }
}

let system: TestSystem;
let merchant: TestMerchant;
let admin: Admin;

beforeAll(async () => {
  system = await startSystem({ registers: 2, scopes: SCOPES });
  merchant = await system.addMerchant();
  admin = new Admin(system.gatewayUrls, merchant);
});

afterAll(() => system?.stop());

function device(register: number, more: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    branch_id: 'main',
    name: `Till ${register}`,
    transport: 'http',
    base_url: system.registerUrls[register],
    api_key: system.registerApiKey,
    profile: { pacing_ms: 0, sharing: 'exclusive' },
    ...more,
  };
}

async function nothingIsLeft(): Promise<void> {
  const rows = await sql(system.database, 'SELECT id FROM devices WHERE merchant_id = $1 AND deleted_at IS NULL', [
    merchant.merchantId,
  ]);
  expect(rows).toEqual([]);
}

test('what cannot work is refused with the reason, and leaves nothing behind', async () => {
  const wrongKey = await admin.ask('POST', '/v1/devices', device(1, { api_key: 'not-the-key-of-this-register' }));
  expect(wrongKey).toMatchObject({
    status: 422,
    body: { code: 'device_key_refused', errors: [{ pointer: '/api_key' }] },
  });

  // Nothing listens there: the port of the OFD plus one that no program of this test has.
  const absent = await admin.ask('POST', '/v1/devices', device(1, { base_url: 'http://127.0.0.1:9' }));
  expect(absent).toMatchObject({ status: 503, body: { code: 'device_unreachable', retryable: true } });

  const noRegister = await admin.ask('POST', '/v1/devices', device(1, { base_url: system.ofdUrl }));
  expect(noRegister).toMatchObject({ status: 422, body: { code: 'device_not_a_register' } });

  const outside = await admin.ask('POST', '/v1/devices', device(1, { base_url: 'http://10.0.0.1:8765' }));
  expect(outside).toMatchObject({ status: 422, body: { code: 'address_not_allowed' } });

  await sql(system.database, "UPDATE merchants SET tin = '311111111' WHERE id = $1", [merchant.merchantId]);
  const otherTin = await admin.ask('POST', '/v1/devices', device(1));
  expect(otherTin).toMatchObject({ status: 422, body: { code: 'device_tin_mismatch' } });
  await sql(system.database, "UPDATE merchants SET tin = '300000000' WHERE id = $1", [merchant.merchantId]);
  await nothingIsLeft();
});

test('201 claimed_elsewhere for a terminal that another merchant holds: not a word about whose, and no receipts', async () => {
  // Its first sale says which terminal the other merchant's device is.
  const sold = await system.client.post('/v1/receipts', system.client.saleOf(0));
  expect(sold.status).toBe(201);
  const claimed = await admin.ask('POST', '/v1/devices', device(0));
  expect(claimed).toMatchObject({ status: 201, body: { state: 'claimed_elsewhere' } });
  const { id } = claimed.body;
  expect(id).not.toBe(system.merchant.tills[0]?.deviceId);
  expect(JSON.stringify(claimed.body)).not.toContain(system.merchant.tills[0]?.deviceId);
  expect(JSON.stringify(claimed.body)).not.toContain(system.merchant.merchantId);
  const cashier = { code: 'claimed', name: 'C', branch_id: 'main' };
  expect((await admin.ask('POST', '/v1/cashiers', cashier)).status).toBe(201);
  const sale = { items: [{ name: merchant.goods[0], price: 112_000, qty: 1 }], payment: { method: 'cash' } };
  const refused = await admin.ask('POST', '/v1/receipts', { ...sale, cashier_id: 'claimed', device_id: id });
  expect(refused.body.code).toBe('no_device');
  expect((await system.client.post('/v1/receipts', system.client.saleOf(0))).status).toBe(201);
  await sql(system.database, 'UPDATE devices SET deleted_at = now() WHERE id = $1', [id]);
  await nothingIsLeft();
});

test('a register is registered, sells, is drained and deleted; its terminal is free again', async () => {
  const created = await admin.ask('POST', '/v1/devices', device(1));
  expect(created).toMatchObject({
    status: 201,
    body: {
      state: 'online',
      terminal_id: expect.any(String),
      journal_id: expect.any(String),
      capabilities: ['idempotency', 'journal', 'commission', 'customer', 'payment_provider'],
      business: { tin: '300000000' },
      lane: { waiting: 0, open_attempt_id: null },
      countdowns: { memory: { receipts_max: expect.any(Number) }, subscription: { expires_at: expect.any(String) } },
    },
  });
  expect(JSON.stringify(created.body)).not.toContain(system.registerApiKey);
  const { id } = created.body;

  // Twice at the same time or one after the other: the terminal is one device.
  const again = await admin.ask('POST', '/v1/devices', device(1));
  expect(again).toMatchObject({ status: 422, body: { code: 'device_terminal_taken' } });

  const cashier = { code: 'till-1', name: 'Nodira', branch_id: 'main', default_device_id: id };
  expect((await admin.ask('POST', '/v1/cashiers', cashier)).status).toBe(201);
  const sale = { items: [{ name: merchant.goods[0], price: 112_000, qty: 1 }], payment: { method: 'cash' } };
  const receipt = await admin.ask('POST', '/v1/receipts', { ...sale, cashier_id: 'till-1' });
  expect(receipt).toMatchObject({ status: 201, body: { status: 'registered', device_id: id } });
  const checked = await admin.ask('POST', `/v1/devices/${id}/check`);
  expect(checked).toMatchObject({
    status: 200,
    body: { result: { state: 'online', reading: { receipt_seq: 1 } } },
  });
  const attempts = await admin.ask('GET', `/v1/devices/${id}/attempts`);
  expect(attempts.body['data']).toMatchObject([
    { receipt_id: receipt.body.id, number: 2, state: 'registered' },
    // The shift was not open yet.
    { receipt_id: receipt.body.id, number: 1, state: 'not_registered' },
  ]);

  // A new key that is wrong changes nothing; a new address of the same register is taken over.
  const badKey = await admin.ask('PATCH', `/v1/devices/${id}`, { api_key: 'not-the-key-of-this-register' });
  expect(badKey).toMatchObject({ status: 422, body: { code: 'device_key_refused' } });
  const otherTerminal = await admin.ask('PATCH', `/v1/devices/${id}`, {
    ...{ base_url: system.registerUrls[0], api_key: system.registerApiKey },
  });
  expect(otherTerminal).toMatchObject({ status: 422, body: { code: 'device_other_terminal' } });
  const moved = await admin.ask('PATCH', `/v1/devices/${id}`, {
    ...{ base_url: system.registerUrls[1]?.replace('127.0.0.1', '127.0.0.2'), api_key: system.registerApiKey },
    name: 'Till by the window',
  });
  // The register listens on 127.0.0.1 alone.
  expect(moved).toMatchObject({ status: 503, body: { code: 'device_unreachable' } });
  const renamed = await admin.ask('PATCH', `/v1/devices/${id}`, { base_url: system.registerUrls[1], name: 'Window' });
  expect(renamed).toMatchObject({ status: 200, body: { name: 'Window', base_url: system.registerUrls[1] } });

  expect((await admin.ask('DELETE', `/v1/devices/${id}`)).body.code).toBe('device_not_at_rest');
  expect((await admin.ask('POST', `/v1/devices/${id}/drain`)).status).toBe(200);
  const sell = (): Promise<Answer> => admin.ask('POST', '/v1/receipts', { ...sale, cashier_id: 'till-1' });
  const drained = await until('a drained register takes no sale', sell, ({ status }) => status === 503);
  expect(drained.body.code).toBe('no_device');
  await sql(system.database, "UPDATE devices SET draining_since = now() - interval '11 seconds' WHERE id = $1", [id]);
  expect((await admin.ask('DELETE', `/v1/devices/${id}`)).status).toBe(204);
  expect((await admin.ask('GET', `/v1/devices/${id}`)).status).toBe(404);

  const back = await admin.ask('POST', '/v1/devices', device(1));
  expect(back).toMatchObject({ status: 201, body: { terminal_id: created.body['terminal_id'] } });
  expect(back.body.id).not.toBe(id);
});

test('the command line makes a merchant and a client that gets a token; a refusal is a sentence and an exit code', async () => {
  const run = (...args: string[]): Promise<CommandEnd> => commandLine(system, ...args);
  expect((await run('merchant', 'create', '--code', 'cli-shop', '--name', 'Shop', '--tin', '301234567')).status).toBe(
    0,
  );
  const made = await run(
    'client',
    'create',
    '--merchant',
    'cli-shop',
    '--name',
    'erp',
    '--scopes',
    'devices:admin',
    '--ip',
    'any',
  );
  const client = JSON.parse(made.stdout) as { client_id: string; client_secret: string };
  const owner = { ...merchant, clientId: client.client_id, clientSecret: client.client_secret };
  const shown = await new Admin(system.gatewayUrls, owner).ask('GET', '/v1/merchant');
  expect(shown).toMatchObject({ status: 200, body: { code: 'cli-shop', tin: '301234567' } });
  const twice = await run('merchant', 'create', '--code', 'cli-shop', '--name', 'Shop', '--tin', '301234567');
  expect(twice).toMatchObject({
    status: 2,
    stdout: '',
    stderr: 'Another one has this code already, perhaps an archived one.\n',
  });
});
