import { setTimeout as delay } from 'node:timers/promises';
import { sql } from '../../system/database.js';
import type { FaultCase } from '../frame/case.js';
import { Load, strikeAlong } from '../frame/load.js';
import { sessionsOf } from '../frame/sessions.js';
import { judge } from '../frame/truth.js';

const PAUSE_MS = 4_000;

export const relayPaused: FaultCase = {
  number: '4',
  name: 'SIGSTOP of a working relay for 4 s, its database sessions ended meanwhile',
  stage: 'fleet',
  full: { receipts: 1_500, strikes: 25 },
  tenth: { receipts: 150, strikes: 2 },
  maxSeconds: 600,
  async run({ stage: { system }, size, chance, prefix }) {
    const load = new Load(system.client, { prefix, chance, total: size.receipts, waitS: 10 });
    let ended = 0;
    const kills = await strikeAlong(load, { times: size.strikes, total: size.receipts, chance }, async () => {
      const relay = chance.pick(system.relays);
      relay.signal('SIGSTOP');
      try {
        await delay(chance.between(50, 500));
        const ports = sessionsOf(relay.pid ?? 0);
        const rows = await sql<{ done: boolean }>(
          system.database,
          `SELECT pg_terminate_backend(pid) AS done FROM pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid()
              AND CASE WHEN $1::int[] IS NULL THEN application_name LIKE 'device-relay%' ELSE client_port = ANY($1) END`,
          [ports],
        );
        ended += rows.length;
        await delay(PAUSE_MS);
      } finally {
        relay.signal('SIGCONT');
      }
    });
    await load.end();
    const verdict = await judge(system, [load], { prefix, tills: system.merchant.tills });
    if (ended === 0) verdict.failures.push('not one session was ended');
    return { ...verdict, kills, figures: [`${ended} sessions ended`] };
  },
};
