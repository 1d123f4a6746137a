import { Prisma } from '#database';
import type { RunStatement } from '../attempts/hold-from-copy.js';
import type { ArchivedTable } from './archive-files.js';
import type { KeepDays } from './leaving-rows.js';

/** A row that was read in its order; null: there is nothing to keep of it. */
interface ReadRow {
  id: string;
  line: string | null;
}

/** What is kept in partitions, by month or, of receipts, by half-year, as `partitioned_tables` of the database lists them. */
export const PARTITIONED_TABLES = [
  ...(['webhook_deliveries', 'webhook_attempts', 'events'] as const),
  ...(['payment_calls', 'provider_callbacks', 'attempts', 'receipts'] as const),
] as const;
type PartitionedTable = (typeof PARTITIONED_TABLES)[number];

/**
 * One step on the way to partitions for three months ahead.
 * @returns `made`: there may be more to make; `enough`: there are; `crowded`: the last one has too many rows to be shut for
 */
export async function makeNextPartition(run: RunStatement, table: PartitionedTable): Promise<string> {
  const [row] = await run<{ step: string }>(Prisma.sql`SELECT make_next_partition(${table}) AS step`);
  return stepOf(row);
}

/** Events of one statement. */
const DATED_AT_ONCE = 1_000;

/**
 * Events of sandboxes with ids that programs of a release before made: behind all months (the migration sandbox_events_in_months). They are found before the
 * transaction has a number, for which readers of events wait: the last partition may be long.
 * @returns whether there may be more
 */
export async function dateSandboxEvents(run: RunStatement): Promise<boolean> {
  const found = await run<{ position: string }>(Prisma.sql`
    SELECT position::text FROM events
     WHERE id >= 'evt_t' AND id LIKE 'evt\\_test\\_%' AND length(id) = 35 LIMIT ${DATED_AT_ONCE}::int4`);
  if (found.length === 0) return false;
  const positions = found.map(({ position }) => position);
  const [row] = await run<{ dated: number }>(Prisma.sql`SELECT date_sandbox_events(${positions}::bigint[]) AS dated`);
  return found.length === DATED_AT_ONCE && (row?.dated ?? 0) > 0;
}

/** @returns `released`: there may be more; `none`: nothing is old enough; `held`: too much of a month may not leave */
export async function releaseWebhookPartitions(run: RunStatement, keepDays: number): Promise<string> {
  const [row] = await run<{ step: string }>(Prisma.sql`SELECT release_webhook_partitions(${keepDays}::int4) AS step`);
  return stepOf(row);
}

/** @returns `released`: there may be more; `none`: nothing is old enough, or events are being numbered anew */
export async function releaseEventPartitions(run: RunStatement, keepDays: number): Promise<string> {
  const [row] = await run<{ step: string }>(Prisma.sql`SELECT release_event_partitions(${keepDays}::int4) AS step`);
  return stepOf(row);
}

/** Calls to providers and theirs to us. */
export const CALL_TABLES = ['payment_calls', 'provider_callbacks'] as const;

/** @returns `released`: there may be more; `none`: nothing is old enough; `held`: what is may not leave */
export async function releasePaymentPartitions(
  run: RunStatement,
  table: (typeof CALL_TABLES)[number],
  keepDays: number,
): Promise<string> {
  const [row] = await run<{ step: string }>(
    Prisma.sql`SELECT release_payment_partitions(${table}, ${keepDays}::int4) AS step`,
  );
  return stepOf(row);
}

/**
 * Partitions whose rows have left one by one (leaving-rows.ts): what is left of them is kept, the rest is dropped at once.
 * @returns `released`: there may be more; `none`: nothing is old enough; `held`: what is has too many rows still
 */
export async function releaseEmptiedPartitions(
  run: RunStatement,
  table: keyof KeepDays,
  keepDays: number,
): Promise<string> {
  const [row] = await run<{ step: string }>(
    Prisma.sql`SELECT release_emptied_partitions(${table}, ${keepDays}::int4) AS step`,
  );
  return stepOf(row);
}

export interface ReleasedPartition {
  name: string;
  table: ArchivedTable;
}

/** Taken off and not dropped yet, the oldest first: what a process before this one has left to do is among them. */
export function releasedPartitions(run: RunStatement): Promise<ReleasedPartition[]> {
  return run<ReleasedPartition>(Prisma.sql`
    SELECT name, of_table AS table FROM released_partitions WHERE dropped_at IS NULL ORDER BY released_at, name`);
}

/** The next rows of a partition that was taken off, in their order. */
export function readReleasedRows(
  run: RunStatement,
  { partition, after, limit }: { partition: string; after: string; limit: number },
): Promise<ReadRow[]> {
  return run<ReadRow>(Prisma.sql`SELECT id, line FROM read_released_partition(${partition}, ${after}, ${limit}::int4)`);
}

/** @returns false: it holds something else than its archives, or is to be archived by others, and stays */
export async function dropReleasedPartition(
  run: RunStatement,
  partition: string,
  isArchived: boolean,
): Promise<boolean> {
  const [row] = await run<{ is_gone: boolean }>(
    Prisma.sql`SELECT drop_released_partition(${partition}, ${isArchived}::bool) AS is_gone`,
  );
  return row?.is_gone === true;
}

/** That a round made and took off what it was to, by the database's clock: archives of what it took off may take days. */
export async function notePartitionRound(run: RunStatement, isHeld: boolean): Promise<void> {
  await run(Prisma.sql`
    UPDATE partition_rounds SET ended_at = now(), is_held = ${isHeld}::bool WHERE keeper = 'webhooks'`);
}

/**
 * The same of months of events or of calls of payments, which leave only for an archive: a relay without one has done its part only where no
 * other one has archived a partition.
 */
export async function noteArchivedRound(
  run: RunStatement,
  keeper: 'events' | 'payments' | keyof KeepDays,
  { hasArchive, isHeld = false }: { hasArchive: boolean; isHeld?: boolean },
): Promise<void> {
  await run(Prisma.sql`
    UPDATE partition_rounds SET ended_at = now(), is_held = ${isHeld}::bool WHERE keeper = ${keeper}
       AND (${hasArchive}::bool OR NOT EXISTS (SELECT FROM archives WHERE released IS NOT NULL AND state <> 'abandoned'))`);
}

/** Until when months of a table have left, as SQL: the end of the newest that did; null: none has. */
export function leftUntil(table: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`(SELECT max(time_of_id(p.upper_id)) FROM partitions_of(${table}) p WHERE p.name LIKE '%\\_kept\\_%')`;
}

export interface PartitionReading {
  /** From now to the lower bound of the last partition, of the table that has the fewest; 0: a conversion stopped half-way. */
  daysAhead: number;
  /** Since a round last made and took off what it was to, of webhooks, events or calls of payments, whichever is longest ago. */
  keptSeconds: number;
  /** A month that is over stays, of `webhooks` or of `payments`. */
  held: string[];
  /** Taken off, and not dropped yet. */
  waiting: number;
  /** For how long the oldest of these; 0: there is none. */
  waitingSeconds: number;
}

const HALF_PARTITIONED = Prisma.sql`
  SELECT 1 FROM pg_constraint
   WHERE (conname = 'webhook_deliveries_in_first' AND conrelid = to_regclass('public.webhook_deliveries'))
      OR (conname = 'events_in_first' AND conrelid = to_regclass('public.events'))
      OR (conname = 'payment_calls_in_first' AND conrelid = to_regclass('public.payment_calls'))
      OR (conname = 'attempts_in_first' AND conrelid = to_regclass('public.attempts'))
      OR (conname = 'receipts_in_first' AND conrelid = to_regclass('public.receipts'))`;

export async function readPartitions(run: RunStatement): Promise<PartitionReading> {
  const [row] = await run<PartitionReading>(Prisma.sql`
    SELECT CASE WHEN EXISTS (${HALF_PARTITIONED}) THEN 0 ELSE
             (SELECT extract(epoch FROM min(time_of_id(p.lower_id)) - now()) / 86400
                FROM partitioned_tables() t, partitions_of(t.name) p WHERE p.upper_id IS NULL) END::float8 AS "daysAhead",
           extract(epoch FROM now() - r.ended_at)::float8 AS "keptSeconds", r.held,
           w.waiting, greatest(w.seconds, 0)::float8 AS "waitingSeconds"
      FROM (SELECT min(ended_at) AS ended_at, coalesce(array_agg(keeper ORDER BY keeper) FILTER (WHERE is_held), '{}') AS held
              FROM partition_rounds) r,
           (SELECT count(*)::int4 AS waiting, extract(epoch FROM now() - min(released_at)) AS seconds
              FROM released_partitions WHERE dropped_at IS NULL) w`);
  if (!row) throw new Error('the database returned nothing');
  return row;
}

/** Whether a conversion to partitions stopped between its migrations: rows beyond its bound are refused. */
export async function isHalfPartitioned(run: RunStatement): Promise<boolean> {
  return (await run(HALF_PARTITIONED)).length > 0;
}

function stepOf(row: { step: string } | undefined): string {
  if (!row) throw new Error('the database returned nothing');
  return row.step;
}
