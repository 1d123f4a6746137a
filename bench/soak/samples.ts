import { readdirSync, readFileSync } from 'node:fs';
import { sql } from '../../test/system/database.js';
import type { Program } from '../../test/system/program.js';
import type { TestSystem } from '../../test/system/system.js';
import { judgeSlope, type Judged } from './slope.js';

/** Their rows are kept, so that their size follows the sales; judged is what each sale takes. */
/** A partition counts for its table. */
const TABLE = `coalesce((SELECT i.inhparent::regclass::text FROM pg_inherits i WHERE i.inhrelid = c.oid), c.relname)`;
const LEDGER = ['receipts', 'attempts', 'events', 'payments', 'payment_calls', 'webhook_deliveries', 'audit_events'];
const MIB = 2 ** 20;

interface Sample {
  /** Resident memory, MiB, and open descriptors of the programs that live through the whole run. */
  programs: Map<string, { memory: number; handles: number }>;
  connections: number;
  /** MiB of all tables whose rows do not stay. */
  passing: number;
  /** Bytes of the others for each receipt. */
  perReceipt: number;
}

/** Measures between two faults, when what the last one broke has healed. */
export class Samples {
  private readonly taken: Sample[] = [];

  constructor(
    private readonly system: TestSystem,
    private readonly survivors: readonly Program[],
  ) {}

  /** The last one in words. */
  get latest(): string {
    const sample = this.taken.at(-1);
    if (!sample) return 'nothing measured';
    const programs = [...sample.programs].map(
      ([name, { memory, handles }]) => `${name} ${memory.toFixed(0)} MiB ${String(handles)} handles`,
    );
    const { connections, passing, perReceipt } = sample;
    return `${programs.join(', ')}, ${String(connections)} connections, ${passing.toFixed(1)} MiB passing, ${perReceipt.toFixed(0)} B a receipt`;
  }

  async take(): Promise<void> {
    const programs = new Map(this.survivors.map((program) => [program.name, measure(program)]));
    this.taken.push({ programs, ...(await this.measureDatabase()) });
  }

  judge(): Judged[] {
    const of = (name: string, read: (sample: Sample) => number, allowance: number, share: number): Judged =>
      judgeSlope({ name, values: this.taken.map(read), allowance, share });
    const ofPrograms = this.survivors.flatMap(({ name }) => [
      of(`${name}: memory, MiB`, ({ programs }) => programs.get(name)?.memory ?? Number.NaN, 16, 0.1),
      of(`${name}: handles`, ({ programs }) => programs.get(name)?.handles ?? Number.NaN, 8, 0.1),
    ]);
    return [
      ...ofPrograms,
      of('connections to PostgreSQL', ({ connections }) => connections, 4, 0.1),
      of('tables whose rows pass, MiB', ({ passing }) => passing, 4, 0.1),
      of('tables whose rows stay, bytes for each receipt', ({ perReceipt }) => perReceipt, 0, 0.1),
    ];
  }

  private async measureDatabase(): Promise<Omit<Sample, 'programs'>> {
    const [row] = await sql<{ connections: number; passing: number; staying: number; receipts: number }>(
      this.system.database,
      `SELECT (SELECT count(*)::int FROM pg_stat_activity
                WHERE datname = current_database() AND pid <> pg_backend_pid()) AS connections,
              sum(pg_total_relation_size(c.oid)) FILTER (WHERE NOT ${TABLE} = ANY($1))::float8 AS passing,
              sum(pg_total_relation_size(c.oid)) FILTER (WHERE ${TABLE} = ANY($1))::float8 AS staying,
              (SELECT count(*)::int FROM receipts) AS receipts
         FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE c.relkind = 'r' AND n.nspname NOT IN ('pg_catalog', 'information_schema')`,
      [LEDGER],
    );
    if (!row) throw new Error('the database says nothing of itself');
    const { connections, passing, staying, receipts } = row;
    return { connections, passing: passing / MIB, perReceipt: staying / Math.max(receipts, 1) };
  }
}

function measure({ name, pid, isRunning }: Program): { memory: number; handles: number } {
  if (pid === null || !isRunning) throw new Error(`${name} does not run any more`);
  const kib = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${String(pid)}/status`, 'utf8'))?.[1];
  return { memory: Number(kib) / 1_024, handles: readdirSync(`/proc/${String(pid)}/fd`).length };
}
