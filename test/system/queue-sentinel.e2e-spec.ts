// Promise: the queue behind sentinels, with TLS and a password: its master dies under load, no sale is lost, and the bell comes back by itself.
import { Chance } from '../../apps/device-relay/src/lanes/simulation/testing/chance.js';
import { OwnSentinels, sentinelIsInstalled } from '../../libs/queue/src/testing/redis-group.js';
import { Load } from '../faults/frame/load.js';
import { judge } from '../faults/frame/truth.js';
import { metric } from './metric.js';
import { startSystem, type TestSystem } from './system.js';
import { until } from './until.js';

const FAILOVERS = 2;
const mayRun = sentinelIsInstalled() || process.env['CI'] === 'true';
let sentinels: OwnSentinels | undefined;
let system: TestSystem | undefined;

afterAll(async () => {
  await system?.stop();
  await sentinels?.remove();
});

(mayRun ? test : test.skip)('a master that dies under load', async () => {
  sentinels = await OwnSentinels.reserve();
  await sentinels.start();
  // Every wake-up comes by the queue.
  const env = { NODE_EXTRA_CA_CERTS: sentinels.certificateFile, LANE_WAKE: 'queue' };
  const running = await startSystem({ registers: 2, queueUrl: sentinels.url, env });
  system = running;
  const wakes = (): Promise<number> => metric(running.relayUrls[0] ?? '', 'lane_queue_wakes');
  const load = new Load(running.client, { prefix: 'sentinel', chance: new Chance(7), perTill: 2, asyncShare: 0.5 });
  await until('wake-ups come', wakes, (count) => count > 5);
  for (let failover = 0; failover < FAILOVERS; failover += 1) {
    await sentinels.failOver();
    const before = await wakes();
    await until('wake-ups come again', wakes, (count) => count > before + 5);
  }
  await load.reaches(load.sold.length + 20);
  await load.end();
  const verdict = await judge(running, [load], { prefix: 'sentinel', tills: running.merchant.tills });
  expect(verdict).toMatchObject({ lost: 0, doubled: 0, wrongOrder: 0, parked: 0, failures: [] });
  expect(load.sold.flatMap(({ setbacks }) => setbacks)).toEqual([]);
  expect(await metric(running.gatewayUrls[0] ?? '', 'lane_queue_up')).toBe(1);
});
