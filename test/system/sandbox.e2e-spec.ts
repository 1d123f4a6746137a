// Promise: in a sandbox every outcome can be forced through the whole system, its receipts cannot pass for real ones, and no way leads from it to a real register.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { messageCredentialsOwner } from '#database';
import { SANDBOX_PRICES } from '#fiscal-domain';
import { parseKeyring, seal } from '#secrets';
import { MailServer } from '../../libs/messages/src/testing/mail-server.js';
import type { ReceiptView } from '../../apps/gateway/src/receipts/receipt-view.js';
import { sql } from './database.js';
import { GatewayClient } from './gateway-client.js';
import type { TestMerchant } from './merchant.js';
import { SilentServer } from './silent-server.js';
import { startSystem, type TestSystem } from './system.js';
import { until } from '../../libs/runtime/src/testing/until.js';

const SCOPES = [
  ...['receipts:write', 'receipts:read', 'refunds:write', 'operator:resolve', 'catalog:read'],
  ...['devices:admin', 'clients:admin', 'payments:write'],
];

interface Till {
  deviceId: string;
  cashierId: string;
}

/** A payment that has begun, and what its customer does next. */
interface Paid {
  id: string;
  receiptId: string;
  next: unknown;
}

let system: TestSystem;
let sandbox: TestMerchant;
let client: GatewayClient;
/** One for what ends at once, the others for what a register is away or busy for. */
const tills: Record<'plain' | 'refusing' | 'away' | 'lost' | 'doubtful' | 'late', Till> = {} as never;

beforeAll(async () => {
  system = await startSystem({ registers: 1, scopes: SCOPES, env: { HEALTH_POLL_MS: '300', OFD_RESEND_MS: '500' } });
  sandbox = await system.addMerchant({ mode: 'sandbox' });
  client = new GatewayClient(system.gatewayUrls, sandbox);
  const branch = await made('/v1/branches', { code: 'shop', name: 'Shop', address: 'Toshkent' });
  for (const name of ['plain', 'refusing', 'away', 'lost', 'doubtful', 'late'] as const) {
    const profile = { pacing_ms: 0, settle_ms: 1_000 };
    const device = await made('/v1/devices', { branch_id: branch, name, profile });
    const cashier = { code: name, name, branch_id: branch, default_device_id: device };
    tills[name] = { deviceId: device, cashierId: await made('/v1/cashiers', cashier) };
  }
});
afterAll(() => system?.stop());

async function made(path: string, body: unknown): Promise<string> {
  const answer = await client.post(path, body);
  expect(answer).toMatchObject({ status: 201 });
  return answer.body.id ?? '';
}

function saleOf(till: Till, more: Record<string, unknown> = {}, price = 112_000): Record<string, unknown> {
  const items = [{ name: sandbox.goods[0], price, qty: 1 }];
  return { items, payment: { method: 'cash' }, cashier_id: till.cashierId, ...more };
}

async function sell(till: Till, value: string | number, wait = 60): Promise<Partial<ReceiptView>> {
  const body = typeof value === 'number' ? saleOf(till, {}, value) : saleOf(till, { metadata: { sandbox: value } });
  const { status, body: receipt, headers } = await client.post('/v1/receipts', body, { prefer: `wait=${wait}` });
  const isRejected = status === 422 && headers.has('location');
  expect([value, isRejected || [201, 202].includes(status)]).toEqual([value, true]);
  return isRejected ? (await client.get(headers.get('location') ?? '')).body : receipt;
}

function ends(id: string, status: string): Promise<Partial<ReceiptView>> {
  return until(
    `${id} is ${status}`,
    async () => (await client.get(`/v1/receipts/${id}`)).body,
    (receipt) => receipt.status === status,
  );
}

describe('a test receipt', () => {
  test('looks like one: token, ids, links, JSON, page, text; a refund too', async () => {
    const token = await client.fetchToken();
    expect([token, sandbox.clientSecret, sandbox.clientId]).toEqual([
      expect.stringMatching(/^fgw_test_at_/),
      expect.stringMatching(/^fgw_test_cs_/),
      expect.stringMatching(/^cli_test_/),
    ]);
    const receipt = await sell(tills.plain, 'slow_1');
    expect(receipt).toMatchObject({
      id: expect.stringMatching(/^rcp_test_/),
      ...{ status: 'registered', sandbox: true, device_id: expect.stringMatching(/^dev_test_/) },
      receipt_url: expect.stringMatching(/\/r\/test_/),
      fiscal: {
        terminal_id: expect.stringMatching(/^ZZ\d{12}$/),
        verification_url: expect.stringContaining('https://sandbox.invalid/'),
      },
    });
    const path = new URL(receipt.receipt_url ?? '').pathname;
    for (const [format, type] of Object.entries({ html: 'text/html', text: 'text/plain', pdf: 'pdf', png: 'png' })) {
      const shown = await fetch(`${system.gatewayUrls[0]}${path}?format=${format}&lang=en`);
      expect([shown.status, shown.headers.get('content-type')]).toEqual([200, expect.stringContaining(type)]);
      const text = await shown.text();
      if (type.startsWith('text')) expect(text).toContain('NOT FISCAL');
      if (format === 'html') expect(text).toContain('Test receipt');
    }
    const refund = await client.post(`/v1/receipts/${receipt.id}/refunds`, {}, { prefer: 'wait=60' });
    expect(refund.body).toMatchObject({ status: 'registered', sandbox: true, id: expect.stringMatching(/^rcp_test_/) });
    const list = await client.get('/v1/receipts?created_from=2020-01-01T00:00:00Z&created_to=2100-01-01T00:00:00Z');
    expect((list.body as unknown as { data: { id: string }[] }).data.map(({ id }) => id)).toContain(receipt.id);
  });

  test('says so before it is registered', async () => {
    const { id, receipt_url: url } = await sell(tills.away, 'offline_2', 0);
    const page = await fetch(`${system.gatewayUrls[0]}${new URL(url ?? '').pathname}?lang=en`);
    expect(await page.text()).toContain('TEST RECEIPT. NOT A FISCAL RECEIPT');
    await ends(id ?? '', 'registered');
  });
});

describe('forced outcomes', () => {
  test('rejected with each code, by its price', async () => {
    const rejected = [...SANDBOX_PRICES].filter(([, value]) => value.startsWith('rejected_'));
    expect(rejected).toHaveLength(15);
    for (const [price, value] of rejected) {
      const receipt = await sell(tills.plain, price);
      const [status, code] = [receipt.status, receipt.rejection?.code];
      expect([value, status, `rejected_${code}`]).toEqual([value, 'rejected', value]);
    }
    expect(await sell(tills.plain, 'rejected_E-017')).toMatchObject({ status: 'rejected' });
  });

  test('the register refuses because of itself, the receipt waits, and is registered', async () => {
    const receipt = await sell(tills.refusing, 'refused_E-001', 0);
    await until(
      'the register is blocked',
      async () => (await client.get(`/v1/devices/${tills.refusing.deviceId}`)).body as { state?: string },
      ({ state }) => state === 'blocked',
    );
    expect(await ends(receipt.id ?? '', 'registered')).toMatchObject({ fiscal: { evidence: 'answer' } });
  });

  test('the register is offline for a while, and then takes what waits, in order', async () => {
    // Named: a sale without a register goes to another one as soon as this one is known to be away.
    const device = { device_id: tills.away.deviceId };
    const post = async (more: object): Promise<Partial<ReceiptView>> =>
      (await client.post('/v1/receipts', saleOf(tills.away, { ...device, ...more }), { prefer: 'wait=0' })).body;
    const first = await post({ metadata: { sandbox: 'offline_3' } });
    const second = await post({});
    expect([first.status, second.status]).toEqual(['accepted', 'accepted']);
    await until(
      'the register is unreachable',
      async () => (await client.get(`/v1/devices/${tills.away.deviceId}`)).body as { state?: string },
      ({ state }) => state === 'unreachable',
    );
    const [one, two] = [await ends(first.id ?? '', 'registered'), await ends(second.id ?? '', 'registered')];
    expect(two.fiscal?.receipt_seq).toBe((one.fiscal?.receipt_seq ?? 0) + 1);
  });

  test('a lost answer is found by its key: registered once', async () => {
    const { id = '' } = await sell(tills.lost, 'answer_lost', 0);
    expect(await ends(id, 'registered')).toMatchObject({ fiscal: { evidence: 'journal', receipt_seq: 1 } });
    const [kept] = await sql<{ count: number }>(
      system.database,
      'SELECT count(*)::int AS count FROM emulated_documents WHERE device_id = $1',
      [tills.lost.deviceId],
    );
    expect(kept?.count).toBe(1);
  });

  test('unknown, and what a person sends again is registered', async () => {
    const { id = '' } = await sell(tills.doubtful, 'unknown', 0);
    await ends(id, 'unknown');
    const list = await client.get('/v1/operator/unknown');
    const doubtful = (list.body as unknown as { data: { id: string; attempt_id: string }[] }).data;
    const attempt = JSON.stringify(doubtful).match(/att_[0-9a-z]{26}/)?.[0];
    const decision = { decision: 'not_registered', reason: 'the sandbox was asked for it' };
    const decided = await client.post(`/v1/operator/attempts/${attempt}/resolve`, decision);
    expect(decided.status).toBe(200);
    await ends(id, 'registered');
  });

  test('the OFD does not take it for a while', async () => {
    const receipt = await sell(tills.late, 'ofd_backlog_2');
    expect(receipt).toMatchObject({ status: 'registered', ofd: { status: 'pending' } });
    await until(
      'the OFD has it',
      async () => (await client.get(`/v1/receipts/${receipt.id}`)).body.ofd?.status,
      (status) => status === 'sent',
    );
  });

  test('a value that there is not is refused; a live merchant may say what it wants', async () => {
    const { status, body } = await client.post(
      '/v1/receipts',
      saleOf(tills.plain, { metadata: { sandbox: 'ofline_3' } }),
    );
    expect([status, body.errors?.[0]?.pointer]).toEqual([422, '/metadata/sandbox']);
    const live = system.client.saleOf(0, { metadata: { sandbox: 'rejected_E-003' } });
    const { body: receipt } = await system.client.post('/v1/receipts', live, { prefer: 'wait=60' });
    expect(receipt).toMatchObject({ status: 'registered', sandbox: false, id: expect.stringMatching(/^rcp_[0-7]/) });
  });

  test('the table of docs/sandbox.md is the table of the program', () => {
    const page = readFileSync(join(process.cwd(), 'docs', 'sandbox.md'), 'utf8');
    const rows = [...page.matchAll(/^\| `([a-zA-Z0-9_-]+)` \| (\d+) \|/gm)].map(([, value, price]) => [
      Number(price),
      value,
    ]);
    expect(new Map(rows as [number, string][])).toEqual(SANDBOX_PRICES);
  });
});

describe('payments', () => {
  const BY_TOKEN = { token: 'any-token' };

  async function pay(till: Till, payment: Record<string, unknown>, more: Record<string, unknown> = {}): Promise<Paid> {
    const body = saleOf(till, { payment: { method: 'online', provider: 'octo', ...payment }, ...more });
    const { status, body: made } = await client.post('/v1/payments', body, { prefer: 'wait=0' });
    expect([payment, [200, 201, 202].includes(status)]).toEqual([payment, true]);
    const {
      id,
      receipt,
      next_action: next,
    } = made as unknown as { id: string; receipt: { id: string }; next_action: unknown };
    return { id, receiptId: receipt.id, next };
  }

  const paymentIs = (id: string, wanted: string): Promise<unknown> =>
    until(
      `${id} is ${wanted}`,
      async () => (await client.get(`/v1/payments/${id}`)).body as { status?: string },
      ({ status }) => status === wanted,
    );

  beforeAll(async () => {
    expect(await client.post('/v1/provider-accounts', { provider: 'octo' })).toMatchObject({ status: 201 });
  });

  test.each([
    ['token', BY_TOKEN, { type: 'none' }],
    ['qr_code', { qr_code: '123456789' }, { type: 'none' }],
    ['phone', { phone: '998901234567' }, { type: 'push' }],
    ['page', {}, { type: 'redirect', url: expect.stringMatching(/^https:\/\/sandbox\.invalid\//) }],
  ])('by %s: collected, registered, refunded', async (_way, given, action) => {
    const { id, receiptId, next } = await pay(tills.plain, given);
    expect(next).toEqual(action);
    await paymentIs(id, 'captured');
    expect(await ends(receiptId, 'registered')).toMatchObject({ sandbox: true });
    const refund = await client.post(`/v1/receipts/${receiptId}/refunds`, {}, { prefer: 'wait=60' });
    expect(refund.body).toMatchObject({ status: 'registered' });
    await paymentIs(id, 'refunded');
  });

  test('declined, by its value and by its price, in each way of paying', async () => {
    const metadata = { sandbox: 'payment_declined' };
    for (const given of [BY_TOKEN, { qr_code: '123456789' }, { phone: '998901234567' }, {}]) {
      const { id, receiptId } = await pay(tills.plain, given, { metadata });
      await paymentIs(id, 'declined');
      await ends(receiptId, 'cancelled');
    }
    const items = [{ name: sandbox.goods[0], price: 100_061, qty: 1 }];
    await paymentIs((await pay(tills.plain, BY_TOKEN, { items })).id, 'declined');
  });

  test('the hold has ended: nothing is registered, and the money is released', async () => {
    const { id, receiptId } = await pay(tills.plain, BY_TOKEN, { metadata: { sandbox: 'hold_expired' } });
    await paymentIs(id, 'voided');
    expect(await ends(receiptId, 'cancelled')).not.toHaveProperty('fiscal.fiscal_sign');
    const items = [{ name: sandbox.goods[0], price: 100_062, qty: 1 }];
    await paymentIs((await pay(tills.plain, BY_TOKEN, { items })).id, 'voided');
  });

  test('a register that refuses the receipt releases the money', async () => {
    const { id, receiptId } = await pay(tills.plain, BY_TOKEN, { metadata: { sandbox: 'rejected_E-003' } });
    await ends(receiptId, 'rejected');
    await paymentIs(id, 'voided');
  });

  test('nothing leads to a real provider: no setting, no address in the row, no call from outside', async () => {
    const provider = new SilentServer();
    const [url = ''] = await provider.listen(1);
    const headers = { 'content-type': 'application/json' };
    try {
      for (const input of [{ settings: { api_url: url } }, { settings: { secret: 's' } }, { sources: ['10.0.0.0/8'] }])
        expect((await client.post('/v1/provider-accounts', { provider: 'click', ...input })).status).toBe(422);
      const account = (await client.post('/v1/provider-accounts', { provider: 'payme' })).body.id ?? '';
      const body = JSON.stringify({ settings: { api_url: url } });
      expect((await client.call('PATCH', `/v1/provider-accounts/${account}`, { body, headers })).status).toBe(422);
      const values = JSON.stringify({ api_url: url, checkout_url: url });
      const change = `UPDATE provider_accounts SET settings = jsonb_set(settings, '{values}', $1::jsonb) WHERE merchant_id = $2`;
      await sql(system.database, change, [values, sandbox.merchantId]);
      await paymentIs((await pay(tills.plain, { provider: 'payme', ...BY_TOKEN })).id, 'captured');
      expect(provider.connections).toBe(0);
    } finally {
      await provider.close();
    }
    const [known] = await sql<{ id: string }>(
      system.database,
      `SELECT id FROM provider_accounts WHERE provider = 'payme' AND merchant_id = $1`,
      [sandbox.merchantId],
    );
    const call = { id: 1, method: 'CheckPerformTransaction', params: { amount: 1, account: {} } };
    const inbound = await fetch(`${system.gatewayUrls[0]}/v1/providers/payme/${known?.id}`, {
      method: 'POST',
      headers: { ...headers, authorization: `Basic ${Buffer.from('Paycom:').toString('base64')}` },
      body: JSON.stringify(call),
    });
    expect(inbound.status).toBe(404);
    const forged = `INSERT INTO emulated_payments (payment_id, merchant_id, status, amount_tiyin) VALUES ('pay_1', $1, 'captured', 1)`;
    await expect(sql(system.database, forged, [system.merchant.merchantId])).rejects.toThrow(/check constraint/);
  });
});

describe('nothing leads to a real register', () => {
  const documents = async (): Promise<unknown> =>
    (await fetch(`${system.registerUrls[0]}/fm/info`, { headers: { 'x-api-key': system.registerApiKey } })).json();

  test('by the API: no address, no key, no enrolment, no live register that is emulated', async () => {
    const way = { base_url: system.registerUrls[0], api_key: system.registerApiKey };
    for (const body of [
      { transport: 'http', ...way },
      { transport: 'link', api_key: 'x' },
      { transport: 'emulated', ...way },
      way,
    ]) {
      const { status } = await client.post('/v1/devices', { branch_id: 'shop', name: 'x', ...body });
      expect([body, status]).toEqual([body, 422]);
    }
    const { deviceId } = tills.plain;
    const patch = (body: unknown) =>
      client.call('PATCH', `/v1/devices/${deviceId}`, {
        body: JSON.stringify(body),
        headers: { 'content-type': 'application/json' },
      });
    expect([(await patch(way)).status, (await patch({ api_key: 'x' })).status]).toEqual([422, 422]);
    expect((await client.post(`/v1/devices/${deviceId}/enrolments`, {})).status).toBe(409);
    await system.client.post('/v1/branches', { code: 'shop', name: 'Shop' });
    const live = { branch_id: 'shop', name: 'x', transport: 'emulated' };
    expect((await system.client.post('/v1/devices', live)).status).toBe(422);
  });

  test('by the database: modes stay, and the owner writes no other device', async () => {
    const { merchantId } = sandbox;
    const live = system.merchant;
    const { deviceId } = tills.plain;
    const refused: [string, unknown[]][] = [
      [`UPDATE merchants SET mode = 'live' WHERE id = $1`, [merchantId]],
      [`UPDATE merchants SET mode = 'sandbox' WHERE id = $1`, [live.merchantId]],
      [`UPDATE merchants SET id = 'mer_test_x', mode = 'sandbox' WHERE id = $1`, [live.merchantId]],
      [`UPDATE devices SET transport = 'http', base_url = $2 WHERE id = $1`, [deviceId, system.registerUrls[0]]],
      [`UPDATE devices SET base_url = $2 WHERE id = $1`, [deviceId, system.registerUrls[0]]],
      [`UPDATE devices SET transport = 'link' WHERE id = $1`, [deviceId]],
      [`UPDATE devices SET merchant_id = $2 WHERE id = $1`, [live.tills[0]?.deviceId, merchantId]],
      [`INSERT INTO link_keys (id, device_id, public_key) VALUES ('lnk_x', $1, '\\x00')`, [deviceId]],
      [`INSERT INTO link_enrolments (code_hash, device_id, expires_at) VALUES ('\\x00', $1, now())`, [deviceId]],
    ];
    for (const [statement, values] of refused)
      await expect(sql(system.database, statement, values)).rejects.toThrow(/for ever|violates check constraint/);
  });

  test('by the relay: even with an address in the row nothing is called', async () => {
    const before = await documents();
    await sql(
      system.database,
      `ALTER TABLE devices DROP CONSTRAINT devices_of_sandboxes_are_emulated;
       UPDATE devices SET transport = 'http', base_url = '${system.registerUrls[0]}' WHERE id = '${tills.plain.deviceId}'`,
    );
    const receipt = await sell(tills.plain, 112_000);
    expect(receipt).toMatchObject({ status: 'registered', fiscal: { terminal_id: expect.stringMatching(/^ZZ/) } });
    expect(await documents()).toEqual(before);
  });
});

test('nothing leads to a buyer: no message account, and a message that is there nevertheless ends', async () => {
  const settings = { host: '127.0.0.1', port: '2525', security: 'none', from_address: 'chek@shop.example' };
  const { status, body } = await client.post('/v1/message-accounts', { provider: 'smtp', settings });
  expect([status, body.errors?.[0]]).toEqual([422, expect.objectContaining({ pointer: '/provider' })]);
  const { merchantId } = sandbox;
  const mail = await MailServer.start();
  try {
    const sealed = seal('{}', messageCredentialsOwner('mac_x'), parseKeyring(system.secretsKey));
    const values = { values: { ...settings, port: String(mail.port) }, secrets: [] };
    await sql(
      system.database,
      `INSERT INTO message_accounts (id, merchant_id, channel, provider, name, settings, credentials_sealed)
       VALUES ('mac_x', $1, 'email', 'smtp', 'x', $2, $3)`,
      [merchantId, JSON.stringify(values), sealed],
    );
    const customer = { email: 'buyer@example.uz' };
    const sale = saleOf(tills.late, { customer, notify: { channels: ['email'] } });
    const { body: receipt } = await client.post('/v1/receipts', sale, { prefer: 'wait=60' });
    expect(receipt).toMatchObject({ status: 'registered' });
    const rows = await until(
      'the message has ended',
      () =>
        sql(system.database, 'SELECT state, reason, attempt_count FROM messages WHERE merchant_id = $1', [merchantId]),
      ([row]) => row?.['state'] === 'failed',
    );
    expect(rows).toEqual([{ state: 'failed', reason: 'sandbox', attempt_count: 0 }]);
    expect(mail.letters).toEqual([]);
  } finally {
    await mail.stop();
  }
});
