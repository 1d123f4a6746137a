// Promise: Redis may be absent, emptied, deaf or dead: every receipt is answered 2xx and registered, and the bell comes back by itself.
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { freePorts } from '../../libs/runtime/src/testing/free-ports.js';
import { OwnRedis } from '../../libs/queue/src/testing/own-redis.js';
import { allRegistered, expectEachExactlyOnce, setFaults, storedReceipts } from './ground-truth.js';
import { metric } from './metric.js';
import { startSystem, type TestSystem } from './system.js';
import { TcpProxy } from './tcp-proxy.js';
import { until } from '../../libs/runtime/src/testing/until.js';
let redis: OwnRedis;
let proxy: TcpProxy;
let system: TestSystem;
let urls: { gateway: string; relay: string };

beforeAll(async () => {
  redis = await OwnRedis.reserve();
  const port = await freePorts(1);
  proxy = new TcpProxy(port, redis.port);
  // No server listens there yet.
  system = await startSystem({
    registers: 2,
    queueUrl: `redis://127.0.0.1:${port}`,
    // Every wake-up comes by the queue.
    env: { LANE_WAKE: 'queue' },
  });
  urls = { gateway: system.gatewayUrls[0] ?? '', relay: system.relayUrls[0] ?? '' };
});

afterAll(async () => {
  await system?.stop();
  await proxy?.close();
  await redis?.kill();
});

/** Sells at both registers; every answer is a 2xx. */
async function sell(prefer = 'wait=20'): Promise<void> {
  const answers = await Promise.all(
    [0, 1].map((till) => system.client.post('/v1/receipts', system.client.saleOf(till), { prefer })),
  );
  for (const { status, body } of answers)
    expect({ ok: status === 201 || status === 202, body }).toMatchObject({ ok: true });
}

const wakes = (): Promise<number> => metric(urls.relay, 'lane_queue_wakes');

/** Sells until a wake-up has come through the queue again. */
async function expectBellIsBack(): Promise<void> {
  const before = await wakes();
  const deadline = Date.now() + 60_000;
  while ((await wakes()) === before) {
    if (Date.now() > deadline) throw new Error('no wake-up came through the queue any more');
    await sell();
    await delay(100);
  }
}

test('absent from the start: accepted, dispatched by the sweeper, logged, counted', async () => {
  await sell();
  await allRegistered(system);
  expect(await wakes()).toBe(0);
  for (const [url, program] of [
    [urls.gateway, system.gateways[0]],
    [urls.relay, system.relays[0]],
  ] as const) {
    expect(await metric(url, 'lane_queue_up')).toBe(0);
    expect(await metric(url, 'lane_queue_errors')).toBeGreaterThan(0);
    expect(program?.said).toContain('lane queue trouble');
  }
  expect(await metric(urls.relay, 'relay_lanes_swept')).toBeGreaterThan(0);
});

test('it comes: the bell works, no program was restarted', async () => {
  await redis.start();
  await proxy.listen();
  await until(
    'the bell is up',
    () => metric(urls.gateway, 'lane_queue_up'),
    (up) => up === 1,
  );
  await expectBellIsBack();
});

test('emptied by FLUSHALL', async () => {
  const client = new Redis(redis.url);
  await client.flushall();
  await client.quit();
  await expectBellIsBack();
  await allRegistered(system);
});

test('half-open: connections that no server answers or closes', async () => {
  expect(proxy.deafen()).toBeGreaterThan(2);
  const errorsBefore = await metric(urls.gateway, 'lane_queue_errors');
  await sell();
  await expectBellIsBack();
  await allRegistered(system);
  expect(await metric(urls.gateway, 'lane_queue_errors')).toBeGreaterThan(errorsBefore);
});

test('killed, and started again', async () => {
  await redis.kill();
  await sell();
  await allRegistered(system);
  await redis.start();
  await expectBellIsBack();
});

/** One after the other, each as a caller who waits. */
async function tenSalesMs(): Promise<number> {
  const beganMs = Date.now();
  for (let sale = 0; sale < 10; sale += 1) {
    const { client } = system;
    const { status } = await client.post('/v1/receipts', client.saleOf(0), { prefer: 'wait=30' });
    expect(status).toBe(201);
  }
  return Date.now() - beganMs;
}

test('a relay dies with a wake-up in its hands: its lane is followed until the queue takes the wake-up from it', async () => {
  const [{ client }, relay] = [system, system.relays[0]];
  await setFaults(system, [{ fault: 'late_answer', next: 1, delay_ms: 30_000 }]);
  await client.post('/v1/receipts', client.saleOf(0), { prefer: 'respond-async' });
  await until(
    'an attempt is open',
    async () => (await storedReceipts(system)).some((receipt) => receipt.open_attempts > 0),
    Boolean,
  );
  await relay?.end('SIGKILL');
  await setFaults(system, []);
  await relay?.start();
  // Without help each would wait two to three seconds for the sweeper.
  const tookMs = await tenSalesMs();
  process.stdout.write(`ten sales beside a dead relay's wake-up: ${tookMs} ms\n`);
  // What ten sales cost this machine at this moment is in both.
  expect(tookMs).toBeLessThan(14_000 + (await tenSalesMs()));
});

test('through all of it each receipt was registered once', async () => {
  await expectEachExactlyOnce(system, await allRegistered(system));
});
