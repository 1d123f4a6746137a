import { Prisma } from '#database';
import type { RunStatement } from '../attempts/hold-from-copy.js';
import { digestOfLine } from './archive-files.js';

/**
 * Whose rows leave one by one, as only the row itself says whether it may: `…_may_leave` of the database. Attempts come first: a receipt
 * stays as long as it has any.
 */
export const LEAVING_TABLES = ['attempts', 'receipts'] as const;
export type LeavingTable = (typeof LEAVING_TABLES)[number];

/** Of ids, by which rows are in the order of their making. */
export const LEAVING_PREFIX: Readonly<Record<LeavingTable, string>> = { attempts: 'att', receipts: 'rcp' };

/** A row that was read in its order; null: it stays for now. */
export interface ScannedRow {
  id: string;
  line: string | null;
}

/** Which of its rows a statement reads, and what is old. */
export interface Scan {
  after: string;
  upTo: string;
  before: Date;
  limit: number;
}

interface Parts {
  table: Prisma.Sql;
  /** Of a row `a`. */
  line: Prisma.Sql;
  mayLeave: (before: Date) => Prisma.Sql;
}

const PARTS: Readonly<Record<LeavingTable, Parts>> = {
  attempts: partsOf('attempts', 'attempt'),
  receipts: partsOf('receipts', 'receipt'),
};

function partsOf(table: LeavingTable, one: string): Parts {
  // A row that is here came back, and its archive will take it again. One that this archive did not take leaves with another.
  const stands = Prisma.raw(
    `EXISTS (SELECT FROM archived_${table} k JOIN archives r ON r.name = k.archive WHERE k.id = a.id AND r.state <> 'removed')`,
  );
  const mayLeave = Prisma.raw(`${one}_may_leave`);
  return {
    ...{ table: Prisma.raw(table), line: Prisma.raw(`${one}_line(a)`) },
    mayLeave: (before) => Prisma.sql`(${mayLeave}(a, ${before}::timestamptz) AND NOT ${stands})`,
  };
}

/**
 * The next rows in the order of their ids, with what an archive would hold of them. So many are read, however few of them may leave: a
 * statement takes no longer where years of them stay.
 */
export function scanRows(
  run: RunStatement,
  of: LeavingTable,
  { after, upTo, before, limit }: Scan,
): Promise<ScannedRow[]> {
  const { table, line, mayLeave } = PARTS[of];
  return run<ScannedRow>(Prisma.sql`
    SELECT a.id, CASE WHEN ${mayLeave(before)} THEN ${line} END AS line
      FROM ${table} a WHERE a.id > ${after} AND a.id < ${upTo} ORDER BY a.id LIMIT ${limit}::int4`);
}

/** Only rows that are still what these lines say. @returns how many have left */
export async function removeArchived(
  run: RunStatement,
  of: LeavingTable,
  { name, lines }: { name: string; lines: readonly string[] },
): Promise<number> {
  const remove = Prisma.raw(`remove_archived_${of}`);
  const [row] = await run<{ removed: number }>(
    Prisma.sql`SELECT ${remove}(${name}, ${lines.map(idOf)}::text[], ${lines.map(digestOfLine)}::text[]) AS removed`,
  );
  return row?.removed ?? 0;
}

/** The next rows in the order of their ids: the oldest that may leave, or how far there is none. */
export interface DueReading {
  /** Seconds by which it is older than it should be; null: none of these may leave. */
  behind: number | null;
  /** The last id that was read; null: there are no more. */
  last: string | null;
}

export async function readDue(
  run: RunStatement,
  of: LeavingTable,
  { after, upTo, before, limit }: Scan,
): Promise<DueReading> {
  const { table, mayLeave } = PARTS[of];
  const [row] = await run<{ behind: number | null; last: string | null; read: number }>(Prisma.sql`
    SELECT extract(epoch FROM ${before}::timestamptz - min(b.created_at) FILTER (WHERE b.may_leave))::float8 AS behind,
           max(b.id) AS last, count(*)::int4 AS read
      FROM (SELECT a.id, a.created_at, ${mayLeave(before)} AS may_leave FROM ${table} a
             WHERE a.id > ${after} AND a.id < ${upTo} ORDER BY a.id LIMIT ${limit}::int4) b`);
  if (!row) throw new Error('the database returned nothing');
  return { behind: row.behind, last: row.read < limit ? null : row.last };
}

function idOf(line: string): string {
  const { id } = JSON.parse(line) as { id?: unknown };
  if (typeof id !== 'string') throw new Error('a line of an archive has no id');
  return id;
}
