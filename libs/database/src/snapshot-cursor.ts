import pg from 'pg';
import type { Prisma } from './generated/client.js';
import { INT8_AS_BIGINT } from './column-types.js';

export interface SnapshotOptions {
  databaseUrl: string;
  /** Shown in pg_stat_activity. */
  applicationName: string;
  /** Rows that are held in memory at a time. */
  batchSize: number;
  /** How long the reader may do nothing before the server ends the session: an open snapshot holds back clearing up. */
  idleTimeoutMs: number;
  /** How long the first or any later batch may take. */
  statementTimeoutMs: number;
}

/**
 * Reads the result of one statement, however large, batch by batch from one snapshot, on a connection of its own: the pool
 * is for requests that end soon. Nothing is read ahead: whoever reads slowly holds one batch.
 */
export class SnapshotCursor<Row> {
  private constructor(
    private readonly client: pg.Client,
    private readonly batchSize: number,
  ) {}

  /** The first batch may take as long as the statement's sorting does. Fails with errors of `pg`. */
  static async open<Row>(options: SnapshotOptions, statement: Prisma.Sql): Promise<SnapshotCursor<Row>> {
    const client = new pg.Client({
      connectionString: options.databaseUrl,
      application_name: options.applicationName,
      connectionTimeoutMillis: 5_000,
      keepAlive: true,
      statement_timeout: options.statementTimeoutMs,
      idle_in_transaction_session_timeout: options.idleTimeoutMs,
      types: INT8_AS_BIGINT,
    });
    // Told to whoever reads next; without a listener the loss of an idle connection would end the process.
    client.on('error', () => undefined);
    try {
      await client.connect();
      await client.query('BEGIN READ ONLY');
      await client.query(`DECLARE rows NO SCROLL CURSOR FOR ${statement.text}`, [...statement.values]);
      return new SnapshotCursor<Row>(client, options.batchSize);
    } catch (error) {
      await closeQuietly(client);
      throw error;
    }
  }

  /** @returns an empty list at the end */
  async next(): Promise<Row[]> {
    const { rows } = await this.client.query<Row & pg.QueryResultRow>(`FETCH ${this.batchSize} FROM rows`);
    return rows;
  }

  /** The session ended by itself: the reader did nothing for too long, or the server went away. */
  onLost(listener: (error: Error) => void): void {
    this.client.on('error', listener);
  }

  /** Ends the transaction with the connection. Once more does nothing. */
  close(): Promise<void> {
    return closeQuietly(this.client);
  }
}

async function closeQuietly(client: pg.Client): Promise<void> {
  // What cannot be closed is gone already; nothing was written here.
  await client.end().catch(() => undefined);
}
