import { attachToPostgres, startEmbeddedPostgres } from './embedded-postgres.mjs';
import { migrate } from './migrations.mjs';
import { portOf } from './paths.mjs';
import { step } from './progress.mjs';
import { UserError } from './user-error.mjs';

/** @typedef {{ databaseUrl: string, migrateDatabaseUrl: string, stop: () => Promise<void> }} Database */

/**
 * The database of `npm start`: the one that DATABASE_URL names, else the embedded one, in either case up to date.
 * @param {NodeJS.ProcessEnv} env
 * @param {string} dataDir
 * @returns {Promise<Database>}
 */
export async function openDatabase(env, dataDir) {
  const database = env['DATABASE_URL'] ? externalDatabase(env) : await embeddedDatabase(env, dataDir);
  try {
    await step('Migrating the database', () => migrate(database));
  } catch (error) {
    await database.stop();
    throw error;
  }
  return database;
}

/**
 * @param {NodeJS.ProcessEnv} env
 * @param {string} dataDir
 * @returns {Promise<Database>}
 */
async function embeddedDatabase(env, dataDir) {
  const port = portOf(env, 'POSTGRES_PORT', 8754);
  const database = await step('Starting PostgreSQL', () => startEmbeddedPostgres({ dataDir, port }));
  database.keep();
  return database;
}

/**
 * @param {NodeJS.ProcessEnv} env
 * @returns {Database}
 */
function externalDatabase(env) {
  const [databaseUrl, migrateDatabaseUrl] = [env['DATABASE_URL'] ?? '', env['MIGRATE_DATABASE_URL'] ?? ''];
  if (migrateDatabaseUrl !== '') return { databaseUrl, migrateDatabaseUrl, stop: async () => {} };
  throw new UserError('DATABASE_URL is set: set MIGRATE_DATABASE_URL as well, to the role that owns the database.');
}

/**
 * The database of a program that is started alone.
 * @param {NodeJS.ProcessEnv} env
 * @param {string} dataDir
 * @returns {{ databaseUrl: string, migrateDatabaseUrl: string | undefined }}
 */
export function findDatabase(env, dataDir) {
  if (env['DATABASE_URL']) {
    return { databaseUrl: env['DATABASE_URL'], migrateDatabaseUrl: env['MIGRATE_DATABASE_URL'] || undefined };
  }
  const embedded = attachToPostgres(dataDir);
  if (embedded !== null) return embedded;
  throw new UserError('No database: set DATABASE_URL, or start the embedded PostgreSQL first with npm run start:db');
}
