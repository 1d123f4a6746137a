/** Promise at stake: a receipt that was accepted reaches its register at once, with the queue in a cluster of three Redis. */
import { laneQueueBackend } from './lane-queue-backend.js';
import { laneQueueContract } from './testing/lane-queue-contract.js';
import { redisIsInstalled } from './testing/own-redis.js';
import { OwnCluster } from './testing/redis-group.js';

const mayRun = redisIsInstalled() || process.env['CI'] === 'true';

(mayRun ? describe : describe.skip)('the lane queue in a cluster', () => {
  let cluster: OwnCluster;

  beforeAll(async () => {
    cluster = await OwnCluster.reserve();
    await cluster.start();
  });
  afterAll(() => cluster?.remove());

  laneQueueContract({
    backend: () => laneQueueBackend({ queueUrl: cluster.url, databaseUrl: 'postgresql://user@127.0.0.1:1/none' }),
    dropConnections: async () => {
      for (const member of cluster.members)
        await member.command((client) => client.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes'));
    },
    takeDown: () => cluster.kill(),
    bringBack: () => cluster.start(),
    lingersAfterOutage: true,
    leaveStrayDeduplicationKey: async (deviceId) => {
      await cluster.command((client) => client.set(`{fgw}:device-lane:de:${deviceId}`, '4711'));
    },
  });
});
