/** Promise at stake: a receipt that was accepted reaches its register at once (Redis back end), whatever Redis or Valkey does. */
import { laneQueueBackend } from './lane-queue-backend.js';
import { LaneBell } from './lane-bell.js';
import { LaneListener } from './lane-listener.js';
import { QueueCounters } from './queue-trouble.js';
import { laneQueueContract } from './testing/lane-queue-contract.js';
import { OwnRedis, redisIsInstalled, type RedisProgram } from './testing/own-redis.js';
import { untilTrue } from '../../runtime/src/testing/until.js';

const PROGRAMS = ['redis-server', 'valkey-server'] as const;
const isInstalled = (program: RedisProgram): boolean => redisIsInstalled(program) || process.env['CI'] === 'true';
const quiet = { info: () => undefined, error: () => undefined };

describe.each(PROGRAMS.filter(isInstalled))('the lane queue on %s', (program) => {
  let redis: OwnRedis;
  const backend = () => laneQueueBackend({ queueUrl: redis.url, databaseUrl: 'postgresql://user@127.0.0.1:1/none' });

  beforeAll(async () => {
    redis = await OwnRedis.reserve(program);
    await redis.start();
  });
  afterAll(() => redis.kill());

  laneQueueContract({
    backend,
    dropConnections: async () => {
      await redis.command(async (client) => {
        await client.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
      });
    },
    takeDown: () => redis.kill(),
    bringBack: () => redis.start(),
    leaveStrayDeduplicationKey: async (deviceId) => {
      await redis.command((client) => client.set(`bull:device-lane:de:${deviceId}`, '4711'));
    },
  });

  async function withBoth(
    run: (bell: LaneBell, runs: string[], counters: QueueCounters) => Promise<void>,
  ): Promise<void> {
    const counters = new QueueCounters();
    const runs: string[] = [];
    const bell = new LaneBell(backend(), counters, quiet);
    const listener = new LaneListener(backend(), counters, quiet);
    listener.start((deviceId) => Promise.resolve(void runs.push(deviceId)), { concurrency: 2 });
    try {
      await untilTrue(() => bell.state === 'up' && listener.state === 'listening', 'both up');
      await run(bell, runs, counters);
    } finally {
      await bell.close();
      await listener.close();
    }
  }

  test('FLUSHALL while both are at work: later rings are delivered', () =>
    withBoth(async (bell, runs) => {
      await redis.command((client) => client.flushall());
      bell.ring('dev_flushed');
      await untilTrue(() => runs.includes('dev_flushed'), 'delivered');
    }));

  test('Redis stops answering without closing a connection: the state falls, and all is delivered when it answers', () =>
    withBoth(async (bell, runs, counters) => {
      redis.suspend();
      bell.ring('dev_deaf');
      await untilTrue(() => bell.state === 'down', 'down');
      redis.resume();
      await untilTrue(() => bell.state === 'up', 'up');
      await untilTrue(() => runs.includes('dev_deaf'), 'delivered');
      expect(counters.droppedRings).toBe(0);
    }));

  test('Redis out of memory answers reads but takes no job: that counts as down', () =>
    withBoth(async (bell, runs, counters) => {
      await redis.command((client) => client.config('SET', 'maxmemory', '1'));
      bell.ring('dev_full');
      await untilTrue(() => bell.state === 'down' && counters.addFailures > 1, 'down');
      await redis.command((client) => client.config('SET', 'maxmemory', '0'));
      await untilTrue(() => runs.includes('dev_full'), 'delivered');
      await untilTrue(() => bell.state === 'up', 'up');
    }));

  test('a deduplication key whose job exists but will never run silences the device: only the sweeper heals it', () =>
    withBoth(async (bell, runs) => {
      // BullMQ recovers a key whose job is gone; this one points at a job hash that no list holds.
      await redis.command(async (client) => {
        await client.hset('bull:device-lane:4712', 'name', 'drain-lane', 'data', '{"deviceId":"dev_silent"}');
        await client.set('bull:device-lane:de:dev_silent', '4712');
      });
      bell.ring('dev_silent');
      await untilTrue(() => bell.waitingDevices === 0, 'the add is answered as if all were well');
      bell.ring('dev_other');
      await untilTrue(() => runs.includes('dev_other'), 'others are not touched');
      expect(runs).not.toContain('dev_silent');
    }));
});
