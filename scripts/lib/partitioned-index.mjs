import { buildConcurrently, dropConcurrently, stateOf, withoutComments } from './concurrent-index.mjs';
import { withShortLocks } from './short-locks.mjs';

/** @typedef {import('pg').Client} Client */
/** @typedef {{ unique: boolean, index: string, table: string, over: string }} PartitionedIndex `over`: what follows the table's name */
/** @typedef {{ schema: string, name: string }} Partition */

const STATEMENT =
  /^CREATE\s+(?<unique>UNIQUE\s+)?INDEX\s+"?(?<index>[a-z][a-z0-9_]*)"?\s+ON\s+"?(?<table>[a-z][a-z0-9_]*)"?\s*(?<over>(?:\(|USING\s)[^;]+);?$/i;
/** Longer names are cut off by PostgreSQL. */
const NAME_LENGTH = 63;

/**
 * The index of a table in partitions that a migration is there for: its one statement is a plain CREATE INDEX, as Prisma's own tool takes
 * it too. PostgreSQL refuses CONCURRENTLY for such a table, and the statement itself would shut it until all partitions are read.
 * @param {Client} client
 * @param {{ sql: string }} migration
 * @returns {Promise<PartitionedIndex | null>} null for any other migration
 */
export async function partitionedIndexOf(client, { sql }) {
  const found = STATEMENT.exec(withoutComments(sql).trim())?.groups;
  const { index = '', table = '', over = '' } = found ?? {};
  if (found === undefined || !(await partitionedNames(client)).has(table)) return null;
  return { unique: found['unique'] !== undefined, index, table, over };
}

/**
 * @param {Client} client
 * @returns {Promise<Set<string>>} names of our tables in partitions, and of their indexes
 */
export async function partitionedNames(client) {
  const { rows } = await client.query(
    "SELECT relname AS name FROM pg_class WHERE relkind IN ('p', 'I') AND relnamespace = 'public'::regnamespace",
  );
  return new Set(rows.map(({ name }) => name));
}

/**
 * Builds it partition by partition beside readers and writers: the table's own first, which is not valid yet and which partitions that are made
 * meanwhile get by themselves; then one CONCURRENTLY for each that lacks it, which is attached. With the last one the table's is valid.
 * A process that dies leaves what it has built; the next run goes on with the first partition that lacks it.
 * @param {Client} client outside of any transaction
 * @param {PartitionedIndex} statement
 */
export async function buildInPartitions(client, statement) {
  const { unique, index, table, over } = statement;
  const kind = unique ? 'UNIQUE INDEX' : 'INDEX';
  if ((await stateOf(client, `"${index}"`)) === 'missing')
    await withShortLocks(client, async () => {
      await client.query(`CREATE ${kind} "${index}" ON ONLY "${table}" ${over}`);
    });
  for (let partition = await lacking(client, statement); partition; partition = await lacking(client, statement)) {
    const own = indexIn(partition, statement);
    const sql = `CREATE ${kind} CONCURRENTLY "${own}" ON "${partition.schema}"."${partition.name}" ${over}`;
    try {
      await buildConcurrently(client, `"${partition.schema}"."${own}"`, sql);
      await withShortLocks(client, async () => {
        await client.query(`ALTER INDEX "${index}" ATTACH PARTITION "${partition.schema}"."${own}"`);
      });
    } catch (error) {
      // Taken off the table meanwhile: it needs none.
      if (!(await isPartition(client, table, partition))) continue;
      await takeAway(client, statement);
      throw error;
    }
  }
  if ((await stateOf(client, `"${index}"`)) !== 'valid') throw new Error(`${index} is not valid in all partitions`);
}

/**
 * A unique index that is not valid would refuse rows all the same.
 * @param {Client} client
 * @param {PartitionedIndex} statement
 */
async function takeAway(client, statement) {
  // With it go those that are attached to it.
  await withShortLocks(client, async () => {
    await client.query(`DROP INDEX IF EXISTS "${statement.index}"`);
  });
  for (const partition of await partitionsOf(client, statement.table))
    await dropConcurrently(client, `"${partition.schema}"."${indexIn(partition, statement)}"`);
}

/**
 * @param {Client} client
 * @param {PartitionedIndex} statement
 * @returns {Promise<Partition | undefined>} the first partition whose index is not attached
 */
async function lacking(client, { index, table }) {
  const partitions = await partitionsOf(client, table);
  const { rows } = await client.query(
    `SELECT n.nspname AS schema, c.relname AS name FROM pg_inherits i JOIN pg_index x ON x.indexrelid = i.inhrelid
       JOIN pg_class c ON c.oid = x.indrelid JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE i.inhparent = to_regclass($1)`,
    [`"${index}"`],
  );
  return partitions.find(({ schema, name }) => !rows.some((row) => row.schema === schema && row.name === name));
}

/**
 * @param {Client} client
 * @param {string} table
 * @param {Partition} wanted
 */
async function isPartition(client, table, wanted) {
  const partitions = await partitionsOf(client, table);
  return partitions.some(({ schema, name }) => schema === wanted.schema && name === wanted.name);
}

/**
 * @param {Client} client
 * @param {string} table
 * @returns {Promise<Partition[]>}
 */
async function partitionsOf(client, table) {
  const { rows } = await client.query(
    `SELECT n.nspname AS schema, c.relname AS name FROM pg_inherits i
       JOIN pg_class c ON c.oid = i.inhrelid JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE i.inhparent = to_regclass($1) ORDER BY c.relname`,
    [`"${table}"`],
  );
  return rows;
}

/**
 * @param {Partition} partition
 * @param {PartitionedIndex} statement
 * @returns {string} webhook_deliveries_by_type in webhook_deliveries_202701: webhook_deliveries_by_type_202701
 */
function indexIn({ name }, { index, table }) {
  const end = name.startsWith(table) ? name.slice(table.length) : `_${name}`;
  return `${index.slice(0, NAME_LENGTH - end.length)}${end}`;
}
