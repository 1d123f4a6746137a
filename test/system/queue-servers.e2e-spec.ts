// Promise: the queue behind sentinels (TLS, a password), on a cluster or on Valkey: its server dies under load, no sale is lost, and the bell comes back by itself.
import { Chance } from '../../apps/device-relay/src/lanes/simulation/testing/chance.js';
import { OwnRedis, redisIsInstalled } from '../../libs/queue/src/testing/own-redis.js';
import { OwnCluster, OwnSentinels, sentinelIsInstalled } from '../../libs/queue/src/testing/redis-group.js';
import { Load } from '../faults/frame/load.js';
import { judge } from '../faults/frame/truth.js';
import { metric } from './metric.js';
import { startSystem, type TestSystem } from './system.js';
import { until, untilTrue } from '../../libs/runtime/src/testing/until.js';

const FAILOVERS = 2;
const mayRun = sentinelIsInstalled() || process.env['CI'] === 'true';
let sentinels: OwnSentinels | undefined;
let cluster: OwnCluster | undefined;
let valkey: OwnRedis | undefined;
let system: TestSystem | undefined;

afterEach(async () => {
  await system?.stop();
  system = undefined;
});
afterAll(async () => {
  await sentinels?.remove();
  await cluster?.remove();
  await valkey?.kill();
});

function wakesOf({ relayUrls }: TestSystem): Promise<number> {
  return metric(relayUrls[0] ?? '', 'lane_queue_wakes');
}

/** Three systems beside each other have been seen to need more than the usual minute and a half. */
const WAKES_WITHIN_MS = 240_000;
/** Each waits up to four times for them. */
const TIMEOUT_MS = 1_200_000;

/** Until so many more have come than there were; else what the relay had to say. */
async function wakesCome(running: TestSystem): Promise<void> {
  const before = await wakesOf(running);
  await until(
    () => `wake-ups come; the relay: ${running.relays[0]?.lastWords}`,
    () => wakesOf(running),
    (count) => count > before + 5,
    WAKES_WITHIN_MS,
  );
}

async function nothingIsLost(running: TestSystem, load: Load, prefix: string): Promise<void> {
  await load.reaches(load.sold.length + 20);
  await load.end();
  const verdict = await judge(running, [load], { prefix, tills: running.merchant.tills });
  expect(verdict).toMatchObject({ lost: 0, doubled: 0, wrongOrder: 0, parked: 0, failures: [] });
  // A busy database may refuse a try for reasons of its own; the queue gives none.
  const setbacks = load.sold.flatMap((sold) => sold.setbacks);
  expect(setbacks.filter((setback) => !setback.startsWith('503 '))).toEqual([]);
  expect([...load.refusedBecause].filter((detail) => !detail.includes('database'))).toEqual([]);
  // A pause of the machine may let it fall for a moment.
  await untilTrue(async () => (await metric(running.gatewayUrls[0] ?? '', 'lane_queue_up')) === 1, 'the bell is up');
}

(mayRun ? test : test.skip)(
  'a master that dies under load',
  async () => {
    sentinels = await OwnSentinels.reserve();
    await sentinels.start();
    // Every wake-up comes by the queue.
    const env = { NODE_EXTRA_CA_CERTS: sentinels.certificateFile, LANE_WAKE: 'queue' };
    const running = await startSystem({ registers: 2, queueUrl: sentinels.url, env });
    system = running;
    const load = new Load(running.client, { prefix: 'sentinel', chance: new Chance(7), perTill: 2, asyncShare: 0.5 });
    await wakesCome(running);
    for (let failover = 0; failover < FAILOVERS; failover += 1) {
      await sentinels.failOver();
      await wakesCome(running);
    }
    await nothingIsLost(running, load, 'sentinel');
  },
  TIMEOUT_MS,
);

(mayRun ? test : test.skip)(
  'each node of a cluster in turn, under load',
  async () => {
    cluster = await OwnCluster.reserve();
    await cluster.start();
    const running = await startSystem({ registers: 2, queueUrl: cluster.url, env: { LANE_WAKE: 'queue' } });
    system = running;
    const load = new Load(running.client, { prefix: 'cluster', chance: new Chance(9), perTill: 2, asyncShare: 0.5 });
    // All keys of the queue are on one of them: it is among those that die.
    for (const member of cluster.members) {
      await wakesCome(running);
      await member.kill();
      await load.reaches(load.sold.length + 10);
      await member.start();
    }
    await wakesCome(running);
    await nothingIsLost(running, load, 'cluster');
  },
  TIMEOUT_MS,
);

const mayRunValkey = redisIsInstalled('valkey-server') || process.env['CI'] === 'true';
(mayRunValkey ? test : test.skip)(
  'Valkey that dies under load and comes back empty',
  async () => {
    const server = await OwnRedis.reserve('valkey-server');
    valkey = server;
    await server.start();
    const running = await startSystem({ registers: 2, queueUrl: server.url, env: { LANE_WAKE: 'queue' } });
    system = running;
    expect(await server.command((client) => client.info('server'))).toMatch(/^server_name:valkey/m);
    const load = new Load(running.client, { prefix: 'valkey', chance: new Chance(11), perTill: 2, asyncShare: 0.5 });
    for (let death = 0; death < FAILOVERS; death += 1) {
      await wakesCome(running);
      await server.kill();
      await load.reaches(load.sold.length + 10);
      await server.start();
    }
    await wakesCome(running);
    await nothingIsLost(running, load, 'valkey');
  },
  TIMEOUT_MS,
);
