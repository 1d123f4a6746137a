import { setTimeout as delay } from 'node:timers/promises';
import { Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import pg from 'pg';
import type { Logger } from '#runtime';
import type { LaneGrip, LaneLocks } from './ports.js';

/** First key of our advisory locks; the second is the lane's number. */
export const LANE_LOCK_SPACE = 0x4c41; // "LA"

const RECONNECT_PAUSES_MS = [50, 250, 500, 1_000, 2_000];

/** One statement at a time, in order: the connection takes no more. */
class Session {
  backendPid = 0;
  alive = false;
  private last: Promise<unknown> = Promise.resolve();

  constructor(readonly client: pg.Client) {}

  query<Row extends pg.QueryResultRow>(query: pg.QueryConfig): Promise<pg.QueryResult<Row>> {
    const next = this.last.then(() => this.client.query<Row>(query));
    // The next statement waits for this one's end, however it ended.
    this.last = next.catch(() => undefined);
    return next;
  }
}

/**
 * Lane locks: session advisory locks of PostgreSQL on one dedicated connection of this process (docs/adr/0002-lane-lock.md).
 * A paused process keeps its locks, a dead one frees them at once, a lost host after eleven seconds (keepalives of the
 * server's side). Advisory locks are re-entrant within a session, so the process also keeps its own set.
 */
@Injectable()
export class AdvisoryLaneLocks implements LaneLocks, OnApplicationBootstrap, OnApplicationShutdown {
  private readonly inHand = new Set<number>();
  private session: Session | null = null;
  private failures = 0;
  private stopped = false;

  constructor(
    private readonly settings: {
      databaseUrl: string;
      /** Runs on each new session before it takes any lane; while it fails, no lane is taken. */
      beforeUse?: (client: pg.Client) => Promise<void>;
    },
    private readonly logger: Logger,
  ) {}

  onApplicationBootstrap(): void {
    void this.keepConnected();
  }

  async onApplicationShutdown(): Promise<void> {
    this.stopped = true;
    await this.session?.client
      .end()
      .catch((error: unknown) => this.logger.debug({ err: error }, 'closing the lock session failed'));
  }

  get isConnected(): boolean {
    return this.session?.alive ?? false;
  }

  async tryTake(lockNumber: number): Promise<LaneGrip | null> {
    const { session } = this;
    if (!session?.alive || this.inHand.has(lockNumber)) return null;
    this.inHand.add(lockNumber);
    try {
      const taken = await session.query<{ locked: boolean }>({
        name: 'take-lane',
        text: 'SELECT pg_try_advisory_lock($1, $2) AS locked',
        values: [LANE_LOCK_SPACE, lockNumber],
      });
      if (taken.rows[0]?.locked) return this.gripOn(session, lockNumber);
    } catch (error) {
      this.logger.warn({ err: error }, 'lane lock failed');
    }
    this.inHand.delete(lockNumber);
    return null;
  }

  private gripOn(session: Session, lockNumber: number): LaneGrip {
    return {
      lockNumber,
      backendPid: session.backendPid,
      isHeld: () => session.alive,
      release: async () => {
        try {
          if (session.alive) {
            await session.query({
              name: 'release-lane',
              text: 'SELECT pg_advisory_unlock($1, $2)',
              values: [LANE_LOCK_SPACE, lockNumber],
            });
          }
        } catch (error) {
          // The session died with the lock: nothing is left to release.
          this.logger.warn({ err: error }, 'lane release failed');
        } finally {
          this.inHand.delete(lockNumber);
        }
      },
    };
  }

  private async keepConnected(): Promise<void> {
    while (!this.stopped) {
      try {
        await this.connectUntilLost();
      } catch (error) {
        this.failures += 1;
        this.logger.warn({ err: error }, 'no session for lane locks');
      }
      if (!this.stopped) await delay(RECONNECT_PAUSES_MS[Math.min(this.failures, RECONNECT_PAUSES_MS.length - 1)]);
    }
  }

  private async connectUntilLost(): Promise<void> {
    const client = new pg.Client({
      connectionString: this.settings.databaseUrl,
      application_name: 'device-relay-locks',
      connectionTimeoutMillis: 5_000,
      keepAlive: true,
      keepAliveInitialDelayMillis: 5_000,
    });
    const session = new Session(client);
    const lost = new Promise<void>((resolve) => {
      const end = (): void => {
        session.alive = false;
        resolve();
      };
      client.once('end', end);
      client.on('error', (error) => {
        this.logger.error({ err: error }, 'lane lock session lost: lanes in hand end before their next byte');
        end();
      });
    });
    await client.connect();
    await client.query('SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 2; SET tcp_keepalives_count = 3');
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    session.backendPid = rows[0]?.pid ?? 0;
    await this.prepare(client);
    session.alive = true;
    this.session = session;
    this.failures = 0;
    await lost;
    this.session = null;
    await client
      .end()
      .catch((error: unknown) => this.logger.debug({ err: error }, 'the lost session was gone already'));
  }

  private async prepare(client: pg.Client): Promise<void> {
    try {
      await this.settings.beforeUse?.(client);
    } catch (error) {
      await client.end();
      throw error;
    }
  }
}
