// Promise: each receipt of a batch is judged, stored and placed as it would be alone, in the order of the batch.
import 'reflect-metadata';
import { canonicalJson, newId, sha256 } from '#runtime';
import { SalesFixture, type SalesAnswer } from './testing/sales-fixture.js';

let fixture: SalesFixture;

beforeAll(async () => {
  fixture = await SalesFixture.start();
});

afterAll(() => fixture?.stop());

const outcome = ({ status, body }: SalesAnswer): string => `${status} ${body.code ?? body.status}`;

describe('a batch', () => {
  const batch = (receipts: unknown[], headers: Record<string, string> = {}): Promise<SalesAnswer> =>
    fixture.ask('POST', '/v1/receipts/batch', { receipts }, { headers });

  test('each receipt has its own result, in order; sent again, nothing is stored twice', async () => {
    const good = fixture.saleOf([fixture.item('bread', 1_000, 1)], { external_id: 'batch-1' });
    const receipts = [
      good,
      fixture.saleOf([fixture.item('bread', 0, 1)], { external_id: 'batch-2' }),
      fixture.saleOf([fixture.item('bread', 1_000, 1)]),
      { items: 'no list', external_id: 'batch-4' },
      { ...good, external_id: 'batch-5' },
      { ...good, payment: { method: 'card' } },
    ];
    const { status, body } = await batch(receipts, { 'accept-language': 'ru' });
    expect(status).toBe(200);
    const seen = body.data.map((entry) => [
      entry.external_id,
      entry.status,
      entry.problem?.code ?? entry.receipt?.status,
    ]);
    expect(seen).toEqual([
      ['batch-1', 202, 'accepted'],
      ['batch-2', 422, 'E-012'],
      [null, 422, 'required'],
      ['batch-4', 422, expect.any(String)],
      ['batch-5', 202, 'accepted'],
      // The same external_id with another body; whichever of the two came first has it.
      ['batch-1', 422, 'idempotency_mismatch'],
    ]);
    expect(body.data[1]?.problem?.errors).toMatchObject([
      { pointer: '/items/0/price', detail: expect.stringMatching(/Цена/) },
    ]);
    const again = await batch([receipts[0], receipts[4]]);
    expect(again.body.data.map((entry) => [entry.receipt?.id, entry.replayed])).toEqual([
      [body.data[0]?.receipt?.id, true],
      [body.data[4]?.receipt?.id, true],
    ]);
    // It is the very receipt that a single call knows by its external_id.
    expect((await fixture.ask('POST', '/v1/receipts', good)).body.id).toBe(body.data[0]?.receipt?.id);
  });

  test('a receipt is the same as alone, whatever its metadata is called, and costs no other', async () => {
    const sale = (external_id: string, metadata: object): object =>
      fixture.saleOf([fixture.item('bread', 1_000, 1)], { external_id, metadata });
    const metadata = { valueOf: '12', toString: 'x', constructor: 'lego', a: 'b' };
    const alone = await fixture.ask('POST', '/v1/receipts', sale('apart-1', metadata));
    expect([outcome(alone), alone.body.metadata]).toEqual(['202 accepted', metadata]);
    let deep: unknown = 'x';
    for (let depth = 0; depth < 20; depth += 1) deep = { deep };
    const { status, body } = await batch([
      sale('apart-1', metadata),
      sale('apart-2', metadata),
      { ...sale('apart-3', {}), payment: { method: 'cash', constructor: 'lego' } },
      sale('apart-4', { deep }),
      sale('apart-5', {}),
    ]);
    expect(status).toBe(200);
    expect(body.data.map((entry) => [entry.status, entry.problem?.code ?? entry.receipt?.metadata])).toEqual([
      [202, metadata],
      [202, metadata],
      [422, 'unknown_field'],
      [422, 'too_deep'],
      [202, {}],
    ]);
    expect(body.data.map((entry) => entry.replayed)).toEqual([true, false, false, false, false]);
    expect(body.data[0]?.receipt?.id).toBe(alone.body.id);
  });

  test('stands in the lane in its own order, not in that of its names or of what each took to prepare', async () => {
    const { prisma, merchantId } = fixture.gateway;
    const branchId = merchantId.replace('mer_', 'brn_');
    // Known to no cache yet, so that these are prepared last.
    const data = ['ben', 'eva'].map((code) => ({ id: newId('csh'), merchantId, branchId, code, name: code }));
    await prisma.cashier.createMany({
      data: data.map((each) => ({ ...each, defaultDeviceId: fixture.device.deviceId })),
    });
    const names = Array.from({ length: 120 }, (_, index) => `placed-${index + 1}`);
    const { body } = await batch(
      names.map((external_id, index) => ({
        ...fixture.saleOf([fixture.item('bread', 100, 1)], { external_id }),
        ...(index % 60 < 3 && { cashier_id: index < 60 ? 'ben' : 'eva' }),
      })),
    );
    expect(new Set(body.data.map(({ status }) => status))).toEqual(new Set([202]));
    const stored = await prisma.$queryRaw<{ external_id: string }[]>`
      SELECT external_id FROM receipts WHERE external_id LIKE 'placed-%' ORDER BY lane_place`;
    expect(stored.map(({ external_id }) => external_id)).toEqual(names);
  });

  test('of 500 receipts and more than 256 KiB; not of 501, none or something else', async () => {
    const name = 'x'.repeat(400);
    const receipts = Array.from({ length: 500 }, (_, index) =>
      fixture.saleOf([fixture.item('bread', 100, 1, { name }), fixture.item('bread', 100, 1, { name })], {
        external_id: `large-${index}`,
      }),
    );
    expect(JSON.stringify(receipts).length).toBeGreaterThan(300 * 1024);
    const { status, body } = await batch(receipts);
    expect(status).toBe(200);
    expect(new Set(body.data.map((entry) => entry.status))).toEqual(new Set([202]));
    expect(new Set(body.data.map((entry) => entry.receipt?.id)).size).toBe(500);
    expect(outcome(await batch([...receipts, receipts[0]]))).toBe('422 too_many');
    expect(outcome(await batch([]))).toBe('422 too_few');
    expect(outcome(await batch(['receipt']))).toBe('422 invalid_type');
    expect(outcome(await batch([{ items: 'x'.repeat(5 * 1024 * 1024) }]))).toBe('413 payload_too_large');
    const large = fixture.saleOf([fixture.item('bread', 1, 1)], { metadata: { a: 'x'.repeat(300 * 1024) } });
    expect(outcome(await fixture.ask('POST', '/v1/receipts', large))).toBe('413 payload_too_large');
  });
});

describe('a receipt of a batch that is larger than a single call may be', () => {
  const saleOf = (lines: number, externalId: string): Record<string, unknown> => {
    const items = Array.from({ length: lines }, (_, line) => {
      const labels = Array.from({ length: 300 }, (_code, n) => `0104780012345678215${line}x${n}`.padEnd(31, 'x'));
      return fixture.item('water', 1_000, 300, { labels });
    });
    return fixture.saleOf(items, { external_id: externalId });
  };

  test('413 as its own result; the others are accepted', async () => {
    const receipts = [saleOf(110, 'wide-1'), saleOf(20, 'wide-2')];
    const { status, body } = await fixture.ask('POST', '/v1/receipts/batch', { receipts });
    expect(status).toBe(200);
    expect(body.data).toMatchObject([
      { external_id: 'wide-1', status: 413, receipt: null, problem: { code: 'payload_too_large' } },
      { external_id: 'wide-2', status: 202, problem: null },
    ]);
    const { body: found } = await fixture.ask('GET', '/v1/receipts?external_id=wide-1');
    expect(found.data).toEqual([]);
  });

  test('is read where an earlier release has stored it', async () => {
    const { body: small } = await fixture.ask('POST', '/v1/receipts', saleOf(1, 'narrow'));
    const sale = saleOf(30, 'wide-3');
    const id = newId('rcp');
    await fixture.gateway.prisma.$executeRaw`
      INSERT INTO receipts (id, external_id, body_hash, merchant_id, client_id, operation, type, status, lane_place,
                            device_id, branch_id, cashier_id, document, total_tiyin, vat_total_tiyin)
      SELECT ${id}, 'wide-3', ${sha256(canonicalJson(sale))}, merchant_id, client_id, operation, type, status,
             nextval('lane_place_seq'), device_id, branch_id, cashier_id, document, total_tiyin, vat_total_tiyin
        FROM receipts WHERE id = ${small.id}`;
    const { body } = await fixture.ask('POST', '/v1/receipts/batch', { receipts: [sale] });
    expect(body.data).toMatchObject([{ status: 202, replayed: true, receipt: { id } }]);
  });
});
