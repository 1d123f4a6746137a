import type pg from 'pg';

/** Entries of indexes and rows of sequential scans of these tables that have been visited so far, dead ones too, as far as sessions have said. */
export async function visitedRows(client: pg.Client, tables: readonly string[]): Promise<number> {
  const { rows } = await client.query<{ visits: number }>(
    `WITH those AS (
       SELECT c.oid FROM pg_class c LEFT JOIN pg_inherits i ON i.inhrelid = c.oid LEFT JOIN pg_class p ON p.oid = i.inhparent
        WHERE c.relkind = 'r' AND coalesce(p.relname, c.relname) = ANY($1)
     )
     SELECT ((SELECT sum(seq_tup_read) FROM pg_stat_user_tables WHERE relid IN (SELECT oid FROM those))
             + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relid IN (SELECT oid FROM those)))::int AS visits`,
    [tables],
  );
  return rows[0]?.visits ?? Number.NaN;
}
