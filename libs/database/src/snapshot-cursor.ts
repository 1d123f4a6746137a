import pg from 'pg';
import type { Prisma } from './generated/client.js';
import { INT8_AS_BIGINT } from './column-types.js';
import { sessionConfig } from './session.js';
import { watchedSession } from './watched-client.js';

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
    const client = watchedSession({
      ...sessionConfig({
        url: options.databaseUrl,
        applicationName: options.applicationName,
        statementTimeoutMs: options.statementTimeoutMs,
        idleInTransactionMs: options.idleTimeoutMs,
      }),
      types: INT8_AS_BIGINT,
    });
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

  /**
   * The next batch, each row as it comes from the wire: what is made of it at once need not wait in memory for the others. A row
   * that is kept until its batch is whole grows old there, and V8 clears away what is old only when hundreds of MiB are.
   * @param onRow must not wait for anything; what it throws ends the batch
   * @returns how many rows there were; 0 = the end
   */
  next(onRow: (row: Row) => void): Promise<number> {
    return new Promise((resolve, reject) => {
      const query = new pg.Query<Row & pg.QueryResultRow>(`FETCH ${this.batchSize} FROM rows`);
      let count = 0;
      let failure: { cause: unknown } | null = null;
      query.on('row', (row) => {
        count += 1;
        if (failure !== null) return;
        try {
          onRow(row);
        } catch (cause) {
          // Thrown on, it would end the process: the driver calls from a socket's event.
          failure = { cause };
        }
      });
      query.on('end', () => {
        if (failure === null) resolve(count);
        else reject(new Error('a row could not be used', failure));
      });
      query.on('error', reject);
      this.client.query(query);
    });
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
