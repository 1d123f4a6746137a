import fs from 'node:fs';
import path from 'node:path';

import pg from 'pg';

import { splitIndexes } from './lib/migration-statements.mjs';
import { MIGRATIONS_DIR } from './lib/migrations.mjs';
import { partitionedNames } from './lib/partitioned-index.mjs';
import { findSchemaChanges } from './lib/schema-changes.mjs';
import { startTestServer } from './lib/test-server.mjs';
import { runProgram, UserError } from './lib/user-error.mjs';

const WRITTEN_BY_HAND = '-- Written by hand: the schema already matches.\n';

/**
 * npm run migration:new -- <name>: writes the SQL that carries the database from the last migration to schema.prisma. Each index of a
 * table that is in use becomes a migration of its own, which is built beside the sales (docs/adr/0006-migrations-without-binary.md).
 */
await runProgram(async () => {
  const name = process.argv[2] ?? '';
  if (!/^[a-z][a-z0-9_]{2,60}$/.test(name)) {
    throw new UserError('Name the migration in snake_case: npm run migration:new -- add_device_profile');
  }
  const server = await startTestServer();
  try {
    const url = await server.migratedDatabase();
    const changes = await findSchemaChanges(url);
    const { rest, indexes } = splitIndexes(changes ?? '', await readPartitioned(url));
    const wanted = [
      ...(rest === null && indexes.length > 0 ? [] : [{ name, sql: rest ?? WRITTEN_BY_HAND }]),
      ...indexes.map((index) => ({ name: `${name}_${index.name}`, sql: index.sql })),
    ];
    const folders = wanted.map((migration, index) => write(migration, index));
    fs.writeFileSync(path.join(MIGRATIONS_DIR, 'migration_lock.toml'), 'provider = "postgresql"\n');
    console.log(`${folders.join('\n')}\nRead it, complete it, then run npm run migrate.`);
  } finally {
    await server.stop();
  }
});

/** @param {string} connectionString */
async function readPartitioned(connectionString) {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    return await partitionedNames(client);
  } finally {
    await client.end();
  }
}

/**
 * @param {{ name: string, sql: string }} migration
 * @param {number} index of those that are written together: they are applied in this order
 */
function write({ name, sql }, index) {
  const file = path.join(MIGRATIONS_DIR, `${timestamp(index)}_${name}`, 'migration.sql');
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, sql);
  return path.relative(process.cwd(), file);
}

/** @param {number} seconds after now */
function timestamp(seconds) {
  return new Date(Date.now() + seconds * 1_000).toISOString().replace(/\D/g, '').slice(0, 14);
}
