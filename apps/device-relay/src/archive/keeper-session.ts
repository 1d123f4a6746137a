import { endSession, sessionConfig, watchedSession, type Prisma, type WatchedSession } from '#database';
import type { RunStatement } from '#ledger';
import type { Logger } from '#runtime';

export interface KeeperSession {
  databaseUrl: string;
  /** Of the session, and in the log. */
  name: string;
  /** The advisory lock that one relay in the whole installation has. */
  lock: readonly [space: number, number: number];
  statementTimeoutMs: number;
  lockTimeoutMs: number;
}

/**
 * Does a periodic duty of the whole installation, one relay at a time. All its statements run in the session that holds the lock: who loses
 * the one loses the other.
 * @returns null: another relay is at it
 */
export async function withKeeperLock<T>(
  { databaseUrl: url, name: applicationName, lock, statementTimeoutMs, lockTimeoutMs }: KeeperSession,
  logger: Logger,
  work: (run: RunStatement) => Promise<T>,
): Promise<T | null> {
  const client = watchedSession(sessionConfig({ url, applicationName, statementTimeoutMs, lockTimeoutMs }));
  // The statement under way fails with it; nothing else is to be done.
  client.on('error', (error) => logger.warn({ err: error }, `the session of the ${applicationName} was lost`));
  await client.connect();
  try {
    const { rows } = await client.query<{ taken: boolean }>('SELECT pg_try_advisory_lock($1, $2) AS taken', [...lock]);
    return rows[0]?.taken === true ? await work(runOn(client)) : null;
  } finally {
    // The server ends a session some time after its client did; the next round must not meet its lock. A lost session has none.
    await client.query('SELECT pg_advisory_unlock_all()').catch(() => 'lost');
    await endSession(client);
  }
}

function runOn(client: WatchedSession): RunStatement {
  return async <Row>({ text, values }: Prisma.Sql): Promise<Row[]> =>
    (await client.query(text, [...values])).rows as Row[];
}
