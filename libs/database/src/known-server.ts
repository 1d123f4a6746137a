import { systemClock, type Logger } from '#runtime';
import { readIdentity } from './database-identity.js';
import { Prisma } from './generated/client.js';
import { onBehalfOfAll } from './merchant-scope.js';
import type { PrismaService } from './prisma.service.js';
import { sessionConfig } from './session.js';
import { endSession, watchedSession, type WatchedSession } from './watched-client.js';

const TIMEOUTS = { statementTimeoutMs: 3_000, lockTimeoutMs: 1_000 };
/** What waits for a relay is tried again, twice a second at first. */
const REFUSED_MS = 1_000;

/** When the database was put back from a copy last, to the microsecond and in no session's time zone; null: never. */
export const PUT_BACK_US = Prisma.sql`(SELECT (extract(epoch FROM i.changed_at) * 1000000)::int8 FROM database_identity i)`;

/**
 * Condition: this is another server than the one whose database was compared last. A standby that was promoted a moment ago may lack what was
 * sent last, until a relay has noted the change. Only for what is then refused, or waits: whatever is held on this ground would be held after each start.
 */
export const ON_UNKNOWN_SERVER = Prisma.sql`
  coalesce((SELECT i.server_started <> pg_postmaster_start_time() FROM database_identity i), false)`;

/**
 * Condition of a statement that is about to move money, or to call it not taken: the server is one whose database was compared, and the last
 * change of it is the one that its reader knew of. A promoted standby may lack the last payments: what they have asked of a provider would be
 * asked again, until a relay has noted the change (apps/device-relay/src/copies/hold-after-restore.ts).
 *
 * @param putBackUs as it was read with the payment ({@link PUT_BACK_US})
 */
export function onKnownServer(putBackUs: bigint | null): Prisma.Sql {
  return Prisma.sql`(EXISTS (SELECT FROM database_identity i WHERE i.server_started = pg_postmaster_start_time())
    AND ${PUT_BACK_US} IS NOT DISTINCT FROM ${putBackUs}::int8)`;
}

/**
 * Notes a server that has only been started anew, or that no relay has met yet, so that no work needs a relay to go on. One of which that is not
 * certain is left to a relay: it knows what must be held.
 */
export class KnownServer {
  /** Those that meet an unknown server together ask once. */
  private asking: Promise<boolean> | null = null;
  /** By the monotonic clock: until then it is not asked again. */
  private refusedUntilMs = 0;

  constructor(
    private readonly database: Pick<PrismaService, '$queryRaw'>,
    /** Of a session of its own: the facts of an identity are refused one by one. */
    private readonly address: { databaseUrl: string; applicationName: string },
    private readonly logger: Logger,
  ) {}

  /** Once more where the first try came to nothing (null, false) and the server was unknown: that may have been why. */
  async tried<T>(work: () => Promise<T>): Promise<T> {
    const done = await work();
    const isRefused = done === null || done === false;
    return isRefused && (await this.note()) ? work() : done;
  }

  /** Never rejects. @returns whether it was unknown and is known now */
  private async note(): Promise<boolean> {
    if (this.asking === null && systemClock.monotonicMs() < this.refusedUntilMs) return false;
    this.asking ??= onBehalfOfAll(() => this.ask())
      .catch((error: unknown) => {
        this.logger.warn({ err: error }, 'the server of the database was not asked');
        return false;
      })
      .finally(() => {
        this.asking = null;
      });
    return this.asking;
  }

  private async ask(): Promise<boolean> {
    if (await this.isKnown()) return false;
    this.refusedUntilMs = systemClock.monotonicMs() + REFUSED_MS;
    const { databaseUrl: url, applicationName } = this.address;
    const session = watchedSession(sessionConfig({ url, applicationName, ...TIMEOUTS }));
    session.on('error', (error) => this.logger.warn({ err: error }, 'the server of the database was not asked'));
    try {
      await session.connect();
      if (!(await this.compare(session))) return false;
      this.refusedUntilMs = 0;
      return true;
    } finally {
      await endSession(session);
    }
  }

  private async isKnown(): Promise<boolean> {
    const [row] = await this.database.$queryRaw<{ is_known: boolean }[]>`
      SELECT coalesce(server_started = pg_postmaster_start_time(), false) AS is_known FROM database_identity`;
    return row?.is_known ?? false;
  }

  private async compare(session: WatchedSession): Promise<boolean> {
    const seen = await readIdentity(session, this.logger);
    await session.query('INSERT INTO database_identity (identity) VALUES ($1) ON CONFLICT (id) DO NOTHING', [seen]);
    const { rows } = await session.query<{ identity: string }>('SELECT identity FROM database_identity');
    const before = rows[0]?.identity;
    if (before === undefined || before !== seen || isLate(seen)) {
      this.logger.warn(
        { before, identity: seen },
        'it is not certain that this is the same database: a relay has to note it first',
      );
      return false;
    }
    const { rowCount } = await session.query(
      'UPDATE database_identity SET server_started = pg_postmaster_start_time() WHERE identity = $1',
      [before],
    );
    return rowCount === 1;
  }
}

/** The timeline of a checkpoint is the one before, for a while after a promotion. */
function isLate(identity: string): boolean {
  return identity.includes('checkpoint=');
}
