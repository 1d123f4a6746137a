import { isUniqueViolation, Prisma } from '#database';
import type { RunStatement } from '../attempts/hold-from-copy.js';
import { idOfLine, tableOfArchive, type Manifest } from './archive-files.js';
import { LEAVING_TABLES, type LeavingTable } from './leaving-rows.js';

export interface ArchiveRow {
  name: string;
  state: 'writing' | 'written' | 'removed' | 'restored' | 'abandoned';
  rows: number;
  removed: number;
  first_id: string | null;
  last_id: string | null;
  bytes: bigint | string;
  sha256: string | null;
  begun_at: Date;
  removed_at: Date | null;
  restored_at: Date | null;
  /** The partition that it holds, or a part of; null: rows that leave one by one. */
  released: string | null;
}

const COLUMNS = Prisma.raw(
  'name, state::text, rows, removed, first_id, last_id, bytes, sha256, begun_at, removed_at, restored_at, released',
);

/**
 * Recorded before its file is begun: whatever becomes of it is found by this row.
 * @param released the partition that it holds, or a part of; null: rows that leave one by one
 */
export async function beginArchive(run: RunStatement, name: string, released: string | null = null): Promise<void> {
  await run(Prisma.sql`INSERT INTO archives (name, released) VALUES (${name}, ${released})`);
}

export async function noteWritten(run: RunStatement, manifest: Manifest): Promise<void> {
  const { name, rows, first_id: firstId, last_id: lastId, bytes, sha256 } = manifest;
  await run(Prisma.sql`
    UPDATE archives SET state = 'written', rows = ${rows}::int4, first_id = ${firstId}, last_id = ${lastId},
                        bytes = ${bytes}::int8, sha256 = ${sha256}, written_at = now()
     WHERE name = ${name} AND state = 'writing'`);
}

export async function abandonArchive(run: RunStatement, name: string): Promise<void> {
  await run(Prisma.sql`UPDATE archives SET state = 'abandoned' WHERE name = ${name} AND state = 'writing'`);
}

/** @param removed of its rows, by this process and those before it */
export async function noteRemoved(run: RunStatement, name: string, removed: number): Promise<void> {
  await run(Prisma.sql`
    UPDATE archives SET state = 'removed', removed_at = now(), removed = ${removed}::int4
     WHERE name = ${name} AND state = 'written'`);
}

/** Rows that came back may leave again: their archive holds them still. Those of a partition leave with the one that they are in now. */
export async function endRestored(run: RunStatement, days: number): Promise<void> {
  await run(Prisma.sql`
    UPDATE archives SET state = CASE WHEN released IS NULL THEN 'written'::archive_state ELSE 'removed' END
     WHERE state = 'restored' AND restored_at < now() - make_interval(days => ${days}::int4)`);
}

/** What a process before this one has left to do, the oldest first. Those of partitions are their keeper's. */
export function unfinishedArchives(run: RunStatement): Promise<ArchiveRow[]> {
  return run<ArchiveRow>(Prisma.sql`
    SELECT ${COLUMNS} FROM archives
     WHERE state IN ('writing', 'written') AND released IS NULL ORDER BY begun_at LIMIT 100`);
}

/** Of one partition, in the order of their rows; one that is begun is the last. */
export function archivesOfPartition(run: RunStatement, partition: string): Promise<ArchiveRow[]> {
  return run<ArchiveRow>(Prisma.sql`
    SELECT ${COLUMNS} FROM archives WHERE released = ${partition} AND state IN ('writing', 'written')
     ORDER BY last_id NULLS LAST, begun_at`);
}

/** Its rows are still in the database: they are written anew. */
export async function abandonArchivesOf(run: RunStatement, partition: string): Promise<void> {
  await run(Prisma.sql`
    UPDATE archives SET state = 'abandoned' WHERE released = ${partition} AND state IN ('writing', 'written')`);
}

/** Whether rows of partitions have been brought back within so many days, and are to stay for now. */
export async function hasRestoredPartitions(run: RunStatement, days: number): Promise<boolean> {
  const rows = await run(Prisma.sql`
    SELECT 1 FROM archives WHERE state = 'restored' AND released IS NOT NULL
       AND restored_at > now() - make_interval(days => ${days}::int4) LIMIT 1`);
  return rows.length > 0;
}

/**
 * The newest archives that were whole once: the right folder has at least one of them. Those of one kind first; where there are few, the
 * folder is the same for all of them.
 */
export async function newestArchives(
  run: RunStatement,
  { of, limit }: { of: 'rows' | 'partitions'; limit: number },
): Promise<string[]> {
  const rows = await run<{ name: string }>(Prisma.sql`
    SELECT name FROM archives WHERE state IN ('written', 'removed', 'restored')
     ORDER BY (released IS NULL) = ${of === 'rows'}::bool DESC, begun_at DESC, name DESC LIMIT ${limit}::int4`);
  return rows.map(({ name }) => name);
}

export function listArchives(
  run: RunStatement,
  { after, limit }: { after: string; limit: number },
): Promise<ArchiveRow[]> {
  return run<ArchiveRow>(
    Prisma.sql`SELECT ${COLUMNS} FROM archives WHERE name > ${after} AND state <> 'abandoned' ORDER BY name LIMIT ${limit}::int4`,
  );
}

export async function findArchive(run: RunStatement, name: string): Promise<ArchiveRow | null> {
  const [row] = await run<ArchiveRow>(Prisma.sql`SELECT ${COLUMNS} FROM archives WHERE name = ${name}`);
  return row ?? null;
}

/** Before the first row is back: from now on the keeper leaves these rows alone. False: it is no archive that can be restored. */
export async function beginRestore(run: RunStatement, name: string): Promise<boolean> {
  const rows = await run(Prisma.sql`
    UPDATE archives SET state = 'restored', restored_at = now()
     WHERE name = ${name} AND state IN ('written', 'removed', 'restored') RETURNING name`);
  return rows.length > 0;
}

/**
 * Rows of an archive, as they were; those that are here already stay as they are, and of those that leave one by one only what has left with
 * this very archive comes: a newer one has a row as it was then. A column that the table has got since has its default, one that it has no more is in the file alone.
 * @param refused is given the id of each payment that cannot come: an id at its provider is another one's by now
 * @returns how many came back; payments are counted, and not what comes with them
 */
export async function restoreRows(
  run: RunStatement,
  archive: string,
  lines: readonly string[],
  refused: (id: string) => void = () => undefined,
): Promise<number> {
  const table = tableOfArchive(archive);
  // Held until they are back: a removal for a newer archive that is under way is waited for.
  const own = (of: LeavingTable): Prisma.Sql =>
    Prisma.sql`ANY ((SELECT rows_of_archive(${of}, ${archive}, ${lines.map(idOfLine)}::text[]))::text[])`;
  if (table === 'payments') return restorePayments(run, lines, { isOwn: own('payments'), refused });
  const leaving = LEAVING_TABLES.find((one) => one === table);
  const isOfThis = leaving === undefined ? Prisma.sql`true` : Prisma.sql`r.id = ${own(leaving)}`;
  const columns = await columnsOf(run, table);
  let cameBack = 0;
  for (const [keys, alike] of groupAlike(lines, keysOfRow)) {
    const { into, from } = sharedColumns(table, columns, keys);
    const rows = await run(Prisma.sql`
      INSERT INTO ${Prisma.raw(table)} (${into})
      SELECT ${from}
        FROM unnest(${alike}::text[]) AS line, jsonb_populate_record(NULL::${Prisma.raw(table)}, line::jsonb) AS r
       WHERE ${isOfThis}
      ON CONFLICT DO NOTHING RETURNING 1`);
    cameBack += rows.length;
  }
  return cameBack;
}

/** Where what a line of an archive of payments holds comes back to: see `payment_line` of the database. */
const OF_A_PAYMENT = {
  receipts: 'receipts',
  refunds: 'payment_refunds',
  transactions: 'provider_transactions',
  extra_charges: 'extra_charges',
} as const;

/** Each with its receipts and all that hangs on it, in one statement. One that is here already brings nothing. */
async function restorePayments(
  run: RunStatement,
  lines: readonly string[],
  { isOwn, refused }: { isOwn: Prisma.Sql; refused: (id: string) => void },
): Promise<number> {
  let cameBack = 0;
  for (const [keys, alike] of groupAlike(lines, keysOfPayment)) {
    try {
      cameBack += await restoreAlike(run, keys, { lines: alike, isOwn });
    } catch (error) {
      if (!isUniqueViolation(error)) throw error;
      if (alike.length === 1) alike.forEach((line) => refused(idOfLine(line)));
      // One of them keeps no other away.
      else for (const line of alike) cameBack += await restorePayments(run, [line], { isOwn, refused });
    }
  }
  return cameBack;
}

async function restoreAlike(
  run: RunStatement,
  keys: KeysOfPayment,
  { lines, isOwn }: { lines: readonly string[]; isOwn: Prisma.Sql },
): Promise<number> {
  const payment = sharedColumns('payments', await columnsOf(run, 'payments'), keys.payment);
  const besides: Prisma.Sql[] = [];
  for (const [key, table] of Object.entries(OF_A_PAYMENT)) {
    const columns = keys[key];
    if (!columns) continue;
    const { into, from } = sharedColumns(table, await columnsOf(run, table), columns);
    besides.push(Prisma.sql`, ${Prisma.raw(key)} AS (
        INSERT INTO ${Prisma.raw(table)} (${into})
        SELECT ${from} FROM back b JOIN lines l ON l.line ->> 'id' = b.id,
               jsonb_populate_recordset(NULL::${Prisma.raw(table)}, l.line -> ${key}::text) AS r)`);
  }
  const rows = await run(Prisma.sql`
      WITH lines AS MATERIALIZED (
        SELECT line::jsonb AS line FROM unnest(${[...lines]}::text[]) AS line WHERE line::jsonb ->> 'id' = ${isOwn}
      ), back AS (
        INSERT INTO payments (${payment.into})
        SELECT ${payment.from} FROM lines l, jsonb_populate_record(NULL::payments, l.line -> 'payment') AS r
        ON CONFLICT (id) DO NOTHING RETURNING id
      )${Prisma.join(besides, '')}
      SELECT id FROM back`);
  return rows.length;
}

type KeysOfPayment = Record<string, ReadonlySet<string>> & { payment: ReadonlySet<string> };

/** The columns of each table that a line is of; none of a table of which it has no row. */
function keysOfPayment(line: string): [string, KeysOfPayment] {
  const { payment, ...besides } = JSON.parse(line) as { payment: object } & Record<string, object[]>;
  const keys: KeysOfPayment = { payment: new Set(Object.keys(payment)) };
  for (const key of Object.keys(OF_A_PAYMENT)) {
    const first = besides[key]?.[0];
    if (first) keys[key] = new Set(Object.keys(first));
  }
  return [JSON.stringify(Object.entries(keys).map(([key, columns]) => [key, ...columns])), keys];
}

async function columnsOf(run: RunStatement, table: string): Promise<string[]> {
  const columns = await run<{ name: string }>(Prisma.sql`
    SELECT attname::text AS name FROM pg_attribute
     WHERE attrelid = ${table}::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = '' ORDER BY attnum`);
  return columns.map(({ name }) => name);
}

/** What both a table and the rows that come back to it have: its columns, and those of a record `r`. */
function sharedColumns(
  table: string,
  columns: readonly string[],
  keys: ReadonlySet<string>,
): { into: Prisma.Sql; from: Prisma.Sql } {
  const names = columns.filter((name) => keys.has(name));
  return {
    into: Prisma.raw(names.map((name) => `"${name}"`).join(', ')),
    from: Prisma.raw(names.map((name) => restored(table, name)).join(', ')),
  };
}

/**
 * Events come back before all others of their merchant's feed, in the order of their positions: no reader who has passed them gets them
 * again. Numbers of transactions mean nothing in a database that was put back since.
 */
function restored(table: string, column: string): string {
  return table === 'events' && column === 'transaction_id' ? `'1'::xid8` : `r."${column}"`;
}

function keysOfRow(line: string): [string, ReadonlySet<string>] {
  const keys = Object.keys(JSON.parse(line) as object);
  return [keys.join(), new Set(keys)];
}

/** An archive that was written while a table got a column has lines of both kinds. @param keysOf the columns of a line, and a name of them */
function groupAlike<Keys>(lines: readonly string[], keysOf: (line: string) => [string, Keys]): Map<Keys, string[]> {
  const groups = new Map<string, { keys: Keys; lines: string[] }>();
  for (const line of lines) {
    const [name, keys] = keysOf(line);
    const group = groups.get(name) ?? { keys, lines: [] };
    group.lines.push(line);
    groups.set(name, group);
  }
  return new Map([...groups.values()].map((group) => [group.keys, group.lines]));
}

/** For how long the oldest archive of rows that leave one by one has been begun and not finished; 0: there is none. */
export async function unfinishedForSeconds(run: RunStatement): Promise<number> {
  const [row] = await run<{ seconds: number | null }>(Prisma.sql`
    SELECT extract(epoch FROM now() - min(greatest(begun_at, restored_at + interval '30 days')))::float8 AS seconds
      FROM archives WHERE state IN ('writing', 'written') AND released IS NULL`);
  return Math.max(row?.seconds ?? 0, 0);
}
