import type { TestDatabase } from './test-database.js';
import { startTestServer } from '../../../../scripts/lib/test-server.mjs';

/** A PostgreSQL that only one test file uses and may therefore stop, kill and start again. */
export interface OwnServer {
  /** As superuser; the roles `fiscal_owner` and `fiscal_app` have the same password. */
  readonly adminUrl: string;
  /** Makes roles and queue and applies all migrations. Its drop() does nothing: it goes with the server. */
  migratedDatabase(): Promise<TestDatabase>;
  /** Its files, to be copied or put back while it does not run. */
  readonly clusterDir: string;
  /** As a failing machine would: no time to say goodbye. The data stays. SIGQUIT is `pg_ctl stop -m immediate`. */
  kill(how?: 'SIGKILL' | 'SIGQUIT'): Promise<void>;
  /** Comes back on the same port. */
  restart(): Promise<void>;
  /** Takes it away with all its data. */
  remove(): Promise<void>;
}

/**
 * About 1.5 s: prefer `createTestDatabase` wherever a database on the shared server will do.
 * @param parent where its folder is made, for tests that bring a disk of their own
 */
export async function startOwnServer(parent?: string): Promise<OwnServer> {
  const server = await startTestServer(parent === undefined ? {} : { parent });
  return {
    adminUrl: server.adminUrl,
    clusterDir: server.clusterDir,
    migratedDatabase: async () => {
      const ownerUrl = await server.migratedDatabase();
      const url = new URL(ownerUrl);
      url.username = 'fiscal_app';
      const admin = Object.assign(new URL(server.adminUrl), { pathname: url.pathname });
      return { url: url.href, ownerUrl, adminUrl: admin.href, drop: () => Promise.resolve() };
    },
    kill: (how) => server.kill(how),
    restart: () => server.restart(),
    remove: () => server.stop(),
  };
}
