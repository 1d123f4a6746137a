import { PrismaPg } from '@prisma/adapter-pg';
import { PrismaClient } from './generated/client.js';

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
  constructor(settings: DatabaseSettings) {
    super({
      adapter: new PrismaPg(
        {
          connectionString: settings.url,
          max: settings.poolSize,
          application_name: settings.applicationName,
          connectionTimeoutMillis: 5_000,
          statement_timeout: 15_000,
          lock_timeout: settings.lockTimeoutMs,
          keepAlive: true,
        },
        { statementNameGenerator: statementNames() },
      ),
    });
  }

  async onModuleDestroy(): Promise<void> {
    await this.$disconnect();
  }
}
