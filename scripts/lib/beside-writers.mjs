import { applyIndexStatement, indexStatementOf } from './concurrent-index.mjs';
import { piecesOf } from './migration-in-pieces.mjs';
import { buildInPartitions, partitionedIndexOf } from './partitioned-index.mjs';

/** @typedef {{ fate: string, apply: () => Promise<void> }} BesideWriters `fate`: what has become of it when `apply` fails */

/**
 * How a migration that is there for one index, or for filling old rows, brings it about beside readers and writers.
 * @param {import('pg').Client} client outside of any transaction
 * @param {{ name: string, sql: string }} migration
 * @returns {Promise<BesideWriters | null>} null for any other migration
 */
export async function besideWritersOf(client, migration) {
  const pieces = piecesOf(client, migration);
  if (pieces !== null) return pieces;
  const statement = indexStatementOf(migration);
  if (statement !== null) return built(statement.index, () => applyIndexStatement(client, statement));
  const partitioned = await partitionedIndexOf(client, migration);
  if (partitioned !== null) return built(partitioned.index, () => buildInPartitions(client, partitioned));
  return null;
}

/**
 * @param {string} index
 * @param {() => Promise<void>} apply
 * @returns {BesideWriters}
 */
function built(index, apply) {
  return { fate: `the index ${index} was not built`, apply };
}
