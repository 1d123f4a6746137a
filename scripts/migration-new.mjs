import fs from 'node:fs';
import path from 'node:path';

import { MIGRATIONS_DIR } from './lib/migrations.mjs';
import { findSchemaChanges } from './lib/schema-changes.mjs';
import { startTestServer } from './lib/test-server.mjs';
import { runProgram, UserError } from './lib/user-error.mjs';

/** npm run migration:new -- <name>: writes the SQL that carries the database from the last migration to schema.prisma. */
await runProgram(async () => {
  const name = process.argv[2] ?? '';
  if (!/^[a-z][a-z0-9_]{2,60}$/.test(name)) {
    throw new UserError('Name the migration in snake_case: npm run migration:new -- add_device_profile');
  }
  const server = await startTestServer();
  try {
    const changes = await findSchemaChanges(await server.migratedDatabase());
    const folder = path.join(MIGRATIONS_DIR, `${timestamp()}_${name}`);
    fs.mkdirSync(folder, { recursive: true });
    fs.writeFileSync(
      path.join(folder, 'migration.sql'),
      changes ?? '-- Written by hand: the schema already matches.\n',
    );
    fs.writeFileSync(path.join(MIGRATIONS_DIR, 'migration_lock.toml'), 'provider = "postgresql"\n');
    console.log(
      `${path.relative(process.cwd(), folder)}/migration.sql — read it, complete it, then run npm run migrate`,
    );
  } finally {
    await server.stop();
  }
});

function timestamp() {
  return new Date().toISOString().replace(/\D/g, '').slice(0, 14);
}
