import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { freePorts } from '../libs/runtime/src/testing/free-ports.js';
import { startSystem } from '../test/system/system.js';
import { benchHealth } from './health.js';
import { benchLink } from './link.js';
import type { Figure } from './report.js';
import { median } from './statistics.js';

/** Many registers: links, polls, failover. (One of twenty that swallows everything: `npm run test:faults -- 9`.) */
export async function benchFleet(load: {
  link: Parameters<typeof benchLink>[0];
  health: Parameters<typeof benchHealth>[0];
  failovers: number;
}): Promise<Figure[]> {
  return [
    ...(await benchLink(load.link)),
    ...(await benchHealth(load.health)),
    ...(await benchFailover(load.failovers)),
  ];
}

/** From the moment in which a register counts as away until the last of its waiting receipts has moved. */
async function benchFailover(failovers: number): Promise<Figure[]> {
  const system = await startSystem({ registers: 2, profile: { failoverAfterMs: 0 } });
  const database = new pg.Client({ connectionString: system.database.ownerUrl });
  await database.connect();
  try {
    const [till] = system.merchant.tills;
    const seconds: number[] = [];
    for (let failover = 0; failover < failovers; failover += 1) {
      // No listener there: every try is refused, nothing is ever sent.
      await moveTo(database, till?.deviceId, `http://127.0.0.1:${await freePorts(1)}`);
      const ids: string[] = [];
      for (let sold = 0; sold < 20; sold += 1) {
        const sale = system.client.saleOf(0, { device_id: till?.deviceId });
        const { body } = await system.client.post('/v1/receipts', sale, { prefer: 'respond-async' });
        ids.push(String(body.id));
      }
      seconds.push(await secondsUntilMoved(database, till?.deviceId, ids));
      await moveTo(database, till?.deviceId, till?.registerUrl);
      await database.query("UPDATE lanes SET due_at = NULL, failures = 0; UPDATE devices SET state = 'online'");
    }
    return [
      {
        name: 'failover: register away → its receipts moved, median',
        value: median(seconds),
        unit: 's',
        target: '≤ 2',
      },
      { name: 'failover: the slowest', value: Math.max(...seconds), unit: 's' },
    ];
  } finally {
    await database.end();
    await system.stop();
  }
}

async function moveTo(database: pg.Client, deviceId: string | undefined, url: string | undefined): Promise<void> {
  await database.query('UPDATE devices SET base_url = $2 WHERE id = $1', [deviceId, url]);
}

async function secondsUntilMoved(database: pg.Client, deviceId: string | undefined, ids: string[]): Promise<number> {
  const deadlineMs = performance.now() + 60_000;
  while (performance.now() < deadlineMs) {
    // A receipt that was accepted after the register had been given up counts from its own acceptance.
    const { rows } = await database.query<{ left: number; seconds: number }>(
      `SELECT count(*) FILTER (WHERE e.id IS NULL)::int AS left,
              extract(epoch FROM max(e.created_at - greatest(d.state_since, r.created_at)))::float8 AS seconds
         FROM receipts r JOIN devices d ON d.id = $1
         LEFT JOIN events e ON e.subject_id = r.id AND e.type = 'receipt.moved'
        WHERE r.id = ANY($2)`,
      [deviceId, ids],
    );
    if (rows[0]?.left === 0) return rows[0].seconds;
    await delay(100);
  }
  throw new Error('the receipts were not moved within a minute');
}
