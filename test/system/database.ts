import pg from 'pg';

/** One statement as the superuser, behind the programs' back. */
export async function sql<Row extends pg.QueryResultRow>(
  { adminUrl }: { adminUrl: string },
  text: string,
  values: unknown[] = [],
): Promise<Row[]> {
  const client = new pg.Client({ connectionString: adminUrl });
  await client.connect();
  try {
    return (await client.query<Row>(text, values)).rows;
  } finally {
    await client.end();
  }
}

export async function countRows(database: {
  adminUrl: string;
}): Promise<Record<'receipts' | 'events' | 'attempts', number>> {
  const [row] = await sql<Record<'receipts' | 'events' | 'attempts', number>>(
    database,
    `SELECT (SELECT count(*) FROM receipts)::int AS receipts, (SELECT count(*) FROM events)::int AS events,
            (SELECT count(*) FROM attempts)::int AS attempts`,
  );
  if (!row) throw new Error('no counts');
  return row;
}
