import type pg from 'pg';

/** Entries of indexes and rows of sequential scans of these tables that have been visited so far, dead ones too, as far as sessions have said. */
export async function visitedRows(client: pg.Client, tables: readonly string[]): Promise<number> {
  const { rows } = await client.query<{ visits: number }>(
    `SELECT ((SELECT sum(seq_tup_read) FROM pg_stat_user_tables WHERE relname = ANY($1))
             + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relname = ANY($1)))::int AS visits`,
    [tables],
  );
  return rows[0]?.visits ?? Number.NaN;
}
