// Promise: what is refunded never exceeds what was sold, goes to the module that sold, and names its sale to the second.
import 'reflect-metadata';
import pg from 'pg';
import { newId } from '#runtime';
import { until } from '../../../../../libs/runtime/src/testing/until.js';
import { ALL_MERCHANTS, CatalogNotices } from '../../goods/catalog/catalog-notices.js';
import { SalesFixture, SIGN, type SalesAnswer } from '../testing/sales-fixture.js';
import type { AcceptedRefund, PayBack } from './accepted-refund.js';
import { RefundReceipt, type CreatedRefund } from './refund-receipt.js';

let fixture: SalesFixture;

beforeAll(async () => {
  fixture = await SalesFixture.start();
});

afterAll(() => fixture?.stop());

const outcome = ({ status, body }: SalesAnswer): string => `${status} ${body.code ?? body.status}`;

describe('a refund', () => {
  test('without a body takes back all that is left, as a receipt of its own', async () => {
    const items = [fixture.item('bread', 104, '0.3', { sku: 'B1' }), fixture.item('bread', 500, 2, { discount: 100 })];
    const customer = { phone: '998901234567' };
    const saleId = await fixture.sell(items, { customer, payment: { method: 'mixed', cash: 331, card: 600 } });
    const first = await fixture.refund(saleId, { lines: [{ line: 1, qty: 0.1 }] });
    expect(outcome(first)).toBe('202 accepted');
    const { status, headers, body } = await fixture.refund(saleId);
    expect(status).toBe(202);
    expect(headers.get('location')).toBe(`/v1/receipts/${body.id}`);
    expect(body).toMatchObject({
      type: 'refund',
      refund_of: saleId,
      device_id: fixture.device.deviceId,
      customer,
      items: [
        { line: 1, original_line: 1, sku: 'B1', qty: 0.2, price: 104, total: 21, vat: 2 },
        { line: 2, original_line: 2, qty: 2, discount: 100, total: 900 },
      ],
      total: 921,
      payment: { method: 'mixed' },
    });
    expect(body.payment.cash + first.body.payment.cash).toBe(331);
    expect(body.payment.card + first.body.payment.card).toBe(600);
    const sale = await fixture.ask('GET', `/v1/receipts/${saleId}`);
    expect(sale.body).toMatchObject({ refund_of: null, refunded: { total: 931, complete: true } });
    const list = await fixture.ask('GET', `/v1/receipts/${saleId}/refunds?limit=1`);
    expect(list.body).toMatchObject({ data: [{ id: first.body.id }], left: { total: 0, vat_total: 0 } });
    const next = await fixture.ask('GET', `/v1/receipts/${saleId}/refunds?limit=1&cursor=${list.body.next_cursor}`);
    expect(next.body).toMatchObject({ data: [{ id: body.id, refund_of: saleId }], next_cursor: null });
    expect(outcome(await fixture.refund(saleId))).toBe('409 nothing_left');
    expect(await fixture.gateway.events(body.id)).toEqual([
      { type: 'refund.accepted', data: { receipt_id: body.id, refund_of: saleId } },
    ]);
  });

  test('names its sale exactly as the link does, and goes to the terminal that sold', async () => {
    const saleId = await fixture.sell([fixture.item('bread', 1_000, 1)]);
    const { body } = await fixture.refund(saleId);
    const { document, lanePlace } = await fixture.gateway.receipt(body.id);
    expect(lanePlace).not.toBeNull();
    // The link's `c` is 2026-01-02 08:04:05, whatever the registration's time on record is.
    expect(document).toMatchObject({
      refundInfo: { terminalId: fixture.device.terminalId, dateTime: '20260102T080405', fiscalSign: SIGN },
    });
  });

  test('of marked goods carries the labels of the pieces that come back', async () => {
    const saleId = await fixture.sell([fixture.item('water', 1_000, 3, { labels: ['L1', 'L2', 'L3'] })]);
    const { body } = await fixture.refund(saleId, { lines: [{ line: 1, qty: 1, labels: ['L2'] }] });
    expect(body.items[0]?.labels).toEqual(['L2']);
    const rest = await fixture.refund(saleId);
    expect(rest.body.items[0]?.labels).toEqual(['L1', 'L3']);
  });

  test('returns the money as requested, within what was paid', async () => {
    const payment = { method: 'mixed', cash: 300, card: 700 };
    const saleId = await fixture.sell([fixture.item('bread', 1_000, 1)], { payment });
    const refundOf = async (sum: number, back: object): Promise<SalesAnswer> =>
      fixture.refund(saleId, { lines: [{ line: 1, sum }], payment: back });
    const cash = await refundOf(200, { method: 'cash' });
    expect(cash.body.payment).toEqual({ method: 'cash', provider: null, cash: 200, card: 0 });
    expect(outcome(await refundOf(200, { method: 'cash' }))).toBe('422 exceeds_left');
    expect(outcome(await refundOf(200, { method: 'mixed', cash: 100, card: 101 }))).toBe('422 payment_mismatch');
    const mixed = await refundOf(200, { method: 'mixed', cash: 50, card: 150 });
    expect(mixed.body.payment).toMatchObject({ cash: 50, card: 150 });
    expect((await fixture.refund(saleId)).body.payment).toMatchObject({ cash: 50, card: 550 });
  });
});

test('422 in a sandbox for a metadata.sandbox that there is not; a live merchant may say what it wants', async () => {
  const { gateway } = fixture;
  const id = newId('mer_test');
  const branchId = id.replace('mer_', 'brn_');
  const deviceId = newId('dev_test');
  const terminalId = 'ZZ000000000001';
  await gateway.prisma.merchant.create({ data: { id, code: id, name: 'S', tin: '300000000', mode: 'sandbox' } });
  await gateway.prisma.branch.create({ data: { id: branchId, merchantId: id, code: 'main', name: 'Main' } });
  await gateway.prisma.device.create({
    data: {
      ...{ id: deviceId, merchantId: id, branchId, name: 'Till', transport: 'emulated', terminalId, state: 'online' },
      apiKeySealed: new Uint8Array(1),
    },
  });
  const fiscal = { receiptSeq: 1, sign: SIGN };
  const sandboxSale = await gateway.createReceipt(id, { deviceId, terminalId }, { status: 'registered', fiscal });
  const token = await gateway.createToken(id, ['refunds:write']);
  const refund = (sandbox: string): Promise<SalesAnswer> =>
    fixture.ask('POST', `/v1/receipts/${sandboxSale}/refunds`, { metadata: { sandbox } }, { token });
  const refused = await refund('rejected_E-3');
  expect(`${outcome(refused)} ${refused.body.errors[0]?.pointer}`).toBe('422 invalid_value /metadata/sandbox');
  expect(outcome(await refund('rejected_E-003'))).toBe('202 accepted');
  const saleId = await fixture.sell([fixture.item('bread', 1_000, 1)]);
  expect(outcome(await fixture.refund(saleId, { metadata: { sandbox: 'rejected_E-3' } }))).toBe('202 accepted');
});

test('422 for a part whose rest no unit price could say; all of it can be taken back', async () => {
  const saleId = await fixture.sell([fixture.item('bread', Number.MAX_SAFE_INTEGER, '0.002')]);
  const part = await fixture.refund(saleId, { lines: [{ line: 1, sum: 1 }] });
  expect(`${outcome(part)} ${part.body.errors[0]?.pointer}`).toBe('422 not_divisible /lines/0/sum');
  expect(outcome(await fixture.refund(saleId))).toBe('202 accepted');
});

describe('a refund of goods that became something else since the sale', () => {
  const goods = { units: 796, name: {}, packages: [{ code: '1', name: 'шт' }], vatPercents: [0, 12], version: 1 };
  const asSold = { ...goods, marked: false, cashAllowed: true, active: true };

  test.each<[string, string, object, string]>([
    ['marked', '01905001001000091', { marked: true }, 'E-004'],
    ['without the package', '01905001001000092', { packages: [{ code: '2', name: 'шт' }] }, 'E-014'],
    ['barred from cash', '01905001001000093', { cashAllowed: false }, 'E-003'],
  ])('%s: wholly or in part, as it was sold', async (_became, spic, change, ofSale) => {
    const { prisma } = fixture.gateway;
    await prisma.classifierEntry.create({ data: { ...asSold, spic } });
    const items = [fixture.item('bread', 1_000, '2.5', { spic, package_code: '1' })];
    const saleId = await fixture.sell(items);
    await prisma.classifierEntry.update({ where: { spic }, data: change });
    await fixture.gateway.app.get(CatalogNotices, { strict: false }).publish(ALL_MERCHANTS);
    const { body } = await until(
      'no such sale is taken any more',
      () => fixture.ask('POST', '/v1/receipts/validate', fixture.saleOf(items)),
      ({ status }) => status === 422,
    );
    expect(body.errors[0]?.code).toBe(ofSale);
    expect(outcome(await fixture.refund(saleId, { lines: [{ line: 1, qty: '0.3' }] }))).toBe('202 accepted');
    expect(outcome(await fixture.refund(saleId, { lines: [{ line: 1, sum: 500 }] }))).toBe('202 accepted');
    expect(outcome(await fixture.refund(saleId))).toBe('202 accepted');
    expect(await fixture.left(saleId)).toMatchObject({ total: 0, vat_total: 0 });
  });
});

describe('refused, with what is left:', () => {
  let saleId: string;

  beforeAll(async () => {
    const items = [fixture.item('bread', 1_000, 2), fixture.item('water', 500, 2, { labels: ['P1', 'P2'] })];
    saleId = await fixture.sell(items);
  });

  test.each<[string, object, string]>([
    ['a quantity too large', { lines: [{ line: 1, qty: '2.001' }] }, '422 exceeds_left /lines/0/qty'],
    ['a sum too large', { lines: [{ line: 1, sum: 2_001 }] }, '422 exceeds_left /lines/0/sum'],
    ['no such line', { lines: [{ line: 3, qty: 1 }] }, '422 line_unknown /lines/0/line'],
    [
      'a line twice',
      {
        lines: [
          { line: 1, qty: 1 },
          { line: 1, qty: 1 },
        ],
      },
      '422 duplicate /lines/1/line',
    ],
    ['neither quantity nor sum', { lines: [{ line: 1 }] }, '422 required /lines/0/qty'],
    ['quantity and sum', { lines: [{ line: 1, qty: 1, sum: 5 }] }, '422 invalid_value /lines/0/sum'],
    ['no labels', { lines: [{ line: 2, qty: 1 }] }, '422 required /lines/0/labels'],
    ['a foreign label', { lines: [{ line: 2, qty: 1, labels: ['P9'] }] }, '422 label_not_left /lines/0/labels'],
    ['too few labels', { lines: [{ line: 2, qty: 2, labels: ['P1'] }] }, '422 E-017 /lines/0/labels'],
    ['a sum of pieces', { lines: [{ line: 2, sum: 5 }] }, '422 not_divisible /lines/0/sum'],
    ['no lines', { lines: [] }, '422 too_few /lines'],
    ['a sum of 0', { lines: [{ line: 1, sum: 0 }] }, '422 out_of_range /lines/0/sum'],
    ['a quantity of 0', { lines: [{ line: 1, qty: 0 }] }, '422 invalid_quantity /lines/0/qty'],
    ['an unknown field', { amount: 5 }, '422 unknown_field /amount'],
    ['money by card that came in cash', { payment: { method: 'card' } }, '422 exceeds_left /payment'],
    ['an online refund', { payment: { method: 'online' } }, '422 payment_method_unsupported /payment/method'],
    ['a split without its half', { payment: { method: 'mixed', cash: 1 } }, '422 required /payment/card'],
    ['a split of a plain method', { payment: { method: 'cash', cash: 1 } }, '422 invalid_value /payment/cash'],
  ])('%s', async (_what, body, expected) => {
    const before = await fixture.gateway.world();
    const answer = await fixture.refund(saleId, body);
    expect(`${outcome(answer)} ${answer.body.errors[0]?.pointer}`).toBe(expected);
    if (expected.includes('exceeds_left /lines'))
      expect(answer.body.detail).toContain('Left of line 1: 2 (2000 tiyin)');
    if (expected.includes('line_unknown'))
      expect(answer.body.detail).toContain('Left: line 1: 2 (2000 tiyin); line 2: 2 (1000 tiyin).');
    if (expected.includes('label_not_left'))
      expect(answer.body.detail).toContain('Left of line 2: 2 (1000 tiyin), labels P1 P2.');
    expect(await fixture.gateway.world()).toBe(before);
  });

  test('what has no sign, is not registered, is a refund itself, or is another merchant’s', async () => {
    const accepted = await fixture.ask('POST', '/v1/receipts', fixture.saleOf([fixture.item('bread', 100, 1)]));
    expect(outcome(await fixture.refund(accepted.body.id))).toBe('409 receipt_not_registered');
    await fixture.register(accepted.body.id, { sign: null });
    expect(outcome(await fixture.refund(accepted.body.id))).toBe('409 fiscal_sign_missing');
    const advance = fixture.saleOf([fixture.item('bread', 100, 1)], { type: 'advance' });
    const { id: advanceId } = (await fixture.ask('POST', '/v1/receipts', advance)).body;
    await fixture.register(advanceId, { sign: null });
    expect(outcome(await fixture.refund(advanceId))).toBe('409 fiscal_sign_missing');
    const sold = await fixture.sell([fixture.item('bread', 100, 1)]);
    const { id: refundId } = (await fixture.refund(sold)).body;
    await fixture.register(refundId);
    expect(outcome(await fixture.refund(refundId))).toBe('409 refund_of_refund');
    const stranger = await fixture.gateway.createToken(await fixture.gateway.createMerchant(), ['refunds:write']);
    const foreign = await fixture.ask('POST', `/v1/receipts/${saleId}/refunds`, {}, { token: stranger });
    expect(outcome(foreign)).toBe('404 not_found');
    for (const id of [newId('rcp'), 'rcp_1', '%00']) expect(outcome(await fixture.refund(id))).toBe('404 not_found');
    const reader = await fixture.gateway.createToken(fixture.gateway.merchantId, ['receipts:write', 'receipts:read']);
    const unscoped = await fixture.ask('POST', `/v1/receipts/${saleId}/refunds`, {}, { token: reader });
    expect(outcome(unscoped)).toBe('403 insufficient_scope');
  });

  test('a till that takes nothing now, a module that is gone', async () => {
    const { deviceId, terminalId } = fixture.device;
    const { prisma } = fixture.gateway;
    const where = { id: deviceId };
    await prisma.device.update({ where, data: { drainingSince: new Date() } });
    expect(outcome(await fixture.refund(saleId))).toBe('503 no_device');
    await prisma.device.update({ where, data: { drainingSince: null, terminalId: 'UZ999999999999' } });
    expect(outcome(await fixture.refund(saleId))).toBe('409 terminal_gone');
    // Adopted, and not yet met: which module stands there is not known.
    await prisma.device.update({ where, data: { terminalId: null } });
    expect(outcome(await fixture.refund(saleId))).toBe('409 terminal_gone');
    // The module now stands in another till: that one refunds.
    const other = await fixture.gateway.createDevice();
    await prisma.device.update({ where: { id: other.deviceId }, data: { terminalId } });
    const { body } = await fixture.refund(saleId, { lines: [{ line: 1, qty: 1 }] });
    expect(body.device_id).toBe(other.deviceId);
    await prisma.device.update({ where: { id: other.deviceId }, data: { terminalId: other.terminalId } });
    await prisma.device.update({ where, data: { terminalId } });
  });
});

describe('the ledger', () => {
  test('is released by what was rejected or cancelled, and held by what is unknown', async () => {
    const saleId = await fixture.sell([fixture.item('bread', 300, 3)]);
    const take = async (): Promise<string> => (await fixture.refund(saleId, { lines: [{ line: 1, qty: 1 }] })).body.id;
    const [first, second, third] = [await take(), await take(), await take()];
    expect(await fixture.left(saleId)).toMatchObject({ total: 0, lines: [{ qty: 0 }] });
    await fixture.move(first, 'unknown');
    expect(await fixture.left(saleId)).toMatchObject({ total: 0 });
    await fixture.move(second, 'rejected');
    expect(await fixture.left(saleId)).toMatchObject({ total: 300, lines: [{ line: 1, qty: 1, vat: 32 }] });
    const cancelled = await fixture.ask('POST', `/v1/receipts/${third}/cancel`);
    expect(outcome(cancelled)).toBe('200 cancelled');
    expect((await fixture.gateway.events(third)).map(({ type }) => type)).toEqual([
      'refund.accepted',
      'refund.cancelled',
    ]);
    const { body } = await fixture.refund(saleId);
    expect(body).toMatchObject({ total: 600, items: [{ qty: 2 }] });
    expect((await fixture.ask('GET', `/v1/receipts/${saleId}`)).body.refunded).toEqual({ total: 900, complete: true });
  });

  test('50 at once of one line: exactly what is left, and every refusal says so', async () => {
    const saleId = await fixture.sell([fixture.item('bread', 1_007, '1.7')]);
    const asked = Array.from({ length: 50 }, () => fixture.refund(saleId, { lines: [{ line: 1, qty: '0.1' }] }));
    const answers = await Promise.all(asked);
    const taken = answers.filter(({ status }) => status === 202);
    expect(taken).toHaveLength(17);
    const refused = answers.filter(({ status }) => status !== 202);
    expect(new Set(refused.map(outcome))).toEqual(new Set(['409 nothing_left']));
    const sale = await fixture.ask('GET', `/v1/receipts/${saleId}`);
    expect(taken.reduce((sum, { body }) => sum + body.total, 0)).toBe(sale.body.total);
    expect(taken.reduce((sum, { body }) => sum + body.vat_total, 0)).toBe(sale.body.vat_total);
    expect(await fixture.left(saleId)).toEqual({
      ...{ total: 0, vat_total: 0 },
      lines: [{ line: 1, qty: 0, total: 0, vat: 0, labels: [] }],
    });
  });

  test('two gateways that refund at once meet on the sale’s row', async () => {
    const saleId = await fixture.sell([fixture.item('bread', 1_000, 1)]);
    const other = new pg.Client({ connectionString: fixture.gateway.database.ownerUrl });
    await other.connect();
    await other.query('BEGIN');
    await other.query('SELECT 1 FROM receipts WHERE id = $1 FOR NO KEY UPDATE', [saleId]);
    const blocked = await fixture.refund(saleId);
    await other.end();
    expect(outcome(blocked)).toBe('503 service_unavailable');
    expect(outcome(await fixture.refund(saleId))).toBe('202 accepted');
  });
});

describe('idempotency', () => {
  test('200 at once with one key: one refund, and every caller gets it', async () => {
    const saleId = await fixture.sell([fixture.item('bread', 1_000, 5)]);
    const body = { lines: [{ line: 1, qty: 1 }], metadata: { a: 'b' } };
    const ask = (): Promise<SalesAnswer> => fixture.refund(saleId, body, { 'idempotency-key': 'one-refund' });
    const answers = await Promise.all(Array.from({ length: 200 }, ask));
    expect(new Set(answers.map(outcome))).toEqual(new Set(['202 accepted']));
    expect(new Set(answers.map((answer) => answer.body.id)).size).toBe(1);
    expect(answers.filter(({ headers }) => headers.get('idempotency-replayed') === 'true')).toHaveLength(199);
    expect((await fixture.left(saleId)).total).toBe(4_000);
  });

  test('another body, another sale, an external id of a sale: not the same request', async () => {
    const saleId = await fixture.sell([fixture.item('bread', 1_000, 5)], { external_id: 'order-7' });
    const otherId = await fixture.sell([fixture.item('bread', 1_000, 5)]);
    const key = { 'idempotency-key': 'refund-7' };
    const line = (qty: number): object => ({ lines: [{ line: 1, qty }], external_id: 'return-7' });
    const first = await fixture.refund(saleId, line(1), key);
    expect(outcome(await fixture.refund(saleId, line(2), key))).toBe('422 idempotency_mismatch');
    expect(outcome(await fixture.refund(otherId, line(1), key))).toBe('422 idempotency_mismatch');
    expect(outcome(await fixture.refund(saleId, { ...line(1), external_id: 'order-7' }))).toBe(
      '422 idempotency_mismatch',
    );
    // By its external id alone, also when nothing would be left of the sale.
    await fixture.refund(saleId);
    const again = await fixture.refund(saleId, line(1));
    expect([again.status, again.body.id]).toEqual([202, first.body.id]);
  });
});

describe('what goes with a refund', () => {
  test('is in its transaction: what it writes and the refund come together, or neither', async () => {
    const refunds = fixture.gateway.app.get(RefundReceipt, { strict: false });
    const { merchantId } = fixture.gateway;
    const refund = (saleId: string, payBack: PayBack): Promise<CreatedRefund> =>
      refunds.execute({ merchantId, clientId: 'erp', saleId, idempotencyKey: null, body: {}, waitSeconds: 0, payBack });
    const saleId = await fixture.sell([fixture.item('bread', 1_000, 1)], { payment: { method: 'card' } });
    const seen: AcceptedRefund[] = [];
    const { row } = await refund(saleId, async (tx, accepted) => {
      await tx.$executeRaw`
        INSERT INTO events (id, merchant_id, type, subject_id, data)
        VALUES (${newId('evt')}, ${merchantId}, 'refund.hooked', ${accepted.id}, '{}')`;
      seen.push(accepted);
    });
    expect((await fixture.gateway.events(row.id)).map(({ type }) => type)).toContain('refund.hooked');
    expect(seen).toMatchObject([{ id: row.id, saleId, salePaymentId: null, document: { totalTiyin: 1_000 } }]);
    const other = await fixture.sell([fixture.item('bread', 1_000, 1)]);
    const before = await fixture.gateway.world();
    await expect(refund(other, () => Promise.reject(new Error('no way to pay back')))).rejects.toThrow('no way');
    expect(await fixture.gateway.world()).toBe(before);
  });
});
