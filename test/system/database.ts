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

/** Fiscal fields are written once, by every role; a test that needs others takes the lock away for its statement. Values without quotes. */
export async function sqlAgainstTheLaw(database: { adminUrl: string }, statement: string): Promise<void> {
  const [table, trigger] = ['receipts', 'receipts_change_legally'];
  await sql(
    database,
    `BEGIN; ALTER TABLE ${table} DISABLE TRIGGER ${trigger}; ${statement}; ALTER TABLE ${table} ENABLE TRIGGER ${trigger}; COMMIT`,
  );
}

/** Ends every session of the database's programs, as a server that is being moved does. */
export async function endSessions(database: { adminUrl: string }): Promise<void> {
  await sql(
    database,
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid()`,
  );
}

export type RowCounts = Record<'receipts' | 'events' | 'attempts', number>;

/** Counts on a connection of its own that is kept, for tests that count often. */
export class RowCounter {
  private constructor(private readonly client: pg.Client) {}

  static async connect({ adminUrl }: { adminUrl: string }): Promise<RowCounter> {
    const client = new pg.Client({ connectionString: adminUrl });
    await client.connect();
    return new RowCounter(client);
  }

  /** Without the events of registers: the relay's polls write those by themselves, at any time. */
  async count(): Promise<RowCounts> {
    const { rows } = await this.client.query<RowCounts>(
      `SELECT (SELECT count(*) FROM receipts)::int AS receipts,
              (SELECT count(*) FROM events WHERE type NOT LIKE 'device.%')::int AS events, (SELECT count(*) FROM attempts)::int AS attempts`,
    );
    if (!rows[0]) throw new Error('no counts');
    return rows[0];
  }

  close(): Promise<void> {
    return this.client.end();
  }
}
