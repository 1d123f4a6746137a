import pg from 'pg';
import { createTestDatabase, makeHalfYears, sampleDocument } from '../libs/database/src/testing/index.js';
import { firstIdAt } from '../libs/runtime/src/index.js';
import { secondsOf } from './processor-time.js';
import type { Figure } from './report.js';
import { median, percentile } from './statistics.js';

export interface ReceiptPartitionsLoad {
  rounds: number;
  /** Receipts of each half-year. */
  perHalf: number;
  /** Statements of a kind in a round. */
  calls: number;
}

/** Five years are kept, the one that is under way among them. */
const HALVES = 10;
/** Years after the last receipt. */
const FAR_AHEAD = 40;
const AT_REST = `status <> ALL (ARRAY['awaiting_payment'::receipt_status, 'accepted'::receipt_status, 'sending'::receipt_status, 'unknown'::receipt_status])`;

/** The first moment of the half-year that is so many from this one. */
function startOf(half: number): Date {
  const now = new Date();
  return new Date(Date.UTC(now.getUTCFullYear(), (now.getUTCMonth() < 6 ? 0 : 6) + 6 * half, 1));
}

const boundOf = (half: number): string => firstIdAt('rcp', startOf(half));

/** From one half-year to another, as words of a statement: by operators of the partitions, which no index has. */
const within = (column: string, from: number, to: number): string =>
  `AND ${column} ~>=~ '${boundOf(from)}' AND ${column} ~<~ '${boundOf(to)}'`;

const refundsOf = (halves: string): string => `
  (SELECT coalesce(sum(f.total_tiyin), 0)::bigint FROM receipts f WHERE f.refund_of = r.id AND f.status <> ALL ('{rejected,cancelled}') ${halves})`;

/** Statements of the forms that the ledger and the search have, as they are and with the half-years named. $1: a receipt's id. */
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
    `SELECT id FROM receipts WHERE merchant_id = 'mer_bench' AND ${AT_REST} AND id < $1 ${isNamed ? `${within('id', -1, 1)} AND id >= '${boundOf(-1)}'` : ''}
      ORDER BY id DESC LIMIT 100`,
  'the first receipt that waits in a lane': () => `SELECT $1::text, id FROM lane_waiting('dev_bench_1', 1)`,
};

/**
 * What partitions of receipts by half-year cost a statement that is planned for its values, with a plan that fits all values and is kept, and with
 * the half-years named that it needs: why statements are as they are (docs/adr/0200-half-years-as-words-of-a-statement.md).
 */
export async function benchReceiptPartitions({ rounds, ...load }: ReceiptPartitionsLoad): Promise<Figure[]> {
  const [one, parts] = [await Receipts.open(load, false), await Receipts.open(load, true)];
  try {
    const figures: Figure[] = [];
    for (const [at, [name, textOf]] of Object.entries(STATEMENTS).entries()) {
      const kinds = [
        ['all in one partition', one, textOf(false), 'auto'],
        ['partitions', parts, textOf(false), 'auto'],
        ['partitions, plans kept', parts, textOf(false), 'force_generic_plan'],
        ['partitions, half-years named', parts, textOf(true), 'auto'],
      ] as const;
      const costs = new Map<string, number[]>(kinds.map(([kind]) => [kind, []]));
      for (let round = 0; round <= rounds; round += 1)
        for (const [kind, receipts, text, plans] of kinds) {
          // PostgreSQL takes 63 characters.
          const cost = await receipts.cost(`${String(at)} ${kind}`, text, plans);
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
    { perHalf, calls }: Omit<ReceiptPartitionsLoad, 'rounds'>,
    isPartitioned: boolean,
  ): Promise<Receipts> {
    const database = await createTestDatabase();
    // As a database that was converted five years ago.
    const halves = Array.from({ length: HALVES + 2 }, (_, half) => startOf(half - HALVES));
    // All in the one that has what is in none of them, as before any of them began.
    await makeHalfYears(database.ownerUrl, isPartitioned ? halves : [startOf(FAR_AHEAD)]);
    const client = new pg.Client({ connectionString: database.adminUrl });
    await client.connect();
    await client.query('SET session_replication_role = replica');
    for (let half = -HALVES; half <= 0; half += 1)
      await client.query(
        `INSERT INTO receipts (id, merchant_id, client_id, operation, body_hash, type, status, device_id, branch_id, document, total_tiyin,
                               vat_total_tiyin, terminal_id, receipt_seq, registered_at, evidence, ofd_status)
         SELECT $2 || lpad(n::text, 16, '0'), 'mer_bench', 'cli_bench', 'receipts', '', 'sale', 'registered', 'dev_bench_1', 'brn_bench', $3::jsonb,
                112000, 12000, 'UZ', n, now(), 'answer', 'sent' FROM generate_series(1, $1::int4) AS n`,
        [perHalf, boundOf(half), JSON.stringify(sampleDocument())],
      );
    await client.query('RESET session_replication_role');
    await client.query('VACUUM ANALYZE');
    // As the programs read and write: behind row-level security.
    await client.query('SET ROLE fiscal_app');
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    const ids = Array.from({ length: perHalf }, (_, row) => `${boundOf(0)}${String(row + 1).padStart(16, '0')}`);
    return new Receipts(calls, database, client, rows[0]?.pid ?? 0, ids);
  }

  async close(): Promise<void> {
    await this.client.end();
    await this.database.drop();
  }

  /** Seconds of processor time of a statement. */
  async cost(name: string, text: string, plans: string): Promise<number> {
    await this.client.query(`SET plan_cache_mode = ${plans}`);
    const before = secondsOf(this.pid);
    for (let call = 0; call < this.calls; call += 1)
      await this.client.query({ name, text, values: [this.ids[call % this.ids.length]] });
    return (secondsOf(this.pid) - before) / this.calls;
  }
}
