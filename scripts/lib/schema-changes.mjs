import fs from 'node:fs';
import path from 'node:path';

import { ROOT } from './paths.mjs';
import { withSchemaEngine } from './schema-engine.mjs';

/**
 * What would have to be done to a database so that it matches prisma/schema.prisma.
 * @param {string} databaseUrl a database with all migrations applied
 * @param {string} [schema] text of the schema
 * @returns {Promise<string | null>} SQL, or null when nothing differs
 */
export async function findSchemaChanges(databaseUrl, schema = readSchema()) {
  const files = [{ path: 'schema.prisma', content: schema }];
  const { exitCode, stdout } = await withSchemaEngine(databaseUrl, schema, (engine) =>
    engine.diff({
      from: { tag: 'schemaDatasource', files, configDir: ROOT },
      to: { tag: 'schemaDatamodel', files },
      script: true,
      exitCode: true,
      filters: { externalTables: [], externalEnums: [] },
    }),
  );
  return exitCode === 0 ? null : stdout;
}

function readSchema() {
  return fs.readFileSync(path.join(ROOT, 'prisma', 'schema.prisma'), 'utf8');
}
