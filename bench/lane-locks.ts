import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { AdvisoryLaneLocks } from '../apps/device-relay/src/lanes/advisory-lane-locks.js';
import { createLogger } from '../libs/runtime/src/logger.js';
import { createTestDatabase } from '../libs/database/src/testing/test-database.js';
import { behindDelay } from '../test/system/delaying-proxy.js';
import type { Figure } from './report.js';
import { median } from './statistics.js';

const LANES = 2_000;
/** Lanes in hand at the same time: the places of one relay. */
const PLACES = 200;
const SPACE = 0x4c41;

/** One way to hold lanes; `take` and `release` of different lanes overlap. */
interface Locks {
  take(lane: number): Promise<boolean>;
  release(lane: number): Promise<void>;
  close(): Promise<void>;
}

type Way = (url: string) => Promise<Locks>;

/** Lanes that one relay takes and releases in a second, at 0 and at 10 ms to the database (docs/adr/0050-lane-locks-in-groups.md). */
export async function benchLaneLocks({ rounds, seconds }: { rounds: number; seconds: number }): Promise<Figure[]> {
  const database = await createTestDatabase();
  const owner = new pg.Client({ connectionString: database.ownerUrl });
  await owner.connect();
  try {
    await owner.query(
      'CREATE TABLE lane_leases (lane int PRIMARY KEY, holder text, until timestamptz) WITH (fillfactor = 50)',
    );
    await owner.query('INSERT INTO lane_leases SELECT generate_series(1, $1)', [LANES]);
    await owner.query('GRANT ALL ON lane_leases TO PUBLIC');
    const ways: [string, Way][] = [
      ['one session, a statement for each lane', sessions(1)],
      ['4 sessions', sessions(4)],
      ['16 sessions', sessions(16)],
      ['a lease row for each lane, pool of 12', leases(12)],
      ['lease rows in groups, pool of 12', groupedLeases(12)],
      ['one session, statements in groups', grouped],
    ];
    const figures: Figure[] = [];
    for (const roundTripMs of [0, 10]) {
      for (const [name, way] of ways) {
        const line = await behindDelay(database.url, roundTripMs);
        const locks = await way(roundTripMs === 0 ? database.url : line.url);
        const [xidBefore, walBefore] = await writtenBy(owner);
        const rates: number[] = [];
        const processor = process.cpuUsage();
        let total = 0;
        for (let round = 0; round < rounds; round += 1) {
          const { taken, tookMs } = await runFor(locks, seconds);
          total += taken;
          rates.push((taken * 1_000) / tookMs);
        }
        const { user, system } = process.cpuUsage(processor);
        const [xidAfter, walAfter] = await writtenBy(owner);
        await locks.close();
        await line.close();
        const title = `${name}, ${roundTripMs} ms`;
        figures.push({ name: `lanes taken and released: ${title}`, value: median(rates), unit: 'lanes/s' });
        figures.push({
          name: `processor time of the relay: ${title}`,
          value: (user + system) / total,
          unit: 'µs/lane',
        });
        figures.push({ name: `transaction ids: ${title}`, value: (xidAfter - xidBefore) / total, unit: 'a lane' });
        figures.push({ name: `log: ${title}`, value: (walAfter - walBefore) / total, unit: 'bytes/lane' });
      }
    }
    return figures;
  } finally {
    await owner.end();
    await database.drop();
  }
}

async function writtenBy(owner: pg.Client): Promise<[number, number]> {
  const { rows } = await owner.query<{ xid: string; wal: string }>(
    `SELECT pg_snapshot_xmax(pg_current_snapshot())::text AS xid, (pg_current_wal_insert_lsn() - '0/0')::text AS wal`,
  );
  return [Number(rows[0]?.xid), Number(rows[0]?.wal)];
}

async function runFor(locks: Locks, seconds: number): Promise<{ taken: number; tookMs: number }> {
  const begun = performance.now();
  const end = performance.now() + seconds * 1_000;
  let next = 0;
  let taken = 0;
  const work = async (): Promise<void> => {
    while (performance.now() < end) {
      next = (next % LANES) + 1;
      const lane = next;
      if (!(await locks.take(lane))) continue;
      await locks.release(lane);
      taken += 1;
    }
  };
  await Promise.all(Array.from({ length: PLACES }, work));
  return { taken, tookMs: performance.now() - begun };
}

/** Session advisory locks; each lane belongs to one of so many sessions. */
function sessions(count: number): Way {
  return async (url) => {
    const clients = await Promise.all(
      Array.from({ length: count }, async () => {
        const client = new pg.Client({ connectionString: url });
        await client.connect();
        return client;
      }),
    );
    const of = (lane: number): pg.Client => {
      const client = clients[lane % count];
      if (!client) throw new Error('no sessions');
      return client;
    };
    return {
      take: async (lane) => {
        const query = { name: 'take', text: 'SELECT pg_try_advisory_lock($1, $2) AS locked', values: [SPACE, lane] };
        return (await of(lane).query<{ locked: boolean }>(query)).rows[0]?.locked === true;
      },
      release: async (lane) => {
        await of(lane).query({ name: 'release', text: 'SELECT pg_advisory_unlock($1, $2)', values: [SPACE, lane] });
      },
      close: async () => {
        await Promise.all(clients.map((client) => client.end()));
      },
    };
  };
}

/** A row says who holds the lane and until when; its commit need not wait for the disk. */
function leases(size: number): Way {
  return (url) => {
    const pool = leasePool(url, size);
    return Promise.resolve({
      take: async (lane) => {
        const taken = await pool.query({
          name: 'take',
          text: `UPDATE lane_leases SET holder = 'me', until = now() + interval '30 s'
                  WHERE lane = $1 AND (holder IS NULL OR until < now())`,
          values: [lane],
        });
        return taken.rowCount === 1;
      },
      release: async (lane) => {
        await pool.query({
          name: 'release',
          text: `UPDATE lane_leases SET holder = NULL WHERE lane = $1 AND holder = 'me'`,
          values: [lane],
        });
      },
      close: () => pool.end(),
    });
  };
}

function leasePool(url: string, size: number): pg.Pool {
  return new pg.Pool({ connectionString: url, max: size, options: '-c synchronous_commit=off' });
}

interface Wanted {
  lane: number;
  release: boolean;
  resolve: (done: boolean) => void;
}

function groupedLeases(size: number): Way {
  return (url) => {
    const pool = leasePool(url, size);
    let waiting: Wanted[] = [];
    let busy = false;
    const flush = async (): Promise<void> => {
      busy = true;
      while (waiting.length > 0) {
        const group = waiting;
        waiting = [];
        const { rows } = await pool.query<{ lane: number }>({
          name: 'group',
          text: `UPDATE lane_leases l SET holder = CASE WHEN w.release THEN NULL ELSE 'me' END, until = now() + interval '30 s'
                   FROM unnest($1::int[], $2::bool[]) AS w(lane, release)
                  WHERE l.lane = w.lane AND (w.release OR l.holder IS NULL OR l.until < now()) RETURNING l.lane`,
          values: [group.map(({ lane }) => lane), group.map(({ release }) => release)],
        });
        const done = new Set(rows.map(({ lane }) => lane));
        for (const { lane, resolve } of group) resolve(done.has(lane));
      }
      busy = false;
    };
    const want = (lane: number, release: boolean): Promise<boolean> =>
      new Promise((resolve) => {
        waiting.push({ lane, release, resolve });
        if (!busy) setImmediate(() => void (busy || flush()));
      });
    return Promise.resolve({
      take: (lane) => want(lane, false),
      release: async (lane) => {
        await want(lane, true);
      },
      close: () => pool.end(),
    });
  };
}

/** As the relay does it. */
const grouped: Way = async (url) => {
  const locks = new AdvisoryLaneLocks({ databaseUrl: url, relayId: 'rly_bench' }, createLogger('bench', 'silent'));
  locks.onApplicationBootstrap();
  while (!locks.isConnected) await delay(10);
  const held = new Map<number, () => Promise<void>>();
  return {
    take: async (lane) => {
      const laneLock = await locks.tryTake(lane);
      if (laneLock) held.set(lane, () => laneLock.release());
      return laneLock !== null;
    },
    release: async (lane) => {
      const release = held.get(lane);
      held.delete(lane);
      await release?.();
    },
    close: () => locks.onApplicationShutdown(),
  };
};
