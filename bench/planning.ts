import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { PrismaService } from '#database';
import { createLogger, newId } from '#runtime';
import { EventHorizon } from '../apps/gateway/src/notify/events/event-horizon.js';
import { MerchantsWithNews } from '../apps/gateway/src/notify/webhooks/merchants-with-news.js';
import { createTestDatabase } from '../libs/database/src/testing/index.js';
import { secondsOf } from './processor-time.js';
import type { Figure } from './report.js';

const EVENTS_OF_MERCHANT = 20;
const POLL_EVERY_MS = 500;

/**
 * What it takes PostgreSQL, beside a gateway at rest, that the planner of deliveries asks twice a second whose events are new: where all
 * merchants are asked about each time, and as it is.
 */
export async function benchPlanning({ merchants, seconds }: { merchants: number; seconds: number }): Promise<Figure[]> {
  const database = await createTestDatabase();
  const owner = new pg.Client({ connectionString: database.ownerUrl });
  await owner.connect();
  const prisma = new PrismaService({ url: database.url, poolSize: 1, applicationName: 'bench', lockTimeoutMs: 5_000 });
  try {
    const ids = Array.from({ length: merchants }, () => newId('mer')).sort();
    await owner.query(
      `INSERT INTO merchants (id, code, name, tin) SELECT id, id, 'M', '300000000' FROM unnest($1::text[]) AS id`,
      [ids],
    );
    await owner.query(
      `INSERT INTO events (id, merchant_id, type, subject_id, data)
       SELECT 'evt_' || m.id || n, m.id, 'receipt.registered', 'rcp_' || n, '{}' FROM generate_series(1, $1::int4) AS n, unnest($2::text[]) AS m(id)`,
      [EVENTS_OF_MERCHANT, ids],
    );
    await owner.query(
      'INSERT INTO webhook_cursors (merchant_id, position) SELECT merchant_id, max(position) FROM events GROUP BY merchant_id',
    );
    await owner.query('VACUUM ANALYZE');
    const horizon = new EventHorizon(prisma, createLogger('bench', 'silent'));
    const all = await spentBeside(
      prisma,
      new MerchantsWithNews(prisma, horizon, { sweepMs: 0, sweepAllMs: 0 }),
      seconds,
    );
    const now = await spentBeside(prisma, new MerchantsWithNews(prisma, horizon), seconds);
    const unit = 'ms of PostgreSQL a second';
    return [
      { name: `${merchants} merchants at rest, all are asked about each time`, value: all * 1e3, unit },
      { name: `${merchants} merchants at rest, as it is`, value: now * 1e3, unit },
      { name: 'as it is to all each time', value: now / all, unit: '×' },
    ];
  } finally {
    await prisma.$disconnect();
    await owner.end();
    await database.drop();
  }
}

/** @returns seconds of processor time of its session, for each second */
async function spentBeside(prisma: PrismaService, news: MerchantsWithNews, seconds: number): Promise<number> {
  while ((await news.next()).isMore);
  const [session] = await prisma.$queryRaw<{ pid: number }[]>`SELECT pg_backend_pid() AS pid`;
  const [before, begunMs] = [secondsOf(session?.pid ?? null), performance.now()];
  for (let poll = 0; poll < (seconds * 1e3) / POLL_EVERY_MS; poll += 1) {
    while ((await news.next()).isMore);
    await delay(POLL_EVERY_MS);
  }
  return (secondsOf(session?.pid ?? null) - before) / ((performance.now() - begunMs) / 1e3);
}
