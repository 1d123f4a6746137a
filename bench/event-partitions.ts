import pg from 'pg';
import { PrismaService } from '#database';
import { createLogger, firstIdAt, newId } from '#runtime';
import { monthAt } from '../apps/device-relay/src/archive/testing/aged-partitions.js';
import { EventHorizon } from '../apps/gateway/src/notify/events/event-horizon.js';
import { EventReader } from '../apps/gateway/src/notify/events/event-reader.js';
import { MerchantsWithNews } from '../apps/gateway/src/notify/webhooks/merchants-with-news.js';
import { createTestDatabase } from '../libs/database/src/testing/index.js';
import { writeEvent } from '#ledger';
import { partitionsBesideOne, sessionSeconds } from './partition-costs.js';
import type { Figure } from './report.js';

export interface EventPartitionsLoad {
  rounds: number;
  merchants: number;
  eventsOfMerchant: number;
  /** Events that are written in a round, and pages that are read. */
  calls: number;
}

/** Months before this one that have events, beside the one under way and those that are made ahead. */
const MONTHS = 3;
const DAY_MS = 86_400_000;
const LOG = createLogger('bench', 'silent');

/** What PostgreSQL computes for each, seconds. */
interface Costs {
  write: number;
  page: number;
  /** All merchants are asked about; none has news. */
  planning: number;
}

/**
 * What events in partitions by month cost the statements of sales and readers, against the same events in one table; and for how long a month
 * that leaves shuts them. Processor time of the session at the server, so that other work on the machine does not count.
 */
export async function benchEventPartitions(load: EventPartitionsLoad): Promise<Figure[]> {
  const [one, parts] = [await Events.open(load, false), await Events.open(load, true)];
  try {
    const figures = await partitionsBesideOne([one, parts], load.rounds, NAMES);
    return [...figures, ...(await parts.release())];
  } finally {
    await one.close();
    await parts.close();
  }
}

const NAMES: Readonly<Record<keyof Costs, string>> = {
  write: 'an event is written',
  page: 'the next 100 of a merchant are read',
  planning: 'the planner finds no news of any merchant',
};

class Events {
  /** In each round all merchants are asked about, as every ten seconds in each gateway: of recent events after the first time. */
  private readonly news: MerchantsWithNews;

  private constructor(
    private readonly load: EventPartitionsLoad,
    private readonly database: Awaited<ReturnType<typeof createTestDatabase>>,
    private readonly owner: pg.Client,
    private readonly prisma: PrismaService,
    private readonly merchants: readonly string[],
  ) {
    const every = { sweepMs: 0, sweepAllMs: Number.POSITIVE_INFINITY };
    this.news = new MerchantsWithNews(prisma, new EventHorizon(prisma, LOG), every);
  }

  static async open(load: EventPartitionsLoad, isPartitioned: boolean): Promise<Events> {
    const database = await createTestDatabase();
    const owner = new pg.Client({ connectionString: database.ownerUrl });
    await owner.connect();
    await (isPartitioned ? makeMonths(owner) : makeOneTable(owner));
    const merchants = Array.from({ length: load.merchants }, () => newId('mer')).sort();
    await owner.query(
      `INSERT INTO merchants (id, code, name, tin) SELECT id, id, 'M', '300000000' FROM unnest($1::text[]) AS id`,
      [merchants],
    );
    for (let month = MONTHS; month >= 0; month -= 1)
      await owner.query(
        `INSERT INTO events (id, merchant_id, type, subject_id, data)
         SELECT $1 || lpad(row_number() OVER ()::text, 16, '0'), m.id, 'receipt.registered', 'rcp_' || n, '{"receipt_id": "rcp"}'
           FROM generate_series(1, $2::int4) AS n, unnest($3::text[]) AS m(id)`,
        [firstIdAt('evt', new Date(Date.now() - month * 31 * DAY_MS)), load.eventsOfMerchant / (MONTHS + 1), merchants],
      );
    await owner.query(`INSERT INTO webhook_cursors (merchant_id, position)
      SELECT merchant_id, max(position) FROM events GROUP BY merchant_id`);
    await owner.query('VACUUM ANALYZE');
    const prisma = new PrismaService({
      url: database.url,
      poolSize: 1,
      applicationName: 'bench',
      lockTimeoutMs: 5_000,
    });
    return new Events(load, database, owner, prisma, merchants);
  }

  async close(): Promise<void> {
    await this.prisma.$disconnect();
    await this.owner.end();
    await this.database.drop();
  }

  async costs(): Promise<Costs> {
    const horizon = new EventHorizon(this.prisma, LOG);
    const reader = new EventReader(this.prisma, horizon);
    const [merchantId = ''] = this.merchants;
    const first = await this.prisma.$queryRaw<{ position: bigint }[]>`
      SELECT min(position) AS position FROM events WHERE merchant_id = ${merchantId}`;
    const planning = await sessionSeconds(this.prisma, async () => {
      while ((await this.news.next()).isMore);
    });
    const page = await sessionSeconds(this.prisma, async () => {
      for (let call = 0; call < this.load.calls; call += 1)
        await reader.readAfter(merchantId, first[0]?.position ?? 0n, 100);
    });
    const write = await sessionSeconds(this.prisma, async () => {
      for (let call = 0; call < this.load.calls; call += 1)
        await writeEvent(this.prisma, { merchantId, type: 'receipt.registered', subjectId: 'rcp_x', data: {} });
    });
    await this.owner.query(
      `UPDATE webhook_cursors SET position = (SELECT max(position) FROM events WHERE merchant_id = $1) WHERE merchant_id = $1`,
      [merchantId],
    );
    return { write: write / this.load.calls, page: page / this.load.calls, planning };
  }

  /** Takes the oldest month off, beside one who writes. */
  async release(): Promise<Figure[]> {
    let [isOver, slowestMs] = [false, 0];
    const seller = (async (): Promise<void> => {
      while (!isOver) {
        const begunMs = performance.now();
        const merchantId = this.merchants[0] ?? '';
        await writeEvent(this.prisma, { merchantId, type: 'receipt.registered', subjectId: 'rcp_x', data: {} });
        slowestMs = Math.max(slowestMs, performance.now() - begunMs);
      }
    })();
    const begunMs = performance.now();
    for (let step = ''; step !== 'released';)
      step = await this.owner.query<{ step: string }>('SELECT release_event_partitions(30) AS step').then(
        ({ rows }) => rows[0]?.step ?? '',
        (error: unknown) => {
          if (error instanceof pg.DatabaseError && error.code === '55P03') return 'gave way';
          throw error;
        },
      );
    const tookMs = performance.now() - begunMs;
    isOver = true;
    await seller;
    return [
      { name: 'a month leaves', value: tookMs, unit: 'ms' },
      { name: 'the longest that an event waited beside it', value: slowestMs, unit: 'ms' },
    ];
  }
}

/** As a database that was converted some months ago. */
async function makeMonths(owner: pg.Client): Promise<void> {
  const { rows } = await owner.query<{ name: string }>(`SELECT name FROM partitions_of('events')`);
  for (const { name } of rows) await owner.query(`DROP TABLE parts.${name}`);
  const bound = (month: number): string => firstIdAt('evt', monthAt(month));
  const create = (name: string, bounds: string): Promise<unknown> =>
    owner.query(`SELECT create_partition('events', $1, $2)`, [`events_${name}`, bounds]);
  await create('first', `FROM (MINVALUE) TO ('${bound(-MONTHS + 1)}')`);
  for (let month = -MONTHS + 1; month < 4; month += 1)
    await create(`month_${month + MONTHS}`, `FROM ('${bound(month)}') TO ('${bound(month + 1)}')`);
  await create('last', `FROM ('${bound(4)}') TO (MAXVALUE)`);
}

/** As it was before it was converted. */
async function makeOneTable(owner: pg.Client): Promise<void> {
  await owner.query(`
    CREATE TABLE one (LIKE events INCLUDING ALL);
    ALTER SEQUENCE events_position_seq OWNED BY NONE;
    DROP TABLE events;
    ALTER TABLE one RENAME TO events;
    ALTER TABLE events DROP CONSTRAINT one_pkey, ADD PRIMARY KEY (position);
    CREATE TRIGGER events_written_early BEFORE INSERT OR UPDATE ON events
      FOR EACH STATEMENT EXECUTE FUNCTION events_written_early();
    GRANT SELECT, INSERT ON events TO fiscal_app`);
}
