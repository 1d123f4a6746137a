import { createHash, randomUUID } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { runMigrations as runQueueMigrations } from 'bullmq';
import pg from 'pg';

import { besideWritersOf } from './beside-writers.mjs';
import { ROOT } from './paths.mjs';
import { ensureTenantRole, secureRows, tenantOf } from './row-security.mjs';
import { withShortLocks } from './short-locks.mjs';
import { UserError } from './user-error.mjs';

/** @typedef {{ name: string, sql: string, checksum: string }} Migration */

export const MIGRATIONS_DIR = path.join(ROOT, 'prisma', 'migrations');
const GRANTS_FILE = path.join(ROOT, 'prisma', 'grants.sql');

/** Any number will do, as long as no other program of ours takes this advisory lock. */
const MIGRATION_LOCK = 7_270_836_911;
const MIGRATION_LOCK_PAUSE_MS = 250;

const QUEUE_SCHEMA = 'bullmq';
/** libs/queue: LANE_QUEUE_NAME. */
const LANE_QUEUE = 'device-lane';

/** The very table that Prisma's own engine makes: `prisma migrate deploy` and `migrate status` read on from here. */
const LEDGER = `CREATE TABLE IF NOT EXISTS _prisma_migrations (
  id VARCHAR(36) PRIMARY KEY NOT NULL,
  checksum VARCHAR(64) NOT NULL,
  finished_at TIMESTAMPTZ,
  migration_name VARCHAR(255) NOT NULL,
  logs TEXT,
  rolled_back_at TIMESTAMPTZ,
  started_at TIMESTAMPTZ NOT NULL DEFAULT now(),
  applied_steps_count INTEGER NOT NULL DEFAULT 0
)`;

/**
 * The migrations of the repository in the order of their names.
 * @param {string} [folder]
 * @returns {Migration[]}
 */
export function readMigrations(folder = MIGRATIONS_DIR) {
  return fs
    .readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => {
      const sql = fs.readFileSync(path.join(folder, name, 'migration.sql'), 'utf8');
      return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') };
    })
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/**
 * Brings a database up to date: our tables, the queue's tables, and what the programs' role may do with both. Several
 * may run at once; the later ones wait and find nothing to do.
 * @param {{ migrateDatabaseUrl: string, databaseUrl: string | undefined, migrations?: Migration[] }} options the role in
 *   `databaseUrl` is the one that gets the grants; it is made when it is missing and the owner may make roles
 * @returns {Promise<{ applied: string[] }>}
 */
export async function migrate({ migrateDatabaseUrl, databaseUrl, migrations = readMigrations() }) {
  const client = new pg.Client({ connectionString: migrateDatabaseUrl });
  await client.connect();
  try {
    await takeMigrationLock(client);
    const applied = await applyMigrations(client, migrations);
    await runQueueMigrations(client, QUEUE_SCHEMA);
    await prepareQueueIds(client);
    if (databaseUrl !== undefined) await grant(client, databaseUrl);
    return { applied };
  } finally {
    await client.end();
  }
}

/**
 * Polled, not waited for: a statement that waits has a snapshot, and an index that is built concurrently waits for all snapshots.
 * The two would wait for each other.
 * @param {pg.Client} client
 */
async function takeMigrationLock(client) {
  for (;;) {
    const { rows } = await client.query('SELECT pg_try_advisory_lock($1) AS taken', [MIGRATION_LOCK]);
    if (rows[0].taken === true) return;
    await delay(MIGRATION_LOCK_PAUSE_MS);
  }
}

/**
 * @param {pg.Client} client
 * @param {Migration[]} migrations
 */
async function applyMigrations(client, migrations) {
  await client.query(LEDGER);
  const done = await readLedger(client);
  assertSameHistory(migrations, done);
  const pending = migrations.filter(({ name }) => !done.has(name));
  for (const migration of pending) await applyOne(client, migration);
  return pending.map(({ name }) => name);
}

/**
 * @param {pg.Client} client
 * @returns {Promise<Map<string, string>>} checksum by name
 */
async function readLedger(client) {
  const { rows } = await client.query(
    'SELECT migration_name AS name, checksum, finished_at FROM _prisma_migrations WHERE rolled_back_at IS NULL',
  );
  const unfinished = rows.find(({ finished_at }) => finished_at === null);
  if (unfinished !== undefined) {
    throw new UserError(
      `The migration ${unfinished.name} was begun by another tool and never finished; ` +
        'inspect the database and settle it with "prisma migrate resolve".',
    );
  }
  return new Map(rows.map(({ name, checksum }) => [name, checksum]));
}

/**
 * @param {Migration[]} migrations
 * @param {Map<string, string>} done
 */
function assertSameHistory(migrations, done) {
  const byName = new Map(migrations.map((migration) => [migration.name, migration]));
  for (const [name, checksum] of done) {
    const migration = byName.get(name);
    if (migration === undefined) {
      throw new UserError(`The database has the migration ${name}, which this release does not know: it is newer.`);
    }
    if (migration.checksum !== checksum) {
      throw new UserError(`The migration ${name} was edited after it had been applied; add a new migration instead.`);
    }
  }
}

/**
 * The change and its record commit together, so a kill at any instant leaves either both or neither. (Prisma's engine
 * writes the record before and after, and asks a person when it dies between.)
 * @param {pg.Client} client
 * @param {Migration} migration
 */
async function applyOne(client, migration) {
  const beside = await besideWritersOf(client, migration);
  if (beside !== null) {
    await applyBeside(client, migration, beside);
    return;
  }
  try {
    await withShortLocks(client, async () => {
      await client.query(migration.sql);
      await record(client, migration);
    });
  } catch (error) {
    const fate =
      error instanceof AggregateError
        ? 'lost its connection; the next run sees whether it was committed.'
        : 'failed and was taken back as a whole.';
    throw new Error(`The migration ${migration.name} ${fate}`, { cause: error });
  }
}

/**
 * Outside of any transaction, so that no reader or writer waits for it. A kill before the record leaves what was done for the next run to find.
 * @param {pg.Client} client
 * @param {Migration} migration
 * @param {import('./beside-writers.mjs').BesideWriters} beside
 */
async function applyBeside(client, migration, { fate, apply }) {
  try {
    await apply();
  } catch (error) {
    throw new Error(`The migration ${migration.name} failed; ${fate}.`, { cause: error });
  }
  await record(client, migration);
}

/**
 * @param {pg.Client} client
 * @param {Pick<Migration, 'name' | 'checksum'>} migration
 */
async function record(client, { name, checksum }) {
  await client.query(
    `INSERT INTO _prisma_migrations (id, checksum, finished_at, migration_name, applied_steps_count)
     VALUES ($1, $2, clock_timestamp(), $3, 1)`,
    [randomUUID(), checksum, name],
  );
}

/**
 * BullMQ makes a queue's id sequence at the first job, which the programs' role may not: it is made here.
 * @param {pg.Client} client
 */
async function prepareQueueIds(client) {
  await client.query('BEGIN');
  await client.query(`SET LOCAL search_path TO ${QUEUE_SCHEMA}`);
  await client.query('SELECT CASE WHEN to_regclass(job_id_seq_name($1)) IS NULL THEN next_job_id($1) END AS first_id', [
    LANE_QUEUE,
  ]);
  await client.query('COMMIT');
}

/**
 * Rights are declared in one file and set anew every time, so that no table is forgotten and no right lingers.
 * @param {pg.Client} client
 * @param {string} databaseUrl
 */
async function grant(client, databaseUrl) {
  const { username, password } = new URL(databaseUrl);
  const role = decodeURIComponent(username);
  const { rows } = await client.query('SELECT current_user AS owner, to_regrole(quote_ident($1)) AS role', [role]);
  if (rows[0].owner === role) return;
  if (rows[0].role === null) await createRole(client, role, decodeURIComponent(password));
  await ensureTenant(client, role);
  const grants = fs
    .readFileSync(GRANTS_FILE, 'utf8')
    .replaceAll(':app_role', pg.escapeIdentifier(role))
    .replaceAll(':tenant_role', pg.escapeIdentifier(tenantOf(role)));
  await client.query(`BEGIN;\n${grants};\nCOMMIT`);
  await secureRows(client, role);
}

/**
 * @param {pg.Client} client
 * @param {string} role
 */
async function ensureTenant(client, role) {
  const tenant = tenantOf(role);
  const { rows } = await client.query(
    `SELECT CASE WHEN to_regrole(quote_ident($1)) IS NULL THEN false ELSE pg_has_role($2, $1, 'member') END AS is_there`,
    [tenant, role],
  );
  if (rows[0].is_there === true) return;
  try {
    await ensureTenantRole(client, role);
  } catch (cause) {
    const sentence =
      `The role ${tenant} is missing, under which statements of one merchant run, and the role of MIGRATE_DATABASE_URL may not ` +
      `make it. As a superuser: CREATE ROLE ${tenant} NOLOGIN; GRANT ${tenant} TO ${role};`;
    throw Object.assign(new UserError(sentence), { cause });
  }
}

/**
 * @param {pg.Client} client
 * @param {string} role
 * @param {string} password
 */
async function createRole(client, role, password) {
  const { rows } = await client.query(
    'SELECT rolsuper OR rolcreaterole AS may FROM pg_roles WHERE rolname = current_user',
  );
  if (rows[0].may !== true) {
    throw new UserError(
      `The role ${role} of DATABASE_URL does not exist and the role of MIGRATE_DATABASE_URL may not make it.`,
    );
  }
  await client.query(`CREATE ROLE ${pg.escapeIdentifier(role)} LOGIN PASSWORD ${pg.escapeLiteral(password)}`);
}
