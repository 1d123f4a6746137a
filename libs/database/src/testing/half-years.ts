import pg from 'pg';

/**
 * Gives receipts other half-years than the migration did: as of an installation that has sold for years.
 * @param ownerUrl of a database without receipts
 * @param starts the first moments of half-years that follow each other; what is before them stands with sandboxes in the DEFAULT partition
 */
export async function makeHalfYears(ownerUrl: string, starts: readonly Date[]): Promise<void> {
  const owner = new pg.Client({ connectionString: ownerUrl });
  await owner.connect();
  try {
    const { rows: made } = await owner.query<{ name: string }>(`SELECT name FROM partitions_of('receipts')`);
    const { rows: bounds } = await owner.query<{ from: string; name: string }>(
      `SELECT first_id_at('rcp', s) AS from, to_char(s AT TIME ZONE 'UTC', '"receipts"_YYYYMM') AS name
         FROM unnest($1::timestamptz[]) AS s ORDER BY 1`,
      [starts],
    );
    const halves = bounds.map(({ name, from }, at) => ({ name, from, to: bounds[at + 1]?.from ?? 'rcp_t' }));
    await owner.query(`
      BEGIN;
      ${made.map(({ name }) => `DROP TABLE parts.${name};`).join('\n')}
      ALTER TABLE parts.receipts_first DROP CONSTRAINT receipts_in_first;
      ALTER TABLE parts.receipts_first ADD CONSTRAINT receipts_in_first CHECK (id ~<~ '${halves[0]?.from ?? 'rcp_t'}' OR id ~>=~ 'rcp_t');
      ${halves.map(({ name, from, to }) => `SELECT create_partition('receipts', '${name}', 'FROM (''${from}'') TO (''${to}'')');`).join('\n')}
      COMMIT`);
  } finally {
    await owner.end();
  }
}
