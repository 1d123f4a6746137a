// Promise: however many registers fall silent, the others of the same relay go on selling at once.
import { sql } from './database.js';
import { GatewayClient } from './gateway-client.js';
import { SilentServer } from './silent-server.js';
import { startSystem, type TestSystem } from './system.js';
import { until } from '../../libs/runtime/src/testing/until.js';

const SILENT = 300;
const HEALTHY = 20;
const SALES_EACH = 5;
/** Every call to a silent register hangs for longer than the test lasts. */
const PROFILE = { callTimeoutMs: 600_000, sendTimeoutMs: 600_000 };

let system: TestSystem;
const silent = new SilentServer();

beforeAll(async () => {
  system = await startSystem({ registers: HEALTHY, env: { HEALTH_POLL_MS: '3600000' } });
});
afterAll(async () => {
  await system?.stop();
  await silent.close();
});

async function freePlaces(): Promise<number> {
  const text = await (await fetch(`${system.relayUrls[0]}/metrics`)).text();
  return Number(/^relay_free_places(?:\{.*\})? (\S+)$/m.exec(text)?.[1]);
}

async function sell(client: GatewayClient, till: number, prefer: string): Promise<number> {
  return (await client.post('/v1/receipts', client.saleOf(till), { prefer })).status;
}

test('300 of 320 are silent: the 20 healthy ones register every sale while all calls to the others still hang', async () => {
  const merchant = await system.addMerchant({ registerUrls: await silent.listen(SILENT), profile: PROFILE });
  const dead = new GatewayClient(system.gatewayUrls, merchant);
  for (let till = 0; till < SILENT; till += 20) {
    const posts = Array.from({ length: 20 }, (_, index) => sell(dead, till + index, 'respond-async'));
    expect(new Set(await Promise.all(posts))).toEqual(new Set([202]));
  }
  await until(
    'the relay waits for every silent register',
    () => silent.connections,
    (connections) => connections >= SILENT,
  );
  const statuses = await Promise.all(
    Array.from({ length: HEALTHY }, async (_, till) => {
      const answers: number[] = [];
      for (let sale = 0; sale < SALES_EACH; sale += 1) answers.push(await sell(system.client, till, 'wait=60'));
      return answers;
    }),
  );
  expect(statuses.flat().filter((status) => status === 201)).toHaveLength(HEALTHY * SALES_EACH);
  expect(await freePlaces()).toBeGreaterThan(0);
  expect(silent.connections).toBeGreaterThanOrEqual(SILENT);
  const [row] = await sql<{ away: number }>(
    system.database,
    `SELECT count(*)::int AS away FROM devices WHERE state = 'unreachable'`,
  );
  expect(row?.away).toBe(0);
});
