// Promise: what screens show is true, whole, bounded and the merchant's own.
import pg from 'pg';
import { encodeTime } from 'ulid';
import { newId } from '#runtime';
import { latencyCounts } from '../../../../device-relay/src/lanes/latency-minutes.js';
import { writeReceipt } from '../../receipts/search/testing/receipt-rows.js';
import { OperatorFixture, type TestAttempt } from '../testing/operator-fixture.js';
import { awayFromMidnight, MIDNIGHT_TIMEOUT_MS } from '../testing/tashkent-day.js';

let fixture: OperatorFixture;
let merchantId: string;
let token: string;

const SCOPES = [
  'receipts:read',
  'payments:write',
  'webhooks:admin',
  'catalog:read',
  'operator:resolve',
  'devices:admin',
];

beforeAll(async () => {
  fixture = await OperatorFixture.start();
});
beforeEach(async () => {
  merchantId = fixture.merchantId = await fixture.createMerchant();
  token = await fixture.createToken(merchantId, SCOPES);
});
afterAll(() => fixture?.stop());

interface Listed {
  status: number;
  body: {
    data: { id: string | number; kind: string; at: string; status: string | null; data: Record<string, unknown> }[];
    next_cursor: string | null;
    errors: { pointer: string }[];
    code: string;
    deliveries: number;
    [field: string]: unknown;
  };
}

async function get(path: string, by = token): Promise<Listed> {
  const response = await fetch(`${fixture.base}${path}`, { headers: { authorization: `Bearer ${by}` } });
  return { status: response.status, body: (await response.json()) as Listed['body'] };
}

async function post(path: string, body: unknown): Promise<Listed> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const response = await fetch(`${fixture.base}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  return { status: response.status, body: (await response.json()) as Listed['body'] };
}

async function allPages(path: string): Promise<Listed['body']['data']> {
  const entries: Listed['body']['data'] = [];
  for (let cursor = ''; ;) {
    const { status, body } = await get(`${path}${cursor}`);
    expect(status).toBe(200);
    entries.push(...body.data);
    if (body.next_cursor === null) return entries;
    cursor = `&cursor=${encodeURIComponent(body.next_cursor)}`;
  }
}

async function event(
  type: string,
  subjectId: string,
  data: object,
  of = merchantId,
): Promise<{ id: string; position: bigint }> {
  const id = newId('evt');
  const [row] = await fixture.prisma.$queryRaw<{ position: bigint }[]>`
    INSERT INTO events (id, merchant_id, type, subject_id, data)
    VALUES (${id}, ${of}, ${type}, ${subjectId}, ${JSON.stringify(data)}::jsonb) RETURNING position`;
  return { id, position: row?.position ?? 0n };
}

async function endpoint(of = merchantId): Promise<string> {
  const id = newId('whk');
  // In the hands of another gateway: this one would give deliveries up, as there is no secret.
  const others = { leaseUntil: new Date(Date.now() + 3_600_000), events: ['nothing.at_all'] };
  const data = { id, merchantId: of, url: 'https://8.8.8.8/hook/secret-path', ...others };
  await fixture.prisma.webhookEndpoint.create({ data });
  return id;
}

interface DeliveryRow {
  webhookId: string;
  state?: string;
  type?: string;
  subjectId?: string;
  httpStatus?: number | null;
  eventOf?: { id: string; position: bigint };
  of?: string;
}

async function delivery({
  webhookId,
  state = 'failed',
  httpStatus = 503,
  of = merchantId,
  ...more
}: DeliveryRow): Promise<string> {
  const { type = 'receipt.registered', subjectId = newId('rcp') } = more;
  const its = more.eventOf ?? (await event(type, subjectId, { receipt_id: subjectId }, of));
  const id = newId('dlv');
  await fixture.prisma.$executeRaw`
    INSERT INTO webhook_deliveries (id, merchant_id, endpoint_id, event_position, event_id, type, subject_id, url, state,
                                    attempt_count, last_http_status, due_at, finished_at)
    VALUES (${id}, ${of}, ${webhookId}, ${its.position}, ${its.id}, ${type}, ${subjectId}, 'https://8.8.8.8/hook/secret-path',
            ${state}::delivery_state, 1, ${httpStatus}, now() + interval '1 hour', CASE WHEN ${state} <> 'pending' THEN now() END)`;
  await fixture.prisma.$executeRaw`
    INSERT INTO webhook_attempts (delivery_id, number, duration_ms, outcome, http_status, answer)
    VALUES (${id}, 1, 12, 'refused_by_receiver', ${httpStatus}, 'no')`;
  return id;
}

async function payment(
  receiptId: string,
  more: { state?: string; provider?: string; amount?: number; ref?: string } = {},
  of = merchantId,
): Promise<string> {
  const { state = 'captured', provider = 'payme', amount = 112_000, ref = newId('pay') } = more;
  const id = newId('pay');
  const account = of.replace('mer_', 'pac_');
  await fixture.prisma.$executeRaw`
    INSERT INTO provider_accounts (id, merchant_id, provider, name, settings, credentials_sealed)
    VALUES (${account}, ${of}, 'payme', 'P', '{}', '\\x00'::bytea) ON CONFLICT DO NOTHING`;
  await fixture.prisma.$executeRaw`
    INSERT INTO payments (id, merchant_id, account_id, receipt_id, provider, flow, state, amount_tiyin, provider_ref, expires_at)
    VALUES (${id}, ${of}, ${account}, ${receiptId}, ${provider}, 'inbound', ${state}::payment_state, ${amount}::bigint, ${ref}, now())`;
  return id;
}

describe('the timeline', () => {
  test('is whole, in one order, page by page; what is secret of a receiver is left out', async () => {
    const attempt: TestAttempt = await fixture.createAttempt({ outcome: { kind: 'unclear', reason: 'timeout' } });
    const { receiptId } = attempt;
    const paymentId = await payment(receiptId);
    await fixture.prisma.$executeRaw`
      INSERT INTO payment_calls (payment_id, call, lease_id, finished_at, outcome)
      VALUES (${paymentId}, 'status', 'l', now(), '{"kind": "refused", "code": "-5", "detail": "no such"}')`;
    await fixture.prisma.$executeRaw`
      INSERT INTO provider_callbacks (account_id, address, operation, payment_id) 
      VALUES (${merchantId.replace('mer_', 'pac_')}, '1.1.1.1', 'CreateTransaction', ${paymentId})`;
    const refundId = await writeReceipt(fixture.prisma, { merchantId, type: 'refund', status: 'registered' });
    await fixture.prisma.$executeRaw`UPDATE receipts SET refund_of = ${receiptId} WHERE id = ${refundId}`.catch(
      async () => {
        const owner = new pg.Client({ connectionString: fixture.database.ownerUrl });
        await owner.connect();
        await owner.query('UPDATE receipts SET refund_of = $1 WHERE id = $2', [receiptId, refundId]);
        await owner.end();
      },
    );
    await fixture.prisma.$executeRaw`
      INSERT INTO payment_refunds (payment_id, receipt_id, amount_tiyin, state, reason)
      VALUES (${paymentId}, ${refundId}, 100, 'done', 'returned')`;
    await event('receipt.moved', receiptId, { receipt_id: receiptId, from_device_id: 'dev_a', device_id: 'dev_b' });
    const unknown = await event('receipt.unknown', receiptId, { receipt_id: receiptId });
    const webhookId = await endpoint();
    await delivery({ webhookId, subjectId: receiptId, eventOf: unknown });
    await event('receipt.unknown', newId('rcp'), {});

    const whole = await allPages(`/v1/receipts/${receiptId}/timeline?limit=500`);
    expect(whole.map(({ kind }) => kind).sort()).toEqual(
      [
        ...['accepted', 'attempt_opened', 'attempt_closed', 'refund', 'payment', 'payment_call', 'payment_refund'],
        ...['provider_call', 'moved', 'event', 'delivery', 'delivery_attempt'],
      ].sort(),
    );
    const times = whole.map(({ at }) => at);
    expect(times).toEqual([...times].sort());
    expect(new Set(whole.map(({ id }) => id)).size).toBe(whole.length);
    const of = (kind: string) => whole.find((entry) => entry.kind === kind);
    expect(of('attempt_closed')).toMatchObject({
      status: 'unknown',
      data: { outcome: { kind: 'unclear', reason: 'timeout' } },
    });
    expect(of('moved')?.data).toEqual({ from_device_id: 'dev_a', to_device_id: 'dev_b' });
    expect(of('payment_call')).toMatchObject({ status: 'refused', data: { code: '-5', detail: 'no such' } });
    expect(of('delivery')?.data).toMatchObject({ webhook_id: webhookId, origin: 'https://8.8.8.8' });
    expect(JSON.stringify(whole)).not.toContain('secret-path');
    expect(await allPages(`/v1/receipts/${receiptId}/timeline?limit=2`)).toEqual(whole);
    const ofRefund = await allPages(`/v1/receipts/${refundId}/timeline?limit=9`);
    expect(ofRefund.map(({ kind }) => kind)).toEqual(['accepted', 'payment_refund']);
  });

  test('404 for a foreign receipt, 422 for what is no page', async () => {
    const { receiptId } = await fixture.createAttempt();
    const stranger = await fixture.createToken(await fixture.createMerchant(), SCOPES);
    expect((await get(`/v1/receipts/${receiptId}/timeline`, stranger)).status).toBe(404);
    for (const query of [
      'limit=501',
      'limit=0',
      'cursor=x',
      `cursor=${Buffer.from('["2026",1,"a"]').toString('base64url')}`,
    ]) {
      expect((await get(`/v1/receipts/${receiptId}/timeline?${query}`)).status).toBe(422);
    }
  });
});

describe('payments', () => {
  test('newest first; each filter finds its own', async () => {
    const receiptIds = await Promise.all([1, 2, 3, 4].map(() => writeReceipt(fixture.prisma, { merchantId })));
    const ids: string[] = [];
    const given = [
      { state: 'captured', amount: 100 },
      { state: 'pending', amount: 200 },
      { state: 'manual', amount: 300, ref: 'theirs-3' },
      { state: 'captured', amount: 400, provider: 'click' },
    ];
    for (const [index, more] of given.entries()) ids.push(await payment(receiptIds[index] ?? '', more));
    const found = async (query: string): Promise<number[]> =>
      (await allPages(`/v1/payments?limit=2&${query}`)).map(({ id }) => ids.indexOf(String(id)) + 1);
    expect(await found('')).toEqual([4, 3, 2, 1]);
    expect(await found('status=captured')).toEqual([4, 1]);
    expect(await found('status=pending')).toEqual([2]);
    expect(await found('provider=click')).toEqual([4]);
    expect(await found('provider_ref=theirs-3')).toEqual([3]);
    expect(await found(`receipt_id=${receiptIds[1]}`)).toEqual([2]);
    expect(await found('amount_min=200&amount_max=300')).toEqual([3, 2]);
    expect(await found('created_from=2020-01-01T00:00:00Z')).toEqual([4, 3, 2, 1]);
    expect(await found('created_to=2020-01-01T00:00:00Z')).toEqual([]);
    expect(await found('status=captured&provider=payme')).toEqual([1]);
    for (const query of ['status=paid', 'provider=visa', 'amount_min=-1', 'created_from=today', 'cursor=x']) {
      expect((await get(`/v1/payments?${query}`)).status).toBe(422);
    }
    const stranger = await fixture.createToken(await fixture.createMerchant(), SCOPES);
    expect((await get(`/v1/payments?receipt_id=${receiptIds[1]}`, stranger)).body.data).toEqual([]);
    expect((await get('/v1/payments?provider_ref=theirs-3', stranger)).body.data).toEqual([]);
  });
});

describe('deliveries', () => {
  test('each filter finds its own; one is shown with its request, without the signature', async () => {
    const webhookId = await endpoint();
    const subjectId = newId('rcp');
    const ids = [
      await delivery({ webhookId, subjectId }),
      await delivery({ webhookId, state: 'delivered', httpStatus: 200, type: 'refund.accepted' }),
      await delivery({ webhookId, state: 'pending', httpStatus: 500 }),
      await delivery({ webhookId, state: 'pending', httpStatus: null }),
    ];
    const found = async (query: string): Promise<number[]> =>
      (await allPages(`/v1/webhooks/${webhookId}/deliveries?limit=1&${query}`)).map(
        ({ id }) => ids.indexOf(String(id)) + 1,
      );
    expect(await found('')).toEqual([4, 3, 2, 1]);
    expect(await found('state=failed')).toEqual([1]);
    expect(await found('http_status=5xx')).toEqual([3, 1]);
    expect(await found('http_status=200')).toEqual([2]);
    expect(await found('type=refund.*')).toEqual([2]);
    expect(await found('type=refund.*,receipt.registered')).toEqual([4, 3, 2, 1]);
    expect(await found(`subject_id=${subjectId}`)).toEqual([1]);
    expect(await found('created_to=2020-01-01T00:00:00Z')).toEqual([]);
    expect(await found('created_from=2020-01-01T00:00:00Z&state=pending')).toEqual([4, 3]);
    for (const query of ['http_status=6xx', 'type=x', 'created_to=1', 'state=lost']) {
      expect((await get(`/v1/webhooks/${webhookId}/deliveries?${query}`)).status).toBe(422);
    }
    const { body } = await get(`/v1/webhooks/${webhookId}/deliveries/${ids[0]}`);
    expect(body).toMatchObject({
      last_http_status: 503,
      attempts: [{ answer: 'no' }],
      request: { method: 'POST', body_truncated: false, sent_headers: { 'webhook-signature': 'v1,…' } },
    });
    expect(JSON.parse((body['request'] as { body: string }).body)).toMatchObject({ type: 'receipt.registered' });
    const other = await endpoint();
    expect((await get(`/v1/webhooks/${other}/deliveries/${ids[0]}`)).status).toBe(404);
    const stranger = await fixture.createToken(await fixture.createMerchant(), SCOPES);
    expect((await get(`/v1/webhooks/${webhookId}/deliveries/${ids[0]}`, stranger)).status).toBe(404);
  });

  test('recover sends again what was given up and not delivered since, once', async () => {
    const webhookId = await endpoint();
    const subjectId = newId('rcp');
    const twice = await event('receipt.registered', subjectId, {});
    await delivery({ webhookId });
    await delivery({ webhookId, subjectId, eventOf: twice });
    await delivery({ webhookId, subjectId, eventOf: twice });
    const since = newId('rcp');
    const arrived = await event('receipt.registered', since, {});
    await delivery({ webhookId, subjectId: since, eventOf: arrived });
    await delivery({ webhookId, subjectId: since, eventOf: arrived, state: 'delivered', httpStatus: 200 });
    await delivery({ webhookId: await endpoint() });
    const [from, to] = [new Date(Date.now() - 3_600_000), new Date(Date.now() + 3_600_000)].map((time) =>
      time.toISOString(),
    );
    const path = `/v1/webhooks/${webhookId}/recover`;
    const early = await post(path, { from: '2020-01-01T00:00:00Z', to: '2020-01-02T00:00:00Z' });
    expect([early.status, early.body.deliveries]).toEqual([202, 0]);
    expect(await post(path, { from, to })).toMatchObject({ status: 202, body: { deliveries: 2 } });
    expect(await post(path, { from, to })).toMatchObject({ status: 202, body: { deliveries: 0 } });
    expect(await fixture.audited(webhookId)).toMatchObject([{}, { action: 'webhook.recover' }, {}]);
    expect((await post(path, { from: to, to: from })).body.errors[0]?.pointer).toBe('/from');
    expect((await post(path, { from: '2020-01-01T00:00:00Z', to })).status).toBe(422);
    expect((await post(path, { from })).body.errors[0]?.pointer).toBe('/to');
    await fixture.prisma.webhookEndpoint.update({ where: { id: webhookId }, data: { disabledAt: new Date() } });
    expect((await post(path, { from, to })).body.code).toBe('webhook_disabled');
  });
});

test('loads of the classification register, without what is secret in their source', async () => {
  await fixture.prisma.classifierImport.createMany({
    data: [
      {
        kind: 'full',
        source: 'https://user:pw@tasnif.example/api?key=hidden',
        state: 'applied',
        version: 7,
        result: { added: 3, affected: 9 },
      },
      {
        kind: 'lines',
        source: '/srv/hidden/lines.csv',
        state: 'failed',
        error: 'GET https://a.example/b?key=hidden answered 500',
      },
    ],
  });
  const entries = await allPages('/v1/classifier/imports?limit=1');
  expect(entries).toMatchObject([
    { kind: 'lines', source: 'lines.csv', state: 'failed', error: 'GET https://a.example/b answered 500' },
    { kind: 'full', source: 'https://tasnif.example/api', version: 7, result: { added: 3, changed: 0, ended: 0 } },
  ]);
  expect(JSON.stringify(entries)).not.toMatch(/hidden|user|affected/);
  expect((await get('/v1/classifier/imports?cursor=x')).status).toBe(422);
});

describe('the overview', () => {
  beforeAll(awayFromMidnight, MIDNIGHT_TIMEOUT_MS);

  test('counts, sums, places, speed and what runs out are those of the rows', async () => {
    const { deviceId } = await fixture.createDevice();
    const branchId = merchantId.replace('mer_', 'brn_');
    const at = { merchantId, deviceId, branchId };
    const ids = [
      await writeReceipt(fixture.prisma, { ...at, totalTiyin: 1_000 }),
      await writeReceipt(fixture.prisma, { ...at, totalTiyin: 500, type: 'refund' }),
      await writeReceipt(fixture.prisma, { ...at, totalTiyin: 70, status: 'rejected' }),
      await writeReceipt(fixture.prisma, { ...at, totalTiyin: 9, status: 'accepted' }),
    ];
    const old = new Date(Date.now() - 5 * 86_400_000).toISOString();
    await writeReceipt(fixture.prisma, { ...at, id: idOf(old), totalTiyin: 20_000, createdAt: old });
    const ancient = new Date(Date.now() - 40 * 86_400_000).toISOString();
    await writeReceipt(fixture.prisma, { ...at, id: idOf(ancient), totalTiyin: 5, createdAt: ancient });
    await writeReceipt(fixture.prisma, { merchantId: await fixture.createMerchant(), totalTiyin: 7 });
    const reading = {
      unsentReceipts: 30,
      maxUnsentReceipts: 40,
      oldestUnsentAt: new Date(Date.now() - 3_600_000).toISOString(),
    };
    await fixture.prisma
      .$executeRaw`UPDATE devices SET reading = ${JSON.stringify(reading)}::jsonb WHERE id = ${deviceId}`;
    await fixture.prisma.$executeRaw(latencyCounts(ids, [0, 0, 0, 0]));
    await fixture.prisma.$executeRaw(latencyCounts(ids.slice(0, 1), [0]));

    const { status, body } = await get('/v1/overview');
    expect(status).toBe(200);
    const overview = body as unknown as Record<string, Record<string, unknown>> & { days: unknown[] };
    expect(overview['today']).toMatchObject({
      by_status: {
        registered: { count: 2, total: 1_500 },
        rejected: { count: 1, total: 70 },
        accepted: { count: 1, total: 9 },
      },
      ...{ sales: { count: 1, total: 1_000 }, refunds: { count: 1, total: 500 }, net: 500 },
    });
    expect(overview['last_30_days']).toMatchObject({ sales: { count: 2, total: 21_000 }, net: 20_500 });
    expect(overview.days).toHaveLength(30);
    expect(overview.days.at(-1)).toMatchObject({ registered: { count: 1, total: 1_000 }, rejected: 1 });
    const sums = { today: { count: 1, total: 1_000 }, last_30_days: { count: 2, total: 21_000 } };
    expect(overview['by_device']).toMatchObject([{ device_id: deviceId, name: 'Till', ...sums }]);
    expect(overview['by_branch']).toMatchObject([{ branch_id: branchId, name: 'Main', ...sums }]);
    expect(overview['latency']).toMatchObject({
      last_hour: { count: 3, p50_ms: expect.any(Number) },
      last_24_hours: { count: 3 },
    });
    expect(overview['countdowns']).toMatchObject([
      { kind: 'module_memory', device_id: deviceId, remaining: 10, limit: 40 },
      { kind: 'ofd_deadline', limit: 172_800, due_at: expect.any(String) },
    ]);
  });

  test('of the platform has all live merchants by name, no sandbox, and is for the platform alone', async () => {
    const [one, two] = [merchantId, await fixture.createMerchant()];
    await writeReceipt(fixture.prisma, { merchantId: one, totalTiyin: 1_000 });
    await writeReceipt(fixture.prisma, { merchantId: two, totalTiyin: 300 });
    await writeReceipt(fixture.prisma, { merchantId: two, totalTiyin: 40, status: 'rejected' });
    const old = new Date(Date.now() - 5 * 86_400_000).toISOString();
    await writeReceipt(fixture.prisma, { merchantId: one, id: idOf(old), totalTiyin: 20_000, createdAt: old });
    const hourly = await fixture.createMerchant();
    for (let hours = 0; hours < 6; hours += 1) {
      const at = new Date(Date.now() - hours * 3_600_000).toISOString();
      await writeReceipt(fixture.prisma, { merchantId: hourly, id: idOf(at), totalTiyin: 10 ** hours, createdAt: at });
    }
    const sandbox = newId('mer_test');
    await fixture.prisma.merchant.create({
      data: { id: sandbox, code: sandbox, name: 'S', tin: '300000000', mode: 'sandbox' },
    });
    expect((await get('/v1/platform/overview')).status).toBe(403);
    const { status, body } = await get('/v1/platform/overview', await fixture.createToken(one, ['platform:read']));
    const overview = body as unknown as {
      merchants: { live: number; sandbox: number };
      today: { sales: { count: number } };
      days: unknown[];
      by_merchant: { merchant_id: string; name: string }[];
    };
    expect([status, overview.days.length]).toEqual([200, 30]);
    expect(overview.merchants.sandbox).toBe(1);
    expect(overview.merchants.live).toBeGreaterThanOrEqual(2);
    expect(overview.today.sales.count).toBeGreaterThanOrEqual(2);
    const of = (id: string): unknown => overview.by_merchant.find(({ merchant_id: merchant }) => merchant === id);
    expect(of(one)).toMatchObject({
      ...{ name: expect.any(String), today: { count: 1, total: 1_000 } },
      last_30_days: { count: 2, total: 21_000 },
    });
    // Read by the hour, each once.
    expect(of(hourly)).toMatchObject({ last_30_days: { count: 6, total: 111_111 } });
    expect(of(two)).toMatchObject({ today: { count: 1, total: 300 }, last_30_days: { count: 1, total: 300 } });
  });
});

/** An id that was made at that time. */
function idOf(time: string): string {
  return `rcp_${encodeTime(Date.parse(time), 10).toLowerCase()}${newId('rcp').slice(-16)}`;
}
