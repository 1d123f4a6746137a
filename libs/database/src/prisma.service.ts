import { PrismaPg } from '@prisma/adapter-pg';
import type pg from 'pg';
import { INT8_AS_BIGINT } from './column-types.js';
import { PrismaClient, type Prisma } from './generated/client.js';
import { connectTimeoutOf, type SessionSettings } from './session.js';
import { isRefusedForItsRows } from './sql-errors.js';
import { StandingQuestions } from './standing-questions.js';
import { WatchedPool } from './watched-pool.js';

export interface DatabaseSettings extends Omit<SessionSettings, 'lockTimeoutMs' | 'statementTimeoutMs'> {
  /** Connections of this process's pool. */
  poolSize: number;
  /** How long one statement may wait for another transaction's lock, milliseconds. */
  lockTimeoutMs: number;
  /** How long the server lets one statement take; half a second later its connection counts as silent. 0: for ever. */
  statementTimeoutMs?: number;
  /** Statements that may wait for a connection; one more is refused at once. */
  maxWaiting?: number;
  /** Merchants share its connections: none has more than half of them (shared-connections.ts). */
  isShared?: boolean;
}

const STATEMENT_TIMEOUT_MS = 15_000;
const MAX_WAITING = 1_000;

/** Statements that each connection keeps prepared. Ours are a few dozen; the bound is for what Prisma composes. */
const MAX_PREPARED = 500;

/** A connection is waited for in a part of a share, in the share, and in the pool: each says why it was in vain, which Prisma's own deadline does not. A transaction names a `maxWait` only where its caller is answered before. */
const WAITS = 3;

/** A stable name for each statement's text, so that PostgreSQL parses and plans it once per connection. */
function statementNames(): (query: { sql: string }) => string {
  const names = new Map<string, string>();
  return ({ sql }) => {
    const known = names.get(sql);
    if (known !== undefined) return known;
    if (names.size >= MAX_PREPARED) return ''; // not prepared
    const name = `s${names.size + 1}`;
    names.set(sql, name);
    return name;
  };
}

function unprepared(): string {
  return '';
}

/** No connection was to be had: the statement has not left the process, and nothing of it will be carried out. */
export class NotSent extends Error {
  override readonly name = 'NotSent';

  constructor(cause: unknown) {
    super('No connection to the database; the statement was not sent', { cause });
  }
}

/**
 * The one way to PostgreSQL for queries. Statements are bounded by the server (statement_timeout), by the connection (watched-client.ts)
 * and by the pool, so that a lost database becomes an error within seconds and never a hang.
 */
export class PrismaService extends PrismaClient {
  private readonly pool: WatchedPool;
  private readonly size: number;
  private readonly nameOf: (query: { sql: string }) => string;
  private readonly questions = new StandingQuestions((statement) => this.queryHot(statement));

  constructor(settings: DatabaseSettings) {
    const pool = new WatchedPool({
      statementTimeoutMs: STATEMENT_TIMEOUT_MS,
      maxWaiting: MAX_WAITING,
      ...settings,
      size: settings.poolSize,
    });
    const nameOf = settings.isPooled === true ? unprepared : statementNames();
    const connectMs = settings.connectTimeoutMs ?? connectTimeoutOf(settings.url);
    super({
      adapter: new PrismaPg(pool, { statementNameGenerator: nameOf }),
      transactionOptions: { maxWait: connectMs * WAITS + 1_000 },
    });
    this.pool = pool;
    this.size = settings.poolSize;
    this.nameOf = nameOf;
  }

  /** Its connections at this moment, and what waits for one. */
  get connections(): { size: number; open: number; busy: number; waiting: number } {
    const { totalCount, idleCount, waiting } = this.pool;
    return { size: this.size, open: totalCount, busy: totalCount - idleCount, waiting };
  }

  /**
   * One statement on the same pool without Prisma's client in between, for the few that every receipt passes
   * (docs/adr/0018-hot-statements.md). A row's columns come as `$queryRaw` gives them; errors are those of `pg`.
   */
  queryHot<Row>(statement: Prisma.Sql): Promise<Row[]> {
    return this.run<Row>(this.nameOf({ sql: statement.sql }), statement);
  }

  /**
   * One statement on the same pool, planned for its very values and kept nowhere (docs/adr/0035-planned-pages.md): where a rare
   * value and a common one need different indexes. Otherwise as {@link queryHot}.
   */
  queryPlanned<Row>(statement: Prisma.Sql): Promise<Row[]> {
    return this.run<Row>(undefined, statement);
  }

  /**
   * What a loop asks each time before it begins to work: an expression of one value, as `queryHot` gives it. Loops that ask in the same turn
   * (Periodic, `isOnBeat`) share one statement, so that a program at rest asks little (standing-questions.ts).
   */
  async ask<Answer>(question: Prisma.Sql): Promise<Answer> {
    return (await this.questions.ask(question)) as Answer;
  }

  private async run<Row>(name: string | undefined, { text, values }: Prisma.Sql): Promise<Row[]> {
    const client = await this.connection();
    const query = { ...(name !== undefined && { name }), text, values: [...values], types: INT8_AS_BIGINT };
    try {
      const { rows } = await client.query<Row & pg.QueryResultRow>(query);
      client.release();
      return rows;
    } catch (error) {
      // With a session its plans are gone: it is closed only where it may be the cause.
      client.release(isRefusedForItsRows(error) ? undefined : (error as Error));
      throw error;
    }
  }

  private async connection(): Promise<pg.PoolClient> {
    const connecting: Promise<pg.PoolClient> = this.pool.connect();
    return connecting.catch((error: unknown) => {
      throw new NotSent(error);
    });
  }

  override async $disconnect(): Promise<void> {
    await super.$disconnect();
    if (!this.pool.ended) await this.pool.end();
  }

  /** In the last phase of a stop: what is in hand is recorded in the phases before. */
  async onApplicationShutdown(): Promise<void> {
    await this.$disconnect();
  }
}
