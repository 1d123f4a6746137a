import { setTimeout as delay } from 'node:timers/promises';
import type { OnApplicationBootstrap, OnApplicationShutdown } from '@nestjs/common';
import {
  endSession,
  HOLD_OF_ALL_LANES,
  LANE_LOCK_SESSIONS,
  sessionConfig,
  StatementGroup,
  watchedSession,
  type WatchedSession,
} from '#database';
import { LANE_LOCK_SPACE, SETTLE_GRACE_SECONDS } from '#ledger';
import { systemClock, type Logger } from '#runtime';
import { beginConfirmation } from './lane-timing.js';
import type { LaneLockHandle, LaneLocks } from './ports.js';

const RECONNECT_PAUSES_MS = [50, 250, 500, 1_000, 2_000];

/** Of lock statements and of what comes before them, which take no time; soon after it the connection counts as silent (watched-client.ts). */
const STATEMENT_TIMEOUT_MS = 2_000;
const HEARTBEAT_MS = 1_000;
/**
 * The same while no lane is in hand: nothing is lost with the session then. One that is silent is noticed some five seconds later than by a
 * heartbeat each second; the taker of a lane meanwhile waits for its own statement, as it would behind a heartbeat that is under way.
 */
const HEARTBEAT_AT_REST_MS = 5_000;

/** A process of the server: its id may be used again later. */
interface Backend {
  pid: number;
  startedAt: string;
}

interface LockRequest {
  lockNumber: number;
  /** `ask`: it is released, and after that asked about. */
  act: 'take' | 'release' | 'ask';
}

/**
 * Taking and releasing lanes in one statement. A lane is in a group once: it is released before it is taken again. While a
 * person holds all lanes (npm run cli -- restore begin) none is taken.
 */
const TAKE_AND_RELEASE = `
  SELECT w.lane, CASE WHEN w.act = 'ask' THEN release_lane($1, w.lane, $4, ${SETTLE_GRACE_SECONDS})
                      WHEN w.act = 'release' THEN pg_advisory_unlock($1, w.lane)
                      WHEN held.all_lanes THEN false
                      ELSE pg_try_advisory_lock($1, w.lane) END AS answer
    FROM unnest($2::int[], $3::text[]) AS w(lane, act),
         (SELECT EXISTS (${HOLD_OF_ALL_LANES}) AS all_lanes) held`;

/**
 * One statement at a time takes and releases all lanes that wait for it: the connection takes no more than one, and its
 * round trip is paid once for all (docs/adr/0050-lane-locks-in-groups.md).
 */
class Session {
  backend: Backend = { pid: 0, startedAt: '' };
  serverStartedAt = '';
  alive = false;
  /** It has answered lately. */
  isConfirmed = (): boolean => false;
  /** When a heartbeat was last sent, by `performance.now()`. */
  beatenMs = -Infinity;
  /** Resolves when the session is lost or given up. */
  readonly over: Promise<void>;
  private settleOver: () => void = () => undefined;
  private readonly requests = new StatementGroup<LockRequest, boolean | null>((group) => this.ask(group), {
    maxStatements: 1,
  });

  constructor(
    readonly client: WatchedSession,
    private readonly relayId: string,
  ) {
    this.over = new Promise((resolve) => (this.settleOver = resolve));
  }

  end(): void {
    this.alive = false;
    this.settleOver();
  }

  /** @returns whether the lane is this session's from now on; of a release, whether it was; of a question, whether something is due, null: unknown */
  request(lockNumber: number, act: LockRequest['act']): Promise<boolean | null> {
    return this.requests.one({ lockNumber, act });
  }

  /** @returns when it has answered */
  async beat(): Promise<void> {
    const confirmation = beginConfirmation(systemClock);
    await this.client.query('SELECT 1');
    this.isConfirmed = confirmation;
  }

  private async ask(group: readonly LockRequest[]): Promise<(boolean | null)[]> {
    const confirmation = beginConfirmation(systemClock);
    const { rows } = await this.client.query<{ lane: number; answer: boolean | null }>({
      name: 'take-and-release-lanes',
      text: TAKE_AND_RELEASE,
      values: [LANE_LOCK_SPACE, group.map(({ lockNumber }) => lockNumber), group.map(({ act }) => act), this.relayId],
    });
    this.isConfirmed = confirmation;
    const answers = new Map(rows.map(({ lane, answer }) => [lane, answer]));
    return group.map(({ lockNumber }) => answers.get(lockNumber) ?? null);
  }
}

/**
 * Lane locks: session advisory locks of PostgreSQL on one dedicated connection of this process (docs/adr/0002-lane-lock.md).
 * A paused process keeps its locks, a dead one frees them at once, a lost host after eleven seconds (keepalives of the
 * server's side). Advisory locks are re-entrant within a session, so the process also keeps its own set.
 */
export class AdvisoryLaneLocks implements LaneLocks, OnApplicationBootstrap, OnApplicationShutdown {
  private readonly inHand = new Set<number>();
  private session: Session | null = null;
  private failures = 0;
  /** The backend of the last session that was used. */
  private predecessor: Backend | null = null;
  private stopped = false;

  constructor(
    private readonly settings: {
      databaseUrl: string;
      /** As it stands in lanes that this relay settles. */
      relayId: string;
      /** Runs on each new session before it takes any lane; while it fails, no lane is taken. It may change the limit of its statements. */
      beforeUse?: (client: WatchedSession) => Promise<void>;
    },
    private readonly logger: Logger,
  ) {}

  onApplicationBootstrap(): void {
    void this.keepConnected();
  }

  async onApplicationShutdown(): Promise<void> {
    this.stopped = true;
    if (this.session) await endSession(this.session.client);
  }

  get isConnected(): boolean {
    return this.session?.alive ?? false;
  }

  async tryTake(lockNumber: number): Promise<LaneLockHandle | null> {
    const { session } = this;
    if (!session?.alive || this.inHand.has(lockNumber)) return null;
    this.inHand.add(lockNumber);
    try {
      if (await session.request(lockNumber, 'take')) return this.handleOn(session, lockNumber);
    } catch (error) {
      this.giveUp(session, error);
    }
    this.inHand.delete(lockNumber);
    return null;
  }

  private handleOn(session: Session, lockNumber: number): LaneLockHandle {
    return {
      lockNumber,
      backendPid: session.backend.pid,
      serverStartedAt: session.serverStartedAt,
      isHeld: () => session.alive && session.isConfirmed(),
      release: async () => {
        await this.giveBack(session, lockNumber, 'release');
      },
      releaseAndAsk: () => this.giveBack(session, lockNumber, 'ask'),
    };
  }

  private async giveBack(session: Session, lockNumber: number, act: 'release' | 'ask'): Promise<boolean | null> {
    try {
      return session.alive ? await session.request(lockNumber, act) : null;
    } catch (error) {
      // The session ends with the lock: nothing is left to release.
      this.giveUp(session, error);
      return null;
    } finally {
      this.inHand.delete(lockNumber);
    }
  }

  /** Nothing says which lanes a statement has taken whose answer was lost: they are given up with the session. */
  private giveUp(session: Session, error: unknown): void {
    if (!session.alive) return;
    this.logger.error({ err: error }, 'lane lock statement failed: lanes in hand end before their next byte');
    session.end();
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
    const { databaseUrl: url } = this.settings;
    const names = { url, applicationName: LANE_LOCK_SESSIONS };
    const client = watchedSession(sessionConfig({ ...names, statementTimeoutMs: STATEMENT_TIMEOUT_MS }));
    const session = new Session(client, this.settings.relayId);
    client.once('end', () => session.end());
    client.on('error', (error) => {
      this.logger.error({ err: error }, 'lane lock session lost: lanes in hand end before their next byte');
      session.end();
    });
    try {
      await client.connect();
      await this.prepare(session);
      await this.useUntilLost(session);
    } finally {
      // On a dead line the goodbye is not answered: the next session does not wait for it.
      await endSession(client);
    }
  }

  private async prepare(session: Session): Promise<void> {
    const { client } = session;
    const { serverStartedAt, ...backend } = await ownBackend(client);
    session.backend = backend;
    session.serverStartedAt = serverStartedAt;
    await this.endPredecessor(client);
    await this.settings.beforeUse?.(client);
    // Which may have lifted it.
    await client.limitStatements(STATEMENT_TIMEOUT_MS);
  }

  private async useUntilLost(session: Session): Promise<void> {
    this.predecessor = session.backend;
    session.alive = true;
    this.session = session;
    this.failures = 0;
    const beating = setInterval(() => void this.beat(session), HEARTBEAT_MS);
    await session.over;
    clearInterval(beating);
    this.session = null;
  }

  /** A session in whose statements nothing is under way could be lost without notice. */
  private async beat(session: Session): Promise<void> {
    const { client } = session;
    const restedMs = performance.now() - session.beatenMs;
    if (client.isBusy || (this.inHand.size === 0 && restedMs < HEARTBEAT_AT_REST_MS - HEARTBEAT_MS / 2)) return;
    session.beatenMs = performance.now();
    try {
      await session.beat();
    } catch (error) {
      // The connection has ended by itself, and the session with it.
      this.logger.debug({ err: error }, 'the lock session did not answer');
    }
  }

  /**
   * The server may go on for a while with a session whose connection is lost, and with its locks. The process has given it up,
   * so it may end it: nothing else would take these lanes before.
   */
  private async endPredecessor(client: WatchedSession): Promise<void> {
    if (!this.predecessor) return;
    await client.query(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = $1 AND backend_start = $2::timestamptz',
      [this.predecessor.pid, this.predecessor.startedAt],
    );
  }
}

async function ownBackend(client: WatchedSession): Promise<Backend & { serverStartedAt: string }> {
  const { rows } = await client.query<Backend & { serverStartedAt: string }>(
    `SELECT pid, backend_start::text AS "startedAt", pg_postmaster_start_time()::text AS "serverStartedAt"
       FROM pg_stat_activity WHERE pid = pg_backend_pid()`,
  );
  const [backend] = rows;
  if (!backend) throw new Error('the lock session does not see itself in pg_stat_activity');
  return backend;
}
