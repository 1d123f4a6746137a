import { buildConcurrently, dropConcurrently, stateOf, withoutComments } from './concurrent-index.mjs';
import { withShortLocks } from './short-locks.mjs';
import { UserError } from './user-error.mjs';

/** @typedef {import('pg').Client} Client */
/** @typedef {{ unique: boolean, index: string, table: string, over: string }} PartitionedIndex `over`: what follows the table's name */
/** @typedef {{ schema: string, name: string }} Partition */

const STATEMENT =
  /^CREATE\s+(?<unique>UNIQUE\s+)?INDEX\s+"?(?<index>[a-z][a-z0-9_]*)"?\s+ON\s+"?(?<table>[a-z][a-z0-9_]*)"?\s*(?<over>(?:\(|USING\s)[^;]+);?$/;
/** PostgreSQL cuts off longer names: two indexes could meet in one. */
const NAME_LENGTH = 63 - '_kept_202701'.length;
const UNIQUE_VIOLATION = '23505';

/**
 * @param {string} sql of a migration
 * @returns {PartitionedIndex | null} its one statement, if that is a CREATE INDEX which can be built in partitions
 */
export function partitionedStatementOf(sql) {
  const found = STATEMENT.exec(withoutComments(sql).trim())?.groups;
  if (found === undefined) return null;
  const { unique, index = '', table = '', over = '' } = found;
  return { unique: unique !== undefined, index, table, over };
}

/**
 * The index of a table in partitions that a migration is there for: its one statement is a plain CREATE INDEX, as Prisma's own tool takes
 * it too. PostgreSQL refuses CONCURRENTLY for such a table, and the statement itself would shut it until all partitions are read.
 * @param {Client} client
 * @param {{ sql: string }} migration
 * @returns {Promise<PartitionedIndex | null>} null for any other migration
 */
export async function partitionedIndexOf(client, { sql }) {
  const statement = partitionedStatementOf(sql);
  return statement !== null && (await partitionedNames(client)).has(statement.table) ? statement : null;
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
 * A process that dies, or a build that fails, leaves what is built; the next run goes on with the first partition that lacks it.
 * @param {Client} client outside of any transaction
 * @param {PartitionedIndex} statement
 */
export async function buildInPartitions(client, statement) {
  const { unique, index, table, over } = statement;
  if (index.length > NAME_LENGTH) throw new UserError(`${index}: a name of at most ${NAME_LENGTH} letters is wanted`);
  const kind = unique ? 'UNIQUE INDEX' : 'INDEX';
  if ((await stateOf(client, `"${index}"`)) === 'missing')
    await withShortLocks(client, async () => {
      await client.query(`CREATE ${kind} "${index}" ON ONLY "${table}" ${over}`);
    });
  for (;;) {
    const [partition] = await lacking(client, statement);
    if (partition === undefined) break;
    const own = indexIn(partition, statement);
    try {
      const sql = `CREATE ${kind} CONCURRENTLY ${own.name} ON "${partition.schema}"."${partition.name}" ${over}`;
      await buildConcurrently(client, own.path, sql);
      await attach(client, statement, own.path);
    } catch (error) {
      // Without a connection there is nothing to ask.
      if (Object(error).severity !== 'ERROR') throw error;
      // The relay took it off meanwhile, or took it off and put it back, by which PostgreSQL gave it an index.
      const lacksIt = (await lacking(client, statement)).some(({ name }) => name === partition.name);
      if (lacksIt) await giveUp(client, statement, error);
    }
  }
  for (const stray of await ownIndexes(client, statement, { attached: false })) await dropConcurrently(client, stray);
  await makeValid(client, statement);
}

/**
 * PostgreSQL makes the table's index valid when one is attached, and never when the last partition that lacked it is taken off.
 * @param {Client} client
 * @param {PartitionedIndex} statement
 */
async function makeValid(client, statement) {
  if ((await stateOf(client, `"${statement.index}"`)) === 'valid') return;
  const [attached] = await ownIndexes(client, statement, { attached: true });
  if (attached !== undefined) await attach(client, statement, attached);
  if ((await stateOf(client, `"${statement.index}"`)) === 'valid') return;
  // In minors before 18.4 (15.18, 16.14, 17.10) to attach again does nothing.
  await takeAway(client, statement);
  throw new Error('a partition went while the last index was attached: it was taken away; migrate again');
}

/**
 * @param {Client} client
 * @param {PartitionedIndex} statement
 * @param {unknown} error
 * @returns {Promise<never>}
 */
async function giveUp(client, statement, error) {
  // Rows that it cannot hold: what is built would refuse others, and the next run would fail as well.
  if (Object(error).code === UNIQUE_VIOLATION) {
    try {
      await takeAway(client, statement);
    } catch (second) {
      const said = `${String(error)}; what is built of it could not be taken away`;
      throw new AggregateError([error, second], said, { cause: second });
    }
  }
  throw error;
}

/**
 * @param {Client} client
 * @param {PartitionedIndex} statement
 */
async function takeAway(client, statement) {
  // With it go those that are attached to it.
  await withShortLocks(client, async () => {
    await client.query(`DROP INDEX IF EXISTS "${statement.index}"`);
  });
  for (const own of await ownIndexes(client, statement, { attached: false })) await dropConcurrently(client, own);
}

/**
 * @param {Client} client
 * @param {PartitionedIndex} statement
 * @param {string} own as SQL names it
 */
async function attach(client, { index }, own) {
  await withShortLocks(client, async () => {
    await client.query(`ALTER INDEX "${index}" ATTACH PARTITION ${own}`);
  });
}

/**
 * @param {Client} client
 * @param {PartitionedIndex} statement
 * @returns {Promise<Partition[]>} the partitions that have no index attached to the table's
 */
async function lacking(client, { index, table }) {
  const { rows } = await client.query(
    `SELECT n.nspname AS schema, c.relname AS name FROM pg_inherits i
       JOIN pg_class c ON c.oid = i.inhrelid JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE i.inhparent = to_regclass($1) AND NOT EXISTS (
            SELECT FROM pg_index x JOIN pg_inherits xi ON xi.inhrelid = x.indexrelid
             WHERE x.indrelid = c.oid AND xi.inhparent = to_regclass($2))
      ORDER BY c.relname`,
    [`"${table}"`, `"${index}"`],
  );
  return rows;
}

/**
 * @param {Client} client
 * @param {PartitionedIndex} statement
 * @param {{ attached: boolean }} which
 * @returns {Promise<string[]>} those of the partitions that this made, as SQL names them
 */
async function ownIndexes(client, statement, { attached }) {
  const { rows } = await client.query(
    `SELECT n.nspname AS schema, c.relname AS name,
            EXISTS (SELECT FROM pg_inherits xi WHERE xi.inhrelid = x.indexrelid) AS attached, xc.relname AS index
       FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid JOIN pg_namespace n ON n.oid = c.relnamespace
       JOIN pg_index x ON x.indrelid = c.oid JOIN pg_class xc ON xc.oid = x.indexrelid
      WHERE i.inhparent = to_regclass($1) ORDER BY xc.relname`,
    [`"${statement.table}"`],
  );
  return rows
    .map((row) => ({ ...row, own: indexIn(row, statement) }))
    .filter((row) => row.attached === attached && row.own.name === `"${row.index}"`)
    .map(({ own }) => own.path);
}

/**
 * @param {Partition} partition
 * @param {PartitionedIndex} statement
 * @returns {{ name: string, path: string }} webhook_deliveries_by_type in webhook_deliveries_202701: webhook_deliveries_by_type_202701
 */
function indexIn({ schema, name }, { index, table }) {
  const own = `"${index}${name.startsWith(table) ? name.slice(table.length) : `_${name}`}"`;
  return { name: own, path: `"${schema}".${own}` };
}
