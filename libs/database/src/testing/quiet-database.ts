import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { startOwnServer } from './own-server.js';
import type { TestDatabase } from './test-database.js';

const DEADLINE_MS = 90_000;

/**
 * Transaction numbers are the server's, not the database's: a reader that stops before what is in flight also waits for the tests
 * that run beside this one. Resolves when all that began before this call has ended.
 */
export async function earlierTransactionsEnded(session: Pick<pg.Client, 'query'>): Promise<void> {
  const { rows } = await session.query<{ mark: string }>(
    'SELECT pg_snapshot_xmax(pg_current_snapshot())::text AS mark',
  );
  const mark = rows[0]?.mark;
  for (const endMs = performance.now() + DEADLINE_MS; performance.now() < endMs; await delay(20)) {
    const { rowCount } = await session.query(
      'SELECT WHERE pg_snapshot_xmin(pg_current_snapshot())::text::numeric >= $1::numeric',
      [mark],
    );
    if (rowCount === 1) return;
  }
  throw new Error('a transaction that began before is still in flight');
}

/** A database on a server of its own, for a test that counts what old snapshots leave behind. About 2 s. */
export async function createQuietDatabase(): Promise<TestDatabase> {
  const server = await startOwnServer();
  const { url, ownerUrl } = await server.migratedDatabase();
  const adminUrl = new URL(server.adminUrl);
  adminUrl.pathname = new URL(url).pathname;
  return { url, ownerUrl, adminUrl: adminUrl.href, drop: () => server.remove() };
}
