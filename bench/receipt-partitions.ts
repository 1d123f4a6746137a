import pg from 'pg';
import { monthAt } from '../apps/device-relay/src/archive/testing/aged-partitions.js';
import { createTestDatabase, sampleDocument } from '../libs/database/src/testing/index.js';
import { firstIdAt } from '../libs/runtime/src/index.js';
import { secondsOf } from './processor-time.js';
import type { Figure } from './report.js';
import { median, percentile } from './statistics.js';

export interface ReceiptPartitionsLoad {
  rounds: number;
  /** Receipts of each month. */
  perMonth: number;
  /** Statements of a kind in a round. */
  calls: number;
}

/** Five years are kept, and the next three months are made ahead. */
const MONTHS = 60;
const AHEAD = 4;
const AT_REST = `status <> ALL (ARRAY['awaiting_payment'::receipt_status, 'accepted'::receipt_status, 'sending'::receipt_status, 'unknown'::receipt_status])`;

/** The first id of the month that is so many months from this one. */
const boundOf = (month: number): string => firstIdAt('rcp', monthAt(month));

/** From one month to another, as words of a statement. */
const within = (column: string, from: number, to: number): string =>
  `AND ${column} >= '${boundOf(from)}' AND ${column} < '${boundOf(to)}'`;

const refundsOf = (months: string): string => `
  (SELECT coalesce(sum(f.total_tiyin), 0)::bigint FROM receipts f WHERE f.refund_of = r.id AND f.status <> ALL ('{rejected,cancelled}') ${months})`;

/** Statements of the forms that the ledger and the search have, as they are and with the months named. $1: a receipt's id. */
const STATEMENTS: Readonly<Record<string, (isNamed: boolean) => string>> = {
  'a receipt by its id': (isNamed) =>
    `SELECT r.* FROM receipts r WHERE r.id = $1 ${isNamed ? within('r.id', 0, 1) : ''}`,
  'the same with the sum of its refunds': (isNamed) =>
    `SELECT r.*, ${refundsOf(isNamed ? within('f.id', 0, 2) : '')} FROM receipts r WHERE r.id = $1 ${isNamed ? within('r.id', 0, 1) : ''}`,
  'a receipt whose id another row says': (isNamed) =>
    `SELECT r.* FROM (SELECT $1::text AS id OFFSET 0) g JOIN receipts r ON r.id = g.id ${isNamed ? within('r.id', 0, 1) : ''}`,
  'a move of it': (isNamed) =>
    `UPDATE receipts r SET updated_at = now() FROM (SELECT $1::text AS id OFFSET 0) g
      WHERE r.id = g.id AND r.status::text = 'registered' ${isNamed ? within('r.id', 0, 1) : ''}`,
  'a page of a merchant': (isNamed) =>
    `SELECT id FROM receipts WHERE merchant_id = 'mer_bench' AND ${AT_REST} AND id < $1 ${isNamed ? within('id', -1, 1) : ''}
      ORDER BY id DESC LIMIT 100`,
  'the first receipt that waits in a lane': () => `SELECT $1::text, id FROM lane_waiting('dev_bench_1', 1)`,
};

/**
 * What partitions of receipts by month would cost a statement as it is, and one that names the months which it needs: why they are not
 * made yet, and how they may be (docs/adr/0200-months-as-words-of-a-statement.md).
 */
export async function benchReceiptPartitions({ rounds, ...load }: ReceiptPartitionsLoad): Promise<Figure[]> {
  const [one, parts] = [await Receipts.open(load, false), await Receipts.open(load, true)];
  try {
    const figures: Figure[] = [];
    for (const [name, textOf] of Object.entries(STATEMENTS)) {
      const kinds = [
        ['one table', one, textOf(false)],
        [`${String(MONTHS + AHEAD)} partitions`, parts, textOf(false)],
        ['the months named', parts, textOf(true)],
      ] as const;
      const costs = new Map<string, number[]>(kinds.map(([kind]) => [kind, []]));
      for (let round = 0; round <= rounds; round += 1)
        for (const [kind, receipts, text] of kinds) {
          const cost = await receipts.cost(`${name}, ${kind}`, text);
          // The first one makes plans.
          if (round > 0) costs.get(kind)?.push(cost * 1e6);
        }
      for (const [kind, each] of costs)
        figures.push({
          ...{ name: `${name}: ${kind}`, value: median(each), unit: 'µs of PostgreSQL' },
          spread: [percentile(each, 25), percentile(each, 75)],
        });
    }
    return figures;
  } finally {
    await one.close();
    await parts.close();
  }
}

class Receipts {
  private constructor(
    private readonly calls: number,
    private readonly database: Awaited<ReturnType<typeof createTestDatabase>>,
    private readonly client: pg.Client,
    private readonly pid: number,
    private readonly ids: readonly string[],
  ) {}

  static async open(
    { perMonth, calls }: Omit<ReceiptPartitionsLoad, 'rounds'>,
    isPartitioned: boolean,
  ): Promise<Receipts> {
    const database = await createTestDatabase();
    const client = new pg.Client({ connectionString: database.adminUrl });
    await client.connect();
    if (isPartitioned) await makeMonths(client);
    await client.query('SET session_replication_role = replica');
    for (let month = -MONTHS; month <= 0; month += 1)
      await client.query(
        `INSERT INTO receipts (id, merchant_id, client_id, operation, body_hash, type, status, device_id, branch_id, document, total_tiyin,
                               vat_total_tiyin, terminal_id, receipt_seq, registered_at, evidence, ofd_status)
         SELECT $2 || lpad(n::text, 16, '0'), 'mer_bench', 'cli_bench', 'receipts', '', 'sale', 'registered', 'dev_bench_1', 'brn_bench', $3::jsonb,
                112000, 12000, 'UZ', n, now(), 'answer', 'sent' FROM generate_series(1, $1::int4) AS n`,
        [perMonth, boundOf(month), JSON.stringify(sampleDocument())],
      );
    await client.query('RESET session_replication_role');
    await client.query('VACUUM ANALYZE');
    // As the programs read and write: behind row-level security.
    await client.query('SET ROLE fiscal_app');
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    const ids = Array.from({ length: perMonth }, (_, row) => `${boundOf(0)}${String(row + 1).padStart(16, '0')}`);
    return new Receipts(calls, database, client, rows[0]?.pid ?? 0, ids);
  }

  async close(): Promise<void> {
    await this.client.end();
    await this.database.drop();
  }

  /** Seconds of processor time of a statement. */
  async cost(name: string, text: string): Promise<number> {
    const before = secondsOf(this.pid);
    for (let call = 0; call < this.calls; call += 1)
      await this.client.query({ name, text, values: [this.ids[call % this.ids.length]] });
    return (secondsOf(this.pid) - before) / this.calls;
  }
}

/** As a database that was converted five years ago, without what is not asked here. */
async function makeMonths(owner: pg.Client): Promise<void> {
  const { rows: indexes } = await owner.query<{ text: string }>(
    `SELECT pg_get_indexdef(indexrelid) AS text FROM pg_index WHERE indrelid = 'receipts'::regclass AND NOT indisprimary`,
  );
  await owner.query(`
    ALTER TABLE receipts RENAME TO before;
    CREATE TABLE receipts (LIKE before INCLUDING DEFAULTS INCLUDING CONSTRAINTS, PRIMARY KEY (id)) PARTITION BY RANGE (id);
    DROP TABLE before CASCADE;
    CREATE POLICY programs ON receipts TO fiscal_app USING (true) WITH CHECK (true);
    ALTER TABLE receipts ENABLE ROW LEVEL SECURITY;
    GRANT SELECT, UPDATE ON receipts TO fiscal_app;
    CREATE TABLE parts.receipts_first PARTITION OF receipts DEFAULT`);
  for (const { text } of indexes) await owner.query(text);
  for (let month = -MONTHS; month < AHEAD; month += 1)
    await owner.query(`
      CREATE TABLE parts.receipts_month_${String(month + MONTHS)} PARTITION OF receipts
        FOR VALUES FROM ('${boundOf(month)}') TO ('${month === AHEAD - 1 ? 'rcp_t' : boundOf(month + 1)}') WITH (fillfactor = 75)`);
}
