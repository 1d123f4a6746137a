import { Prisma } from '#database';
import type { RunStatement } from '../attempts/hold-from-copy.js';
import { digestOfLine, idOfLine } from './archive-files.js';

/**
 * Whose rows leave one by one, as only the row itself says whether it may (`attempt_may_leave`, `receipts_that_may_leave` and `payments_that_may_leave` of
 * the database). Attempts come first: a receipt stays as long as it has any. A payment leaves with its receipts.
 */
export const LEAVING_TABLES = ['attempts', 'receipts', 'payments'] as const;
export type LeavingTable = (typeof LEAVING_TABLES)[number];

/** Those of them that stand in partitions, which go when all their rows have left. */
export const EMPTIED_TABLES = ['attempts', 'receipts'] as const;

/** Days that rows are kept in the database. A payment is kept as receipts are. */
export type KeepDays = Readonly<Record<(typeof EMPTIED_TABLES)[number], number>>;

export function daysKept(of: LeavingTable, days: KeepDays): number {
  return of === 'attempts' ? days.attempts : days.receipts;
}

/** Of ids, by which rows are in the order of their making. */
export const LEAVING_PREFIX: Readonly<Record<LeavingTable, string>> = {
  attempts: 'att',
  receipts: 'rcp',
  payments: 'pay',
};

/** Which of its rows a statement reads, and what is old. */
export interface Scan {
  after: string;
  upTo: string;
  before: Date;
  limit: number;
}

/** What is to leave of a scan, and where the next one goes on; null: there are no more. */
export interface Scanned {
  due: { id: string; line: string }[];
  last: string | null;
}

interface Parts {
  table: Prisma.Sql;
  /** Whether a row `p` of `page` is to leave. */
  mayLeave: (before: Date) => Prisma.Sql;
  /** What leaves with it, itself among them: `id` and `line`, in their order. */
  lines: Prisma.Sql;
}

const PARTS: Readonly<Record<LeavingTable, Parts>> = {
  attempts: {
    table: Prisma.raw('attempts'),
    mayLeave: (before) => Prisma.sql`attempt_may_leave(p.whole, ${before}::timestamptz)`,
    lines: Prisma.raw('SELECT p.id, attempt_line(p.whole) AS line'),
  },
  // A refund leaves with its sale, and what was paid online with its payment. The others of a page are judged together: one by one each takes several times as long.
  receipts: {
    table: Prisma.raw('receipts'),
    mayLeave: (before) => Prisma.sql`
      p.id = ANY (ARRAY(SELECT receipts_that_may_leave(
        ARRAY(SELECT o.id FROM page o
               WHERE (o.whole).payment_id IS NULL AND NOT EXISTS (SELECT FROM receipts s WHERE s.id = (o.whole).refund_of)),
        ${before}::timestamptz)))`,
    lines: Prisma.raw(`
      SELECT p.id, receipt_line(p.whole) AS line
      UNION ALL
      (SELECT f.id, receipt_line(f) FROM receipts f WHERE f.refund_of = p.id ORDER BY f.id)`),
  },
  payments: {
    table: Prisma.raw('payments'),
    mayLeave: (before) => Prisma.sql`
      p.id = ANY (ARRAY(SELECT payments_that_may_leave(ARRAY(SELECT o.id FROM page o), ${before}::timestamptz)))`,
    lines: Prisma.raw('SELECT p.id, payment_line(p.whole) AS line'),
  },
};

/** The rows of a scan as `page`, and whether one `p` of them is to leave. */
function scanOf(of: LeavingTable, { after, upTo, before, limit }: Scan): { page: Prisma.Sql; isDue: Prisma.Sql } {
  const { table, mayLeave } = PARTS[of];
  // A row that is here came back, and its archive will take it again. One that this archive did not take leaves with another.
  const stands = Prisma.raw(
    `EXISTS (SELECT FROM archived_${of} k JOIN archives r ON r.name = k.archive WHERE k.id = p.id AND r.state <> 'removed')`,
  );
  return {
    page: Prisma.sql`
      page AS MATERIALIZED (
        SELECT a.id, a.created_at, a AS whole FROM ${table} a
         WHERE a.id > ${after} AND a.id < ${upTo} ORDER BY a.id LIMIT ${limit}::int4
      )`,
    isDue: Prisma.sql`(${mayLeave(before)} AND NOT ${stands})`,
  };
}

/**
 * What an archive would hold of the next rows in the order of their ids. So many are read, however few of them may leave: a statement takes no
 * longer where years of them stay.
 */
export async function scanRows(run: RunStatement, of: LeavingTable, scan: Scan): Promise<Scanned> {
  const { page, isDue } = scanOf(of, scan);
  const rows = await run<{ page_id: string; id: string | null; line: string | null }>(Prisma.sql`
    WITH ${page}, due AS MATERIALIZED (SELECT p.id FROM page p WHERE ${isDue})
    SELECT p.id AS page_id, x.id, x.line
      FROM page p LEFT JOIN LATERAL (SELECT l.id, l.line FROM due d, LATERAL (${PARTS[of].lines}) l WHERE d.id = p.id OFFSET 0) x ON true
     ORDER BY p.id, x.id IS DISTINCT FROM p.id, x.id`);
  const isAtEnd = new Set(rows.map((row) => row.page_id)).size < scan.limit;
  return {
    due: rows.flatMap(({ id, line }) => (id === null || line === null ? [] : [{ id, line }])),
    last: isAtEnd ? null : (rows.at(-1)?.page_id ?? null),
  };
}

/** Lines of an archive in groups of so many and a few more: a sale and its refunds, which follow it, are never parted. */
export async function* inFamilies(
  groups: AsyncIterable<readonly string[]>,
  atLeast: number,
): AsyncGenerator<readonly string[]> {
  let waiting: string[] = [];
  let family: unknown = null;
  for await (const group of groups)
    for (const line of group) {
      const { id, refund_of: sale } = JSON.parse(line) as { id?: unknown; refund_of?: unknown };
      const next = sale ?? id;
      if (waiting.length >= atLeast && next !== family) {
        yield waiting;
        waiting = [];
      }
      family = next;
      waiting.push(line);
    }
  if (waiting.length > 0) yield waiting;
}

/** Only rows that are still what these lines say. @returns how many of them are away with this archive then, also since an earlier process */
export async function removeArchived(
  run: RunStatement,
  of: LeavingTable,
  { name, lines }: { name: string; lines: readonly string[] },
): Promise<number> {
  const [table, archived, remove] = [of, `archived_${of}`, `remove_archived_${of}`].map((text) => Prisma.raw(text));
  const ids = lines.map(idOfLine);
  await run(Prisma.sql`SELECT ${remove}(${name}, ${ids}::text[], ${lines.map(digestOfLine)}::text[])`);
  const [row] = await run<{ away: number }>(Prisma.sql`
    SELECT count(*)::int4 AS away FROM ${archived} k
     WHERE k.id = ANY(${ids}::text[]) AND k.archive = ${name} AND NOT EXISTS (SELECT FROM ${table} a WHERE a.id = k.id OFFSET 0)`);
  return row?.away ?? 0;
}

/** The next rows in the order of their ids: the oldest that may leave, or how far there is none. */
export interface DueReading {
  /** Seconds by which it is older than it should be; null: none of these may leave. */
  behind: number | null;
  /** The last id that was read; null: there are no more. */
  last: string | null;
}

export async function readDue(run: RunStatement, of: LeavingTable, scan: Scan): Promise<DueReading> {
  const { page, isDue } = scanOf(of, scan);
  const [row] = await run<{ behind: number | null; last: string | null; read: number }>(Prisma.sql`
    WITH ${page}
    SELECT extract(epoch FROM ${scan.before}::timestamptz - min(p.created_at) FILTER (WHERE ${isDue}))::float8 AS behind,
           max(p.id) AS last, count(*)::int4 AS read
      FROM page p`);
  if (!row) throw new Error('the database returned nothing');
  return { behind: row.behind, last: row.read < scan.limit ? null : row.last };
}
