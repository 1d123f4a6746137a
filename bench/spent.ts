import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { secondsOf, secondsOfServer } from './processor-time.js';
import type { Build } from './cost-builds.js';

/** What a piece of work took of the machine and of PostgreSQL. */
export interface Spent {
  /** Processor time by program, PostgreSQL among them, seconds. */
  seconds: Readonly<Record<string, number>>;
  transactions: number;
  walBytes: number;
}

const PUBLISHED_AFTER_MS = 1_200;

/** Where a receipt of ours leaves rows; its own table first. */
export const TABLES_OF_A_RECEIPT: readonly string[] = [
  ...['receipts', 'attempts', 'events', 'idempotency_claims', 'external_id_claims', 'registration_claims'],
];

/** What a table takes with its indexes, those of its partitions too: SQL, bytes. */
export function sizeOf(table: string): string {
  return `coalesce((SELECT sum(pg_total_relation_size(t.relid)) FROM pg_partition_tree('${table}') t), pg_total_relation_size('${table}'))`;
}

/** The sum over all programs. */
export function totalSeconds({ seconds }: Spent): number {
  return Object.values(seconds).reduce((sum, each) => sum + each, 0);
}

/**
 * Reads what a build takes, on a connection of its own that is not counted. PostgreSQL's part are all processes of its server but the
 * sessions of other databases: builds that are measured in turn share one server.
 */
export class Meter {
  private constructor(
    private readonly build: Build,
    private readonly client: pg.Client,
    private readonly ownPid: number,
  ) {}

  static async of(build: Build): Promise<Meter> {
    const client = new pg.Client({ connectionString: build.adminUrl });
    await client.connect();
    await client.query('CREATE EXTENSION IF NOT EXISTS pg_walinspect');
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    return new Meter(build, client, rows[0]?.pid ?? 0);
  }

  /** @param work ends when what it began is settled */
  async measure(work: () => Promise<void>): Promise<Spent> {
    const [counted, before] = [await this.count(), await this.seconds()];
    await work();
    const after = await this.seconds();
    // Sessions publish what they have counted a while after their last transaction.
    await delay(PUBLISHED_AFTER_MS);
    const now = await this.count();
    const spent = Object.entries(after).map(([name, value]) => [name, value - (before[name] ?? 0)]);
    return {
      seconds: Object.fromEntries(spent) as Record<string, number>,
      transactions: now.transactions - counted.transactions,
      walBytes: await walBytesBetween(this.client, counted.lsn, now.lsn),
    };
  }

  /** Sales that are accepted and have no end yet. */
  async underWay(): Promise<number> {
    const { rows } = await this.client.query<{ left: number }>(this.build.underWay);
    return rows[0]?.left ?? 0;
  }

  /** Of a sale: its rows, and all that its tables take with their indexes. */
  async bytesAtRest(): Promise<{ rows: number; whole: number }> {
    const sales = `(SELECT count(*) FROM ${this.build.tables[0] ?? ''})::float8`;
    const sum = (of: (table: string) => string): string => this.build.tables.map(of).join(' + ');
    const { rows } = await this.client.query<{ rows: number; whole: number }>(
      `SELECT (${sum((table) => `coalesce((SELECT sum(pg_column_size(t.*)) FROM ${table} t), 0)`)}) / ${sales} AS rows,
              (${sum(sizeOf)}) / ${sales} AS whole`,
    );
    return rows[0] ?? { rows: Number.NaN, whole: Number.NaN };
  }

  end(): Promise<void> {
    return this.client.end();
  }

  private async count(): Promise<{ transactions: number; lsn: string }> {
    await this.client.query('SELECT pg_stat_clear_snapshot()');
    const { rows } = await this.client.query<{ transactions: number; lsn: string }>(
      `SELECT (SELECT xact_commit FROM pg_stat_database WHERE datname = current_database())::float8 AS transactions,
              pg_current_wal_insert_lsn()::text AS lsn`,
    );
    if (!rows[0]) throw new Error('PostgreSQL does not say what it has done');
    return rows[0];
  }

  private async seconds(): Promise<Record<string, number>> {
    const { rows } = await this.client.query<{ pid: number }>(
      `SELECT pid FROM pg_stat_activity WHERE pid <> $1 AND (datname IS NULL OR datname = current_database())`,
      [this.ownPid],
    );
    const programs = Object.entries(this.build.programs).map(([name, all]): [string, number] => [
      name,
      all.reduce<number>((sum, pid) => sum + secondsOf(pid), 0),
    ]);
    return { ...Object.fromEntries(programs), PostgreSQL: secondsOfServer(rows.map(({ pid }) => pid)) };
  }
}

/**
 * Bytes of the log between two places of it, without the whole pages that follow each checkpoint: how many there are depends on how often
 * there is one. Needs the extension `pg_walinspect`.
 */
export async function walBytesBetween(client: pg.Client, from: string, to: string): Promise<number> {
  // At rest nothing may have been written, and of nothing PostgreSQL has no statistics.
  if (from === to) return 0;
  await client.query('SELECT pg_switch_wal()');
  const { rows } = await client.query<{ bytes: number }>(
    'SELECT sum(record_size)::float8 AS bytes FROM pg_get_wal_stats($1::pg_lsn, $2::pg_lsn)',
    [from, to],
  );
  return rows[0]?.bytes ?? Number.NaN;
}
