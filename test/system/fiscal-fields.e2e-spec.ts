// Promise: seller, buyer and wallet of a sale reach the tax office or the sale is refused; and no receipt passes off what did not.
import { documentsAtOfd } from './ground-truth.js';
import { startMoreRegisters, type MoreRegisters } from './more-registers.js';
import { startSystem, type TestSystem } from './system.js';
import { until } from '../../libs/runtime/src/testing/until.js';
import type { GatewayClient } from './gateway-client.js';

const SCOPES = ['receipts:write', 'receipts:read', 'refunds:write', 'devices:admin'];
const SELLER = { tin: '301234567' };
const BUYER = { tin: '309999999', pinfl: '31234567890123' };
const NO_WAIT_TOO_LONG = { prefer: 'wait=60' };

let system: TestSystem;
let plain: MoreRegisters;

beforeAll(async () => {
  system = await startSystem({
    scopes: SCOPES,
    registerEnv: { OFD_SALE_BUDGET_MS: '20000', FM_PAYMENT_TOLERANCE_TIYIN: '10000' },
    // A register is polled as soon as it is there; on a slow machine not much later.
    env: { HEALTH_POLL_MS: '5000' },
  });
  plain = await startMoreRegisters(system, {
    scopes: SCOPES,
    env: { OFD_SALE_BUDGET_MS: '20000', REGISTER_EXTENSIONS: 'off' },
  });
});

afterAll(async () => {
  await plain?.program.end();
  await system?.stop();
});

function saleOf(client: GatewayClient): Record<string, unknown> {
  const { items, ...sale } = client.saleOf(0, { customer: BUYER, payment: { method: 'wallet', provider: 'payme' } });
  return { ...sale, items: (items as object[]).map((item) => ({ ...item, commission: SELLER })) };
}

async function documentOf(terminalId: string | null | undefined): Promise<Record<string, unknown>> {
  const documents = await documentsAtOfd(system);
  const found = documents.filter(({ terminal_id: id }) => id === terminalId).at(-1);
  if (!found) throw new Error(`nothing of ${String(terminalId)} at the OFD`);
  return { ...found };
}

async function pageOf(url: string | undefined): Promise<string> {
  return (await fetch(new URL(`${new URL(url ?? '').pathname}?lang=en`, system.gatewayUrls[0]))).text();
}

test('at a register that takes them they are signed, delivered, answered and printed as fiscal; the refund says the same', async () => {
  const { client } = system;
  const sale = saleOf(client);
  await until(
    'the register is known to take them',
    () => client.post('/v1/receipts/validate', sale),
    ({ status }) => status === 200,
  );
  const { status, body } = await client.post('/v1/receipts', sale, NO_WAIT_TOO_LONG);
  expect({ status, body }).toMatchObject({
    status: 201,
    body: { fiscal: { recorded_fields: ['commission', 'customer', 'payment_provider'], shift_number: 1 } },
  });
  expect(await documentOf(body.fiscal?.terminal_id)).toMatchObject({
    ...{ type: 'sale', customer: BUYER, payment_provider: 'payme' },
    items: [{ commission: { ...SELLER, pinfl: null } }],
  });
  const page = await pageOf(body.receipt_url);
  for (const shown of [
    '<dt>Wallet (payme)</dt>',
    '<dt>Principal’s TIN</dt><dd>301234567</dd>',
    '<dt>Shift No.</dt><dd>1</dd>',
  ])
    expect(page).toContain(shown);
  expect(page).not.toContain('Not part of the fiscal receipt');

  const refund = await client.post(`/v1/receipts/${String(body.id)}/refunds`, {}, NO_WAIT_TOO_LONG);
  expect(refund).toMatchObject({
    status: 201,
    body: { fiscal: { recorded_fields: ['commission', 'customer', 'payment_provider'] } },
  });
  expect(await documentOf(body.fiscal?.terminal_id)).toMatchObject({
    ...{
      type: 'refund',
      customer: BUYER,
      payment_provider: 'payme',
      items: [{ commission: { ...SELLER, pinfl: null } }],
    },
  });
  expect(await pageOf(body.receipt_url)).toContain('<dt>As of</dt>');
});

test('at a specification-only register they are refused, and sold without where the merchant omits them', async () => {
  const { client } = plain;
  const sale = saleOf(client);
  const refused = await client.post('/v1/receipts', sale, NO_WAIT_TOO_LONG);
  expect(refused).toMatchObject({ status: 422, body: { code: 'field_unsupported' } });
  expect(refused.body.errors?.map(({ pointer }) => pointer)).toEqual([
    ...['/items/0/commission', '/customer', '/payment/provider'],
  ]);
  const set = await client.call('PATCH', '/v1/merchant', {
    body: JSON.stringify({ unsupported_fields: 'omit' }),
    headers: { 'content-type': 'application/json' },
  });
  expect(set.status).toBe(200);
  await until(
    'the setting is felt',
    () => client.post('/v1/receipts/validate', sale),
    ({ status }) => status === 200,
  );
  const { status, body } = await client.post('/v1/receipts', sale, NO_WAIT_TOO_LONG);
  expect({ status, body }).toMatchObject({
    status: 201,
    body: { fiscal: { recorded_fields: [], shift_number: null } },
  });
  const document = await documentOf(body.fiscal?.terminal_id);
  for (const field of ['customer', 'payment_provider']) expect(document).not.toHaveProperty(field);
  expect(JSON.stringify(document)).not.toContain('commission');
  const [fiscal = '', aside = ''] = (await pageOf(body.receipt_url)).split('<section class="aside">');
  expect(fiscal).toContain('<dt>Card</dt>');
  for (const unsaid of ['payme', '301234567']) expect(fiscal).not.toContain(unsaid);
  for (const said of ['Not part of the fiscal receipt', 'Wallet (payme)', '301234567']) expect(aside).toContain(said);
});
