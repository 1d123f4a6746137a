import pg from 'pg';
import { workContext, type ReleaseSlot, type Share } from '#runtime';
import { sessionConfig, type SessionSettings } from './session.js';
import { SharedConnections } from './shared-connections.js';
import { NotConnected, WatchedClient, type WatchedConfig } from './watched-client.js';

export interface PoolSettings extends SessionSettings {
  size: number;
  /** Statements and transactions that may wait for a connection; one more is refused at once. */
  maxWaiting: number;
  /** Merchants share its connections (shared-connections.ts). */
  isShared?: boolean;
}

/** Every connection is taken, and as many wait for one as may: nothing of the statement has left the process. */
export class PoolExhausted extends Error {
  override readonly name = 'PoolExhausted';

  constructor() {
    super('Too many statements wait for a connection to the database');
  }
}

/** What the pool itself says, of a connection that was not free or not made in time, has no class. */
function named(error: Error): Error {
  return error instanceof NotConnected ? error : new NotConnected(error);
}

function scoped(client: pg.PoolClient, merchantId: string | null): pg.PoolClient {
  (client as unknown as WatchedClient).merchantId = merchantId;
  return client;
}

/**
 * How long a connection that is not needed stays open. Longer than loops pause at rest, and than a load takes to come in waves: opening one is a
 * process for the server, which then plans each statement anew, and some ten milliseconds for the sale that waits. Pools close theirs after ten seconds by default.
 */
const IDLE_MS = 120_000;

/** Longer than a transaction may rest before the server ends it (session.ts): a session in use that rests for longer only listens. */
const LISTENS_AFTER_MS = 10_000;

type ConnectCallback = (error: Error | undefined, client: pg.PoolClient | undefined, done: () => void) => void;

/**
 * Connections for one purpose. One that turns out to be silent takes with it all that have been so since, and all that are
 * idle: the others are most likely cut off in the same way, and trying each in turn would take as many deadlines.
 */
export class WatchedPool extends pg.Pool {
  private readonly watched = new Set<WatchedClient>();
  private readonly inUse = new Set<pg.ClientBase>();
  private readonly shares: SharedConnections | null;
  /** Connections in use that a share counts. */
  private readonly turns = new WeakMap<pg.ClientBase, ReleaseSlot>();

  constructor(private readonly settings: PoolSettings) {
    const config: pg.PoolConfig & WatchedConfig = {
      ...sessionConfig(settings),
      max: settings.size,
      idleTimeoutMillis: IDLE_MS,
      Client: WatchedClient,
      // Behind a pooler one that waits for a session there is as silent as a line that is cut, and says nothing of the others.
      ...(settings.isPooled !== true && { onSilent: (sinceMs: number) => this.dropSilent(sinceMs) }),
    };
    super(config);
    const { size, isShared = false } = settings;
    this.shares = isShared ? SharedConnections.of(size, config.connectionTimeoutMillis ?? 0) : null;
    // An idle connection that is lost is replaced by the pool; without a listener its error would end the process.
    this.on('error', () => undefined);
    this.on('connect', (client) => this.watched.add(client as unknown as WatchedClient));
    this.on('remove', (client) => this.watched.delete(client as unknown as WatchedClient));
    this.on('acquire', (client) => this.inUse.add(client));
    this.on('release', (_error, client) => {
      this.inUse.delete(client);
      this.turns.get(client)?.();
      this.turns.delete(client);
    });
  }

  /** Statements and transactions that wait for a connection. */
  get waiting(): number {
    return this.waitingCount + (this.shares?.waiting ?? 0);
  }

  override connect(callback?: ConnectCallback): never {
    // Now: the connection may be had when another one is released, and so in the middle of another merchant's work.
    const { merchantId, share } = workContext();
    if (this.shares === null || share === null) return this.connectScoped(merchantId, callback);
    const connecting = this.connectInTurn(this.shares, share, merchantId);
    if (!callback) return connecting as never;
    connecting.then(
      (client) => callback(undefined, client, () => client.release()),
      (error: Error) => callback(error, undefined, () => undefined),
    );
    return undefined as never;
  }

  private async connectInTurn(
    shares: SharedConnections,
    share: Share,
    merchantId: string | null,
  ): Promise<pg.PoolClient> {
    const release = await shares.take(share);
    try {
      const client = await (this.connectScoped(merchantId) as Promise<pg.PoolClient>);
      this.turns.set(client, release);
      return client;
    } catch (error) {
      release();
      throw error;
    }
  }

  private connectScoped(merchantId: string | null, callback?: ConnectCallback): never {
    if (this.waitingCount < this.settings.maxWaiting) {
      if (callback)
        return (super.connect as (callback: ConnectCallback) => unknown)((error, client, done) =>
          callback(error && named(error), client && scoped(client, merchantId), done),
        ) as never;
      return super.connect().then(
        (client) => scoped(client, merchantId),
        (error: Error) => {
          throw named(error);
        },
      ) as never;
    }
    const error = new PoolExhausted();
    if (!callback) return Promise.reject(error) as never;
    callback(error, undefined, () => undefined);
    return undefined as never;
  }

  private dropSilent(sinceMs: number): void {
    for (const client of this.watched) {
      // Within a transaction nothing may be expected at this moment: its next statement shows what the connection is worth.
      if (!this.inUse.has(client) || client.isBusy) client.suspect(sinceMs);
      // It has no next statement, and would be deaf for good.
      else if (client.atRestMs > LISTENS_AFTER_MS) client.probe();
    }
  }
}
