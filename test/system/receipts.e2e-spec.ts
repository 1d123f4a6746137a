// Promise: an ERP's sale comes back as a fiscal receipt, each exactly once, in order per device, on both queue back ends.
import { parseVerificationLink } from '#fiscal-domain';
import { sql } from './database.js';
import type { Answer } from './gateway-client.js';
import { allRegistered, documentsAtOfd, expectEachExactlyOnce } from './ground-truth.js';
import { metric } from './metric.js';
import { startRedis, type TestRedis } from './redis.js';
import { startSystem, type TestSystem } from './system.js';
import { until } from '../../libs/runtime/src/testing/until.js';

const DEVICES = 5;
const PER_DEVICE = 40;

describe.each([{ queue: 'postgres' }, { queue: 'redis' }])('over $queue', ({ queue }) => {
  let redis: TestRedis | null = null;
  let system: TestSystem;

  beforeAll(async () => {
    redis = queue === 'redis' ? await startRedis() : null;
    system = await startSystem({
      registers: DEVICES,
      gateways: 2,
      relays: 2,
      // A slow machine must not make a delivery fail.
      registerEnv: { OFD_SALE_BUDGET_MS: '20000' },
      ...(redis ? { queueUrl: redis.url } : {}),
    });
  });

  afterAll(async () => {
    await system?.stop();
    await redis?.stop();
  });

  test('200 receipts over 5 registers: each once, in order, with its own link', async () => {
    const { client, merchant } = system;
    const sold = await Promise.all(
      merchant.tills.map(async (_, till) => {
        const receipts: Answer['body'][] = [];
        for (let index = 0; index < PER_DEVICE; index += 1) {
          const headers = { 'idempotency-key': `${till}-${index}`, prefer: 'wait=60' };
          const { status, body } = await client.post('/v1/receipts', client.saleOf(till), headers);
          expect({ status, body }).toMatchObject({ status: 201, body: { status: 'registered' } });
          receipts.push(body);
        }
        return receipts;
      }),
    );
    for (const [till, receipts] of sold.entries()) {
      const { deviceId } = merchant.tills[till] ?? { deviceId: '' };
      const sequences = receipts.map((receipt) => receipt.fiscal?.receipt_seq);
      expect(sequences).toEqual(Array.from({ length: PER_DEVICE }, (_, index) => index + 1));
      const terminals = new Set(receipts.map((receipt) => receipt.fiscal?.terminal_id));
      expect(terminals.size).toBe(1);
      for (const { device_id, fiscal, receipt_url, ofd } of receipts) {
        expect(device_id).toBe(deviceId);
        expect(ofd?.status).toBe('sent');
        expect(receipt_url).toMatch(/^http.*\/r\//);
        const link = parseVerificationLink(fiscal?.verification_url ?? '');
        expect(link).toMatchObject({
          terminalId: fiscal?.terminal_id,
          receiptSeq: fiscal?.receipt_seq,
          fiscalSign: fiscal?.fiscal_sign,
        });
      }
    }
    const documents = await documentsAtOfd(system);
    expect(documents).toHaveLength(DEVICES * PER_DEVICE);
    const keys = new Set(documents.map(({ terminal_id, seq }) => `${terminal_id}/${seq}`));
    expect(keys.size).toBe(DEVICES * PER_DEVICE);
  });

  test('a replay answers the same receipt, another body is refused', async () => {
    const { client } = system;
    const sale = client.saleOf(0, { external_id: 'order-77' });
    const first = await client.post('/v1/receipts', sale, { 'idempotency-key': 'replay-1' });
    const again = await client.post('/v1/receipts', sale, { 'idempotency-key': 'replay-1' });
    expect(again.status).toBe(201);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect(again.body).toEqual(first.body);
    const byExternalId = await client.post('/v1/receipts', sale);
    expect(byExternalId.body.id).toBe(first.body.id);
    const other = await client.post('/v1/receipts', client.saleOf(0), { 'idempotency-key': 'replay-1' });
    expect(other).toMatchObject({ status: 422, body: { code: 'idempotency_mismatch' } });
  });

  test('202 with respond-async, and the receipt is registered afterwards', async () => {
    const { client } = system;
    const { status, headers, body } = await client.post('/v1/receipts', client.saleOf(1), { prefer: 'respond-async' });
    expect(status).toBe(202);
    expect(headers.get('location')).toBe(`/v1/receipts/${body.id}`);
    expect(headers.get('retry-after')).toMatch(/^\d+$/);
    const read = await until(
      'it is registered',
      () => client.get(`/v1/receipts/${body.id}`),
      ({ body: now }) => now.status === 'registered',
    );
    expect(read).toMatchObject({ status: 200, body: { status: 'registered', fiscal: { evidence: 'answer' } } });
  });

  const sumOver = async (urls: readonly string[], name: string): Promise<number> =>
    (await Promise.all(urls.map((url) => metric(url, name)))).reduce((sum, value) => sum + value, 0);

  async function sellAtEach(): Promise<void> {
    const { client } = system;
    const sales = system.merchant.tills.map((_, till) =>
      client.post('/v1/receipts', client.saleOf(till), { prefer: 'wait=60' }),
    );
    for (const { status, body } of await Promise.all(sales)) expect({ status, body }).toMatchObject({ status: 201 });
  }

  /** Lane locks of a process that stands still are held for as long. */
  const noLaneIsHeld = (): Promise<{ n: number }[]> =>
    sql<{ n: number }>(
      system.database,
      `SELECT count(*)::int AS n FROM pg_locks l JOIN pg_stat_activity a USING (pid)
        WHERE l.locktype = 'advisory' AND a.datname = current_database()`,
    );

  test('a relay that is awake is woken by notice; one that stands still loses its lanes to the other by the queue', async () => {
    const { gatewayMetricsUrls, relayMetricsUrls, relays } = system;
    const woken = await sumOver(relayMetricsUrls, 'relay_lanes_woken');
    await until(
      'lanes are woken by notice',
      async () => {
        await sellAtEach();
        return sumOver(relayMetricsUrls, 'relay_lanes_woken');
      },
      (count) => count > woken,
    );
    const unanswered = await sumOver(gatewayMetricsUrls, 'lane_wakes_unanswered');
    for (const relay of relays) {
      await until('no lane is held', noLaneIsHeld, ([row]) => row?.n === 0);
      relay.signal('SIGSTOP');
      await sellAtEach().finally(() => relay.signal('SIGCONT'));
    }
    // Whichever relay had a lane last stood still once.
    expect(await sumOver(gatewayMetricsUrls, 'lane_wakes_unanswered')).toBeGreaterThan(unanswered);
    await expectEachExactlyOnce(system, await allRegistered(system));
  });
});
