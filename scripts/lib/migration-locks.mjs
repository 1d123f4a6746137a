import { besideWritersOf } from './beside-writers.mjs';

/** @typedef {{ table: string, modes: string[], isRewritten: boolean }} TableLocks */

/** What keeps writers of a table out until the transaction ends. */
const KEEPS_OUT = ['ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock'];

/**
 * Applies a migration as scripts/lib/migrations.mjs does, and reads before its commit what it holds on tables that were there before.
 * @param {import('pg').Client} client
 * @param {{ name: string, sql: string, checksum: string }} migration
 * @returns {Promise<TableLocks[]>} nothing for what is done beside writers
 */
export async function applyAndReadLocks(client, migration) {
  const before = await filesOf(client);
  const beside = await besideWritersOf(client, migration);
  if (beside !== null) {
    await beside.apply();
    return [];
  }
  await client.query('BEGIN');
  try {
    await client.query(migration.sql);
    const { rows } = await client.query(
      `SELECT relation::int4 AS id, array_agg(DISTINCT mode ORDER BY mode) AS modes FROM pg_locks
        WHERE pid = pg_backend_pid() AND locktype = 'relation' AND granted GROUP BY relation`,
    );
    const after = await filesOf(client);
    await client.query('COMMIT');
    return rows.flatMap(({ id, modes }) => {
      const [was, is] = [before.get(id), after.get(id)];
      return was === undefined
        ? []
        : [{ table: was.table, modes, isRewritten: is !== undefined && is.file !== was.file }];
    });
  } catch (error) {
    await client.query('ROLLBACK');
    throw error;
  }
}

/**
 * @param {TableLocks[]} locks
 * @returns {string[]} a sentence for each way in which they would hold up sales for longer than a moment
 */
export function faultsOfLocks(locks) {
  const rewritten = locks.filter(({ isRewritten }) => isRewritten);
  const shut = locks.filter(({ modes }) => modes.some((mode) => KEEPS_OUT.includes(mode)));
  // Of one row: who waits for it waits no longer than for the table.
  const written = locks.filter(
    ({ table, modes }) => modes.includes('RowExclusiveLock') && table !== 'database_identity',
  );
  const shuts = shut.map(({ table }) => table).join(', ');
  return [
    ...rewritten.map(({ table }) => `${table} is written anew as a whole, while it is shut`),
    ...(shut.length > 0 ? written.map(({ table }) => `rows of ${table} are written while ${shuts} is shut`) : []),
  ];
}

/**
 * Our tables with their partitions, and the file that each is in: another one after it was rewritten. A table above partitions has none.
 * @param {import('pg').Client} client
 * @returns {Promise<Map<number, { table: string, file: number | null }>>}
 */
async function filesOf(client) {
  const { rows } = await client.query(
    `SELECT c.oid::int4 AS id, c.relname AS table, pg_relation_filenode(c.oid)::int4 AS file
       FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE c.relkind IN ('r', 'p') AND n.nspname IN ('public', 'parts')`,
  );
  return new Map(rows.map(({ id, ...row }) => [id, row]));
}
