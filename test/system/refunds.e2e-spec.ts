// Promise: a refund is registered once by the module that sold, linked to its sale, and holds no more than the register took.
import { sql, sqlAgainstTheLaw } from './database.js';
import type { Answer, GatewayClient } from './gateway-client.js';
import { documentsAtOfd, setFaults } from './ground-truth.js';
import { startSystem, type SystemOptions, type TestSystem } from './system.js';
import { until } from '../../libs/runtime/src/testing/until.js';
const SCOPES = ['receipts:write', 'receipts:read', 'refunds:write'] as const;

let system: TestSystem;
let client: GatewayClient;

async function start(options: SystemOptions): Promise<void> {
  system = await startSystem({ scopes: SCOPES, ...options });
  ({ client } = system);
}

async function sell(price: number, qty: number | string, more: Record<string, unknown> = {}): Promise<Answer['body']> {
  const items = [{ name: client.merchant.goods[0], price, qty }];
  const { status, body } = await client.post('/v1/receipts', client.saleOf(0, { items, ...more }));
  expect({ status, body }).toMatchObject({ status: 201 });
  return body;
}

const refund = (saleId: string | undefined, body: object = {}, headers: Record<string, string> = {}): Promise<Answer> =>
  client.post(`/v1/receipts/${saleId}/refunds`, body, headers);

async function eventsOf(id: string | undefined): Promise<string[]> {
  const rows = await sql<{ type: string }>(
    system.database,
    'SELECT type FROM events WHERE subject_id = $1 ORDER BY position',
    [id],
  );
  return rows.map(({ type }) => type);
}

describe('a register with keys', () => {
  beforeAll(() => start({ profile: { sendTimeoutMs: 3_000 } }));

  afterAll(() => system?.stop());

  test('three parts of 104 × 0.3 come back as 10, 11 and 10, and the OFD has them so', async () => {
    const sale = await sell(104, '0.3', { payment: { method: 'mixed', cash: 11, card: 20 } });
    const part = { lines: [{ line: 1, qty: '0.1' }] };
    const parts = [await refund(sale.id, part), await refund(sale.id, part)];
    // Without a body: all that is left.
    parts.push(await client.call('POST', `/v1/receipts/${sale.id}/refunds`, { headers: {} }));
    for (const { status, body } of parts) {
      expect({ status, body }).toMatchObject({
        status: 201,
        body: { type: 'refund', status: 'registered', refund_of: sale.id, device_id: sale.device_id },
      });
      expect(body.fiscal?.terminal_id).toBe(sale.fiscal?.terminal_id);
      expect(await eventsOf(body.id)).toEqual(['refund.accepted', 'refund.registered']);
    }
    expect(parts.map(({ body }) => body.total)).toEqual([10, 11, 10]);
    const documents = (await documentsAtOfd(system)) as unknown as Record<string, unknown>[];
    const refunds = documents.filter(({ type }) => type === 'refund');
    expect(refunds.map(({ cash, card }) => Number(cash) + Number(card))).toEqual([10, 11, 10]);
    expect(refunds.reduce((sum, { cash }) => sum + Number(cash), 0)).toBe(11);
    const more = await refund(sale.id);
    expect(more).toMatchObject({ status: 409, body: { code: 'nothing_left' } });
    const read = await client.get(`/v1/receipts/${sale.id}`);
    expect(read.body.refunded).toEqual({ total: 31, complete: true });
  });

  const rewriteLink = (id: string | undefined, url: string): Promise<void> =>
    sqlAgainstTheLaw(system.database, `UPDATE receipts SET verification_url = '${url}' WHERE id = '${id ?? ''}'`);

  test('what the module refuses is rejected, and everything is left again', async () => {
    const sale = await sell(10_000, 1);
    const url = sale.fiscal?.verification_url ?? '';
    const other = url.replace(/c=\d{14}/, 'c=20200101000000');
    await rewriteLink(sale.id, other);
    const refused = await refund(sale.id);
    expect(refused).toMatchObject({ status: 422, body: { code: 'F-005' } });
    const id = refused.headers.get('location')?.split('/').pop();
    expect(await eventsOf(id)).toEqual(['refund.accepted', 'refund.rejected']);
    expect((await client.get(`/v1/receipts/${sale.id}`)).body.refunded).toEqual({ total: 0, complete: false });
    await rewriteLink(sale.id, url);
    expect(await refund(sale.id)).toMatchObject({ status: 201, body: { total: 10_000 } });
  });

  test('an answer that was lost is found by its key, and the refund made once', async () => {
    const sale = await sell(10_000, 1);
    await setFaults(system, [{ fault: 'drop_answer', next: 1 }]);
    const { body } = await refund(sale.id, {}, { prefer: 'wait=30' });
    expect(body).toMatchObject({ status: 'registered', fiscal: { evidence: 'journal' } });
    const documents = (await documentsAtOfd(system)) as unknown as Record<string, unknown>[];
    expect(documents.filter(({ seq }) => seq === body.fiscal?.receipt_seq)).toHaveLength(1);
    expect(Math.max(...documents.map(({ seq }) => Number(seq)))).toBe(body.fiscal?.receipt_seq);
  });
});

describe('a register that knows only the specification', () => {
  beforeAll(() =>
    start({
      profile: { sendTimeoutMs: 2_000, settleMs: 300, sharing: 'exclusive' },
      registerEnv: { REGISTER_EXTENSIONS: 'off' },
    }),
  );

  afterAll(() => system?.stop());

  test('its counters prove a refund whose answer was lost', async () => {
    const first = await sell(1_000_000, 2);
    await setFaults(system, [{ fault: 'drop_answer', next: 1 }]);
    const { body } = await refund(first.id, { lines: [{ line: 1, qty: 1 }] }, { prefer: 'respond-async' });
    const read = await until(
      'the refund is proven',
      () => client.get(`/v1/receipts/${body.id}`),
      (answer) => !['accepted', 'sending'].includes(answer.body.status ?? ''),
    );
    expect(read.body).toMatchObject({ status: 'registered', fiscal: { evidence: 'counters', fiscal_sign: null } });
    expect((await client.get(`/v1/receipts/${first.id}`)).body.refunded).toEqual({ total: 1_000_000, complete: false });
  });
});
