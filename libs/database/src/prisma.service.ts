import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import { INT8_AS_BIGINT } from './column-types.js';
import { PrismaClient, type Prisma } from './generated/client.js';

export interface DatabaseSettings {
  /** postgres:// URL of the program role (no ownership). */
  url: string;
  /** Connections of this process's pool. */
  poolSize: number;
  /** Shown in pg_stat_activity. */
  applicationName: string;
  /** How long one statement may wait for another transaction's lock, milliseconds. */
  lockTimeoutMs: number;
}

/** Statements that each connection keeps prepared. Ours are a few dozen; the bound is for what Prisma composes. */
const MAX_PREPARED = 500;

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

/**
 * The one way to PostgreSQL for queries. Statements are bounded by the server (statement_timeout) and by the pool
 * (connect timeout), so that a lost database becomes an error within seconds and never a hang.
 */
export class PrismaService extends PrismaClient {
  private readonly pool: pg.Pool;
  private readonly nameOf: (query: { sql: string }) => string;

  constructor(settings: DatabaseSettings) {
    const pool = new pg.Pool({
      connectionString: settings.url,
      max: settings.poolSize,
      application_name: settings.applicationName,
      connectionTimeoutMillis: 5_000,
      statement_timeout: 15_000,
      lock_timeout: settings.lockTimeoutMs,
      keepAlive: true,
    });
    // An idle connection that is lost is replaced by the pool; without a listener its error would end the process.
    pool.on('error', () => undefined);
    const nameOf = statementNames();
    super({ adapter: new PrismaPg(pool, { statementNameGenerator: nameOf }) });
    this.pool = pool;
    this.nameOf = nameOf;
  }

  /**
   * One statement on the same pool without Prisma's client in between, for the few that every receipt passes
   * (docs/adr/0018-hot-statements.md). A row's columns come as `$queryRaw` gives them; errors are those of `pg`.
   */
  async queryHot<Row>(statement: Prisma.Sql): Promise<Row[]> {
    const name = this.nameOf({ sql: statement.sql });
    const query = { name, text: statement.text, values: [...statement.values], types: INT8_AS_BIGINT };
    const { rows } = await this.pool.query<Row & pg.QueryResultRow>(query);
    return rows;
  }

  /**
   * One statement on the same pool, planned for its very values and kept nowhere (docs/adr/0035-planned-pages.md): where a rare
   * value and a common one need different indexes. Otherwise as {@link queryHot}.
   */
  async queryPlanned<Row>(statement: Prisma.Sql): Promise<Row[]> {
    const query = { text: statement.text, values: [...statement.values], types: INT8_AS_BIGINT };
    const { rows } = await this.pool.query<Row & pg.QueryResultRow>(query);
    return rows;
  }

  override async $disconnect(): Promise<void> {
    await super.$disconnect();
    if (!this.pool.ended) await this.pool.end();
  }

  async onModuleDestroy(): Promise<void> {
    await this.$disconnect();
  }
}
