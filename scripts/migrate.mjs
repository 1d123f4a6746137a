import { readArguments } from './lib/arguments.mjs';
import { migrate } from './lib/migrations.mjs';
import { dataDirOf } from './lib/paths.mjs';
import { attachToPostgres } from './lib/embedded-postgres.mjs';
import { runProgram, UserError } from './lib/user-error.mjs';

/**
 * npm run migrate: as the owner, on MIGRATE_DATABASE_URL; without it on the running embedded PostgreSQL.
 */
await runProgram(async () => {
  readArguments('Usage: npm run migrate, on MIGRATE_DATABASE_URL or on the embedded PostgreSQL that runs.');
  const { applied } = await migrate(findDatabase());
  console.log(applied.length === 0 ? 'The database is up to date.' : `Applied: ${applied.join(', ')}.`);
});

function findDatabase() {
  const migrateDatabaseUrl = process.env['MIGRATE_DATABASE_URL'];
  if (migrateDatabaseUrl) return { migrateDatabaseUrl, databaseUrl: process.env['DATABASE_URL'] || undefined };
  if (process.env['DATABASE_URL']) throw new UserError('Set MIGRATE_DATABASE_URL to the role that owns the database.');
  const embedded = attachToPostgres(dataDirOf(process.env));
  if (embedded !== null) return embedded;
  throw new UserError('Set MIGRATE_DATABASE_URL, or start the embedded PostgreSQL first: npm run start:db');
}
