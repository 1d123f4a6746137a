import { applyIndexStatement, indexStatementOf } from './concurrent-index.mjs';
import { buildInPartitions, partitionedIndexOf } from './partitioned-index.mjs';

/**
 * How a migration that is there for one index brings it about beside readers and writers.
 * @param {import('pg').Client} client outside of any transaction
 * @param {{ name: string, sql: string }} migration
 * @returns {Promise<{ index: string, apply: () => Promise<void> } | null>} null for any other migration
 */
export async function indexMigrationOf(client, migration) {
  const statement = indexStatementOf(migration);
  if (statement !== null) return { index: statement.index, apply: () => applyIndexStatement(client, statement) };
  const partitioned = await partitionedIndexOf(client, migration);
  if (partitioned !== null) return { index: partitioned.index, apply: () => buildInPartitions(client, partitioned) };
  return null;
}
