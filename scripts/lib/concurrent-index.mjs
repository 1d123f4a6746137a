import { UserError } from './user-error.mjs';

/** @typedef {import('pg').Client} Client */
/** @typedef {{ verb: 'CREATE' | 'DROP', index: string, sql: string }} IndexStatement */

const NAME = String.raw`(?:"(?<quoted>[a-z][a-z0-9_]*)"|(?<plain>[a-z][a-z0-9_]*))`;
const STATEMENT = new RegExp(
  String.raw`^(?<verb>CREATE)\s+(?:UNIQUE\s+)?INDEX\s+CONCURRENTLY\s+${NAME}\s+ON\s[^;]+;?$|^(?<verb2>DROP)\s+INDEX\s+CONCURRENTLY\s+(?:IF\s+EXISTS\s+)?${NAME.replaceAll('<', '<drop_')}\s*;?$`,
  'i',
);

/**
 * The statement of a migration that builds or drops one index without holding up writers, or null for any other migration. Such a
 * migration holds this one statement: PostgreSQL runs it outside of transactions alone, and so does Prisma's own tool.
 * @param {{ name: string, sql: string }} migration
 * @returns {IndexStatement | null}
 */
export function indexStatementOf({ name, sql }) {
  const text = withoutComments(sql).trim();
  if (!/\bCONCURRENTLY\b/i.test(text)) return null;
  const found = STATEMENT.exec(text)?.groups;
  const index = found?.['quoted'] ?? found?.['plain'] ?? found?.['drop_quoted'] ?? found?.['drop_plain'];
  if (found === undefined || index === undefined) {
    throw new UserError(
      `The migration ${name} says CONCURRENTLY: it may hold one CREATE INDEX CONCURRENTLY "name" ON … ` +
        'or one DROP INDEX CONCURRENTLY "name", and nothing else.',
    );
  }
  return { verb: found['verb'] === undefined ? 'DROP' : 'CREATE', index: index.toLowerCase(), sql: text };
}

/**
 * Brings the index to its wanted state. A process that was killed leaves an index that is not valid, or one that its server process
 * has completed meanwhile: the former is dropped and built again, the latter is taken as it is. So is an index of this name that
 * was built by hand before the upgrade.
 * @param {Client} client outside of any transaction
 * @param {IndexStatement} statement
 */
export async function applyIndexStatement(client, { verb, index, sql }) {
  if (verb === 'CREATE') await buildConcurrently(client, `"${index}"`, sql);
  else await dropConcurrently(client, `"${index}"`);
}

/**
 * Builds an index unless it is there and valid.
 * @param {Client} client outside of any transaction
 * @param {string} index as SQL names it
 * @param {string} sql CREATE INDEX CONCURRENTLY of this index
 */
export async function buildConcurrently(client, index, sql) {
  await withoutTimeouts(client, async () => {
    if ((await stateOf(client, index)) === 'valid') return;
    await drop(client, index);
    try {
      await client.query(sql);
    } catch (error) {
      // An index that is not valid serves no reader, and a unique one refuses rows all the same.
      await drop(client, index);
      throw error;
    }
  });
}

/**
 * @param {Client} client outside of any transaction
 * @param {string} index as SQL names it
 */
export async function dropConcurrently(client, index) {
  await withoutTimeouts(client, () => drop(client, index));
}

/**
 * @param {Client} client
 * @param {string} index
 */
async function drop(client, index) {
  await client.query(`DROP INDEX CONCURRENTLY IF EXISTS ${index}`);
}

/**
 * What waits for transactions, for hours if need be, and no reader or writer waits behind it.
 * @param {Client} client
 * @param {() => Promise<void>} work
 */
async function withoutTimeouts(client, work) {
  await client.query("SELECT set_config('lock_timeout', '0', false), set_config('statement_timeout', '0', false)");
  try {
    await work();
  } finally {
    await client.query('RESET lock_timeout');
    await client.query('RESET statement_timeout');
  }
}

/**
 * @param {Client} client
 * @param {string} index as SQL names it
 * @returns {Promise<'valid' | 'invalid' | 'missing'>}
 */
export async function stateOf(client, index) {
  const { rows } = await client.query(
    'SELECT indisvalid AND indisready AS is_valid FROM pg_index WHERE indexrelid = to_regclass($1)',
    [index],
  );
  if (rows.length === 0) return 'missing';
  return rows[0].is_valid === true ? 'valid' : 'invalid';
}

/** @param {string} sql */
export function withoutComments(sql) {
  return sql.replace(/--[^\n]*/g, '').replace(/\/\*[\s\S]*?\*\//g, '');
}
