import { systemClock, type Logger } from '#runtime';
import { isSameDatabase, readIdentity } from './database-identity.js';
import { Prisma } from './generated/client.js';
import { sessionConfig } from './session.js';
import { watchedSession } from './watched-client.js';

const TIMEOUTS = { statementTimeoutMs: 3_000, lockTimeoutMs: 1_000 };
/** Each payment that waits for a relay is tried again, twice a second at first. */
const REFUSED_MS = 1_000;

/**
 * Condition of a statement that is about to move money: the server is one whose database was compared, and the last change of it is the one
 * that its reader knew of. A standby that was promoted a moment ago may lack the last payments of the one before it: what they have asked of
 * a provider would be asked again, until a relay has noted the change (apps/device-relay/src/copies/hold-after-restore.ts).
 *
 * @param putBackAt as it was read with the payment
 */
export function onKnownServer(putBackAt: string | null): Prisma.Sql {
  return Prisma.sql`EXISTS (
    SELECT FROM database_identity i
     WHERE i.server_started = pg_postmaster_start_time() AND i.changed_at::text IS NOT DISTINCT FROM ${putBackAt})`;
}

/**
 * Notes a server that has only been started anew, or that no relay has met yet, so that money needs no relay to go on. One with another database
 * than the one that was known is left to a relay: it knows what must be held.
 */
export class KnownServer {
  /** Payments that meet an unknown server together ask once. */
  private asking: Promise<boolean> | null = null;
  /** By the monotonic clock: until then it is not asked again. */
  private refusedUntilMs = 0;

  constructor(
    private readonly address: { databaseUrl: string; applicationName: string },
    private readonly logger: Logger,
  ) {}

  /** @returns whether it is known now: what was refused because it was not is worth another try */
  async note(): Promise<boolean> {
    if (this.asking === null && systemClock.monotonicMs() < this.refusedUntilMs) return false;
    this.asking ??= this.ask().finally(() => {
      this.asking = null;
    });
    return this.asking;
  }

  private async ask(): Promise<boolean> {
    const { databaseUrl: url, applicationName } = this.address;
    const session = watchedSession(sessionConfig({ url, applicationName, ...TIMEOUTS }));
    session.on('error', (error) => this.logger.warn({ err: error }, 'the server of the database was not asked'));
    try {
      await session.connect();
      const seen = await readIdentity(session, this.logger);
      await session.query('INSERT INTO database_identity (identity) VALUES ($1) ON CONFLICT (id) DO NOTHING', [seen]);
      const { rows } = await session.query<{ identity: string; is_known: boolean }>(
        `SELECT identity, coalesce(server_started = pg_postmaster_start_time(), false) AS is_known FROM database_identity`,
      );
      const [known] = rows;
      if (!known) return false;
      if (known.is_known) return true;
      if (!isSameDatabase(known.identity, seen)) {
        this.refusedUntilMs = systemClock.monotonicMs() + REFUSED_MS;
        const found = { before: known.identity, identity: seen };
        this.logger.warn(found, 'another database than before: money waits until a relay has noted it');
        return false;
      }
      const noted = await session.query(
        'UPDATE database_identity SET server_started = pg_postmaster_start_time() WHERE identity = $1',
        [known.identity],
      );
      return noted.rowCount === 1;
    } finally {
      await session.end();
    }
  }
}
