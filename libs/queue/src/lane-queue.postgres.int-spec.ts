/** Promise at stake: a receipt that was accepted reaches its register at once (PostgreSQL back end), without Redis. */
import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { type OwnServer, startOwnServer } from '../../database/src/testing/index.js';
import { untilTrue } from '../../runtime/src/testing/until.js';
import { LaneListener } from './lane-listener.js';
import { laneQueueBackend } from './lane-queue-backend.js';
import { QueueCounters } from './queue-trouble.js';
import { counted } from './testing/deaf-backend.js';
import { laneQueueContract } from './testing/lane-queue-contract.js';

describe('the lane queue on PostgreSQL', () => {
  let server: OwnServer;
  let urls: { url: string; ownerUrl: string };

  beforeAll(async () => {
    server = await startOwnServer();
    urls = await server.migratedDatabase();
    // BullMQ makes a queue's id sequence at its first use, which our role may not: the bell must do without.
    await asSuperuser(
      'DROP SEQUENCE IF EXISTS bullmq.bullmq_jid_' + createHash('md5').update('device-lane').digest('hex'),
    );
  });
  afterAll(() => server.remove());

  laneQueueContract({
    // As the programs do: with the role that owns nothing.
    backend: () => laneQueueBackend({ queueUrl: null, databaseUrl: urls.url }),
    dropConnections: async () => {
      const ended = await asSuperuser(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE usename = 'fiscal_app' AND application_name LIKE '%lane%'`,
      );
      expect(ended.length).toBeGreaterThan(0);
    },
    takeDown: () => server.kill(),
    bringBack: () => server.restart(),
    leaveStrayDeduplicationKey: async (deviceId) => {
      await asSuperuser(
        `INSERT INTO bullmq.dedup (queue, dedup_id, job_id) VALUES ('device-lane', '${deviceId}', '4711')`,
      );
    },
  });

  test('a worker that has met a short outage and has nothing to do claims on, and is not taken for deaf', async () => {
    const { backend, workers } = counted(laneQueueBackend({ queueUrl: null, databaseUrl: urls.url }));
    const quiet = { info: () => undefined, error: () => undefined };
    const listener = new LaneListener(backend, new QueueCounters(), quiet);
    listener.start(() => Promise.resolve(), { concurrency: 1, deafAfterMs: 20_000 });
    try {
      await untilTrue(() => listener.state === 'listening', 'listening');
      // Into its first wait.
      await delay(2_000);
      await server.kill();
      await delay(4_000);
      await server.restart();
      await delay(26_000);
      expect(workers()).toBe(1);
    } finally {
      await listener.close();
    }
  });

  async function asSuperuser(sql: string): Promise<unknown[]> {
    const url = new URL(server.adminUrl);
    url.pathname = new URL(urls.url).pathname;
    const client = new Client({ connectionString: url.href });
    await client.connect();
    try {
      return (await client.query(sql)).rows;
    } finally {
      await client.end();
    }
  }
});
