import pg from 'pg';
import type { Prisma } from './generated/client.js';
import { INT8_AS_BIGINT } from './column-types.js';
import { scopedMerchant } from './merchant-scope.js';
import { sessionConfig } from './session.js';
import { enterForGood } from './scoped-query.js';
import { endSession, watchedSession, type WatchedSession } from './watched-client.js';

export interface PageReaderOptions {
  databaseUrl: string;
  /** Shown in pg_stat_activity. */
  applicationName: string;
  /** Rows that are held in memory at a time. */
  pageSize: number;
  /** How long the caller may ask for nothing before the server ends the session. */
  idleTimeoutMs: number;
  /** How long a page may take. */
  statementTimeoutMs: number;
}

/** The statement of the page behind a row, or of the first page: at most `limit` rows. */
export type PageStatement<Row> = (after: Row | null, limit: number) => Prisma.Sql;

/**
 * Reads a long list page by page, on a connection of its own: the pool is for requests that end soon. Each page is one statement
 * and nothing is open between two of them: a snapshot that stays open for minutes keeps the whole database from clearing up what has
 * changed since, and each lane would walk over it (docs/adr/0060-lane-reads.md). Nothing is read ahead.
 */
export class PageReader<Row extends object> {
  private last: Row | null = null;
  private isAtEnd = false;

  private constructor(
    private readonly client: WatchedSession,
    private readonly pageSize: number,
    private readonly statement: PageStatement<Row>,
  ) {}

  /** Fails with errors of `pg`. */
  static async open<Row extends object>(
    options: PageReaderOptions,
    statement: PageStatement<Row>,
  ): Promise<PageReader<Row>> {
    const client = watchedSession({
      ...sessionConfig({
        url: options.databaseUrl,
        applicationName: options.applicationName,
        statementTimeoutMs: options.statementTimeoutMs,
        parameters: { idle_session_timeout: Math.floor(options.idleTimeoutMs) },
      }),
      types: INT8_AS_BIGINT,
    });
    try {
      await client.connect();
      // Its pages are asked for by the socket that takes them, for which nothing is known of any merchant.
      const merchantId = scopedMerchant();
      if (merchantId !== null) await enterForGood(client, merchantId);
      return new PageReader<Row>(client, options.pageSize, statement);
    } catch (error) {
      await endSession(client);
      throw error;
    }
  }

  /**
   * The next page, each row as it comes from the wire: what is made of it at once need not wait in memory for the others. A row
   * that is kept until its page is whole grows old there, and V8 clears away what is old only when hundreds of MiB are.
   * @param onRow must not wait for anything; what it throws ends the page
   * @returns how many rows there were; 0 = the end
   */
  async next(onRow: (row: Row) => void): Promise<number> {
    if (this.isAtEnd) return 0;
    const { text, values } = this.statement(this.last, this.pageSize);
    const count = await this.run({ text, values: [...values] }, onRow);
    this.isAtEnd = count < this.pageSize;
    return count;
  }

  /** The session ended by itself: nothing was asked for too long, or the server went away. */
  onLost(listener: (error: Error) => void): void {
    this.client.on('error', listener);
  }

  /** Ends the connection. Once more does nothing. */
  close(): Promise<void> {
    return endSession(this.client);
  }

  private run(statement: { text: string; values: unknown[] }, onRow: (row: Row) => void): Promise<number> {
    return new Promise((resolve, reject) => {
      const query = new pg.Query<Row & pg.QueryResultRow>(statement);
      let count = 0;
      let failure: { cause: unknown } | null = null;
      query.on('row', (row) => {
        count += 1;
        this.last = row;
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
}
