import pg from 'pg';
import { PrismaService } from '#database';
import { monthAt } from '../apps/device-relay/src/archive/testing/aged-partitions.js';
import { ReadLanes } from '../apps/device-relay/src/lanes/read-lanes.js';
import { createTestDatabase } from '../libs/database/src/testing/index.js';
import { firstIdAt } from '../libs/runtime/src/index.js';
import { partitionsBesideOne, sessionSeconds } from './partition-costs.js';
import { createLanes, deviceOf, ReceiptLife, type Sending } from './receipt-life.js';
import type { Figure } from './report.js';

export interface AttemptPartitionsLoad {
  rounds: number;
  /** Attempts of each month that is over. */
  perMonth: number;
  /** Statements of a kind in a round. */
  calls: number;
}

/** As many as are kept (ATTEMPTS_KEEP_DAYS), beside this one and those that are made ahead. */
const MONTHS = 13;
/** Lanes that write together. */
const TOGETHER = 8;

/** What PostgreSQL computes for each, seconds. */
interface Costs {
  intent: number;
  result: number;
  both: number;
  together: number;
  read: number;
}

const NAMES: Readonly<Record<keyof Costs, string>> = {
  intent: 'an intent is written',
  result: 'a result is written',
  both: 'a result and the next intent are written',
  together: `the same of each of ${TOGETHER} lanes that write together`,
  read: 'a lane with an open attempt is read',
};

/** What attempts in partitions by month cost the statements of a lane, against the same attempts in one table. */
export async function benchAttemptPartitions(load: AttemptPartitionsLoad): Promise<Figure[]> {
  const [one, parts] = [await Attempts.open(load, false), await Attempts.open(load, true)];
  try {
    return await partitionsBesideOne([one, parts], load.rounds, NAMES);
  } finally {
    await one.close();
    await parts.close();
  }
}

class Attempts {
  private readonly reading: ReadLanes;

  private constructor(
    private readonly calls: number,
    private readonly database: Awaited<ReturnType<typeof createTestDatabase>>,
    private readonly owner: pg.Client,
    private readonly prisma: PrismaService,
    private readonly life: ReceiptLife,
  ) {
    this.reading = new ReadLanes(prisma, 'rly_bench');
  }

  static async open({ perMonth, calls }: AttemptPartitionsLoad, isPartitioned: boolean): Promise<Attempts> {
    const database = await createTestDatabase();
    const owner = new pg.Client({ connectionString: database.ownerUrl });
    await owner.connect();
    await (isPartitioned ? makeMonths(owner) : makeOneTable(owner));
    await createLanes(owner, calls);
    // Without their receipts: what refers to them is not asked.
    const filler = new pg.Client({ connectionString: database.adminUrl });
    await filler.connect();
    await filler.query('SET session_replication_role = replica');
    for (let month = -MONTHS; month < 0; month += 1)
      await filler.query(
        `INSERT INTO attempts (id, receipt_id, device_id, number, state, baseline, request, relay_id, created_at, closed_at, outcome)
         SELECT first_id_at('att', at) || lpad(n::text, 16, '0'), first_id_at('rcp', at) || lpad(n::text, 16, '0'), 'dev_bench_' || 1 + n % ${TOGETHER}, 1,
                'registered', jsonb_build_object('b', repeat('b', 150)), decode(repeat('61', 700), 'hex'), 'rly', at, at, jsonb_build_object('o', repeat('o', 250))
           FROM generate_series(1, $1::int4) AS n, LATERAL (SELECT $2::timestamptz + n * interval '1 second' AS at) t`,
        [perMonth, monthAt(month)],
      );
    await filler.end();
    await owner.query('VACUUM ANALYZE');
    const options = { poolSize: 1, applicationName: 'bench', lockTimeoutMs: 5_000 };
    const prisma = new PrismaService({ url: database.url, ...options });
    return new Attempts(calls, database, owner, prisma, await ReceiptLife.on(owner, prisma));
  }

  async close(): Promise<void> {
    await this.prisma.$disconnect();
    await this.owner.end();
    await this.database.drop();
  }

  async costs(): Promise<Costs> {
    const { life, calls, prisma } = this;
    const each = async (count: number, work: (index: number) => Promise<void>): Promise<number> => {
      const seconds = await sessionSeconds(prisma, async () => {
        for (let index = 0; index < count; index += 1) await work(index);
      });
      return seconds / count;
    };
    const first = await this.acceptEach(calls);
    const sending: Sending[] = [];
    const intent = await each(calls, async (index) => {
      sending.push(await life.open(first[index] ?? '', 1 + index));
    });
    const read = await each(calls, async (index) => {
      const lane = await this.reading.read(deviceOf(1 + index), 10);
      if (lane?.openAttempt?.id !== sending[index]?.attemptId) throw new Error('another attempt is open');
    });
    const second = await this.acceptEach(calls);
    const both = await each(calls, async (index) => {
      sending[index] = await life.closeAndOpen(sending[index] as Sending, second[index] ?? '');
    });
    const third = await this.acceptEach(calls);
    const groups = await each(Math.floor(calls / TOGETHER), async (group) => {
      const lanes = Array.from({ length: TOGETHER }, (_, lane) => group * TOGETHER + lane);
      const begun = await Promise.all(
        lanes.map((index) => life.closeAndOpen(sending[index] as Sending, third[index] ?? '')),
      );
      for (const [at, index] of lanes.entries()) sending[index] = begun[at] as Sending;
    });
    const result = await each(calls, (index) => life.close(sending[index] as Sending));
    await this.owner.query('VACUUM receipts, attempts, lanes, attempt_claims');
    return { intent, result, both, together: groups / TOGETHER, read };
  }

  /** One receipt in each lane. */
  private async acceptEach(lanes: number): Promise<string[]> {
    const ids: string[] = [];
    for (let index = 0; index < lanes; index += 1) ids.push(await this.life.accept(1 + index));
    return ids;
  }
}

/** As a database that was converted more than a year ago. */
async function makeMonths(owner: pg.Client): Promise<void> {
  const { rows } = await owner.query<{ name: string }>("SELECT name FROM partitions_of('attempts')");
  for (const { name } of rows) await owner.query(`DROP TABLE parts.${name}`);
  await owner.query('ALTER TABLE parts.attempts_first DROP CONSTRAINT attempts_in_first');
  const bound = (month: number): string => `'${firstIdAt('rcp', monthAt(month))}'`;
  for (let month = -MONTHS; month < 4; month += 1)
    await owner.query('SELECT create_partition($1, $2, $3)', [
      ...['attempts', `attempts_month_${String(month + MONTHS)}`],
      `FROM (${bound(month)}) TO (${month === 3 ? `'rcp_t'` : bound(month + 1)})`,
    ]);
}

/** As it was before it was converted. */
async function makeOneTable(owner: pg.Client): Promise<void> {
  await owner.query(`
    CREATE TABLE one (LIKE attempts INCLUDING ALL) WITH (fillfactor = 75);
    DROP TABLE attempts CASCADE;
    ALTER TABLE one RENAME TO attempts;
    ALTER TABLE attempts DROP CONSTRAINT one_pkey;
    DROP INDEX one_id_idx;
    ALTER TABLE attempts ADD PRIMARY KEY (id), ADD FOREIGN KEY (receipt_id) REFERENCES receipts (id) ON UPDATE CASCADE ON DELETE RESTRICT;
    CREATE UNIQUE INDEX ON attempts (receipt_id, number);
    CREATE UNIQUE INDEX ON attempts (device_id) WHERE (state = 'open'::attempt_state);
    CREATE TRIGGER attempts_move_legally BEFORE UPDATE OF state ON attempts
      FOR EACH ROW EXECUTE FUNCTION attempts_move_legally();
    CREATE POLICY programs ON attempts TO fiscal_app USING (true) WITH CHECK (true);
    ALTER TABLE attempts ENABLE ROW LEVEL SECURITY;
    GRANT SELECT, INSERT, UPDATE ON attempts TO fiscal_app;
    CREATE OR REPLACE FUNCTION lane_attempt(lane text)
      RETURNS TABLE (id text, receipt_id text, baseline jsonb, request bytea, created_at timestamptz, outcome jsonb)
      LANGUAGE plpgsql STABLE ROWS 1 SET enable_sort = off AS $$
    BEGIN
      RETURN QUERY SELECT a.id, a.receipt_id, a.baseline, a.request, a.created_at::timestamptz, a.outcome FROM attempts a
                    WHERE a.device_id >= lane AND a.device_id <= lane AND a.state = 'open' ORDER BY a.device_id LIMIT 1;
    END $$`);
}
