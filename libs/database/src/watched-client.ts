import { Socket } from 'node:net';
import pg from 'pg';
import { endsWithin } from '#runtime';
import { scopedCall } from './scoped-query.js';

/** A statement was under way, and for so long not one byte of its answer came. */
export class SilentConnection extends Error {
  override readonly name = 'SilentConnection';

  constructor(silenceMs: number) {
    super(`Connection terminated: PostgreSQL has sent nothing for ${silenceMs} ms while a statement was under way`);
  }
}

/**
 * The connection ended while a statement was under way, or before: what became of the statement is not known. `pg` says so by a plain
 * error without a code; here it has a class (libs/runtime/src/database-unavailable.ts).
 */
export class ConnectionLost extends Error {
  override readonly name = 'ConnectionLost';

  constructor(cause: Error) {
    super(cause.message, { cause });
  }
}

/**
 * No connection could be made, or none was free in time: nothing of a statement has left the process. Whatever the reason is (no network, a
 * certificate that has ended, a password that was changed, a database that is being put back), it is the operator's to mend and no caller's,
 * who may come again; the reason is the cause.
 */
export class NotConnected extends Error {
  override readonly name = 'NotConnected';

  constructor(cause: Error) {
    // In words of its own: Prisma's adapter knows some errors by what they say.
    super(`No connection to PostgreSQL: ${cause.message}`, { cause });
  }
}

/** Between the server's end of a statement and the client's: its error is on the way. */
const ANSWER_MS = 500;

/** How long nothing may come while a statement is under way that the server ends after so long; 0: never, and so for ever. */
export function silenceAfter(statementTimeoutMs: number): number {
  return statementTimeoutMs === 0 ? Infinity : statementTimeoutMs + ANSWER_MS;
}

export interface WatchedConfig extends pg.ClientConfig {
  /** How long the server may say nothing while a statement is under way; longer than it lets a statement take. Unset: for ever. */
  silenceMs?: number;
  /** Called when the connection is given up, with the time (`performance.now()`) since which nothing came. */
  onSilent?: (sinceMs: number) => void;
  /** Each transaction may find another session behind the connection: nothing stays prepared. */
  isPooled?: boolean;
}

/** A statement that is under way on a connection beside a silent one is answered within this time, or its connection is silent, too. */
const SUSPECT_MS = 500;

/**
 * A connection to PostgreSQL that does not wait for ever (docs/adr/0054-silent-connections.md). The kernel gives up a
 * connection whose packets vanish after a quarter of an hour, and Node.js cannot set TCP_USER_TIMEOUT: so the connection is
 * reset when a statement is under way and nothing comes. Reset, not closed: what the kernel has not delivered is thrown
 * away and cannot arrive later, when its caller has been answered.
 */
export class WatchedClient extends pg.Client {
  /** Whose rows its statements see, as long as its present user has it; null: those of all. */
  merchantId: string | null = null;
  private silenceMs: number;
  private readonly onSilent: (sinceMs: number) => void;
  private readonly isPooled: boolean;
  private readonly socket: Socket;
  private timer: NodeJS.Timeout | null = null;
  private busy = false;
  /** When the last byte is known to have come, by `performance.now()`. */
  private receivedMs = performance.now();
  private bytesReceived = 0;
  /** When its last statement had been answered, by `performance.now()`. */
  private atRestSinceMs = performance.now();
  /** When the connection is given up, unless something comes. */
  private deadlineMs = Infinity;

  constructor(config: WatchedConfig = {}) {
    const socket = new Socket();
    super({ ...config, stream: () => socket });
    this.socket = socket;
    this.silenceMs = config.silenceMs ?? Infinity;
    this.onSilent = config.onSilent ?? ((): void => undefined);
    this.isPooled = config.isPooled ?? false;
    // A session may say several times that it is lost; an 'error' without a listener ends the process.
    this.on('error', () => undefined);
    this.on('drain', () => {
      this.busy = false;
      this.atRestSinceMs = performance.now();
      this.readProgress();
    });
    this.once('end', () => clearTimeout(this.timer ?? undefined));
  }

  /** Whether an answer is expected. */
  get isBusy(): boolean {
    return this.busy;
  }

  /** For how long no answer has been expected. */
  get atRestMs(): number {
    return this.busy ? 0 : performance.now() - this.atRestSinceMs;
  }

  /** Overloaded in `pg`, too: by a callback or a promise. */
  override connect(...call: unknown[]): never {
    const [callback] = call;
    if (typeof callback === 'function') {
      const answer = (error: Error | null): void => {
        (callback as (error: Error | null, client: this) => void)(error && new NotConnected(error), this);
      };
      return super.connect(answer) as never;
    }
    return super.connect().catch((error: Error) => {
      throw new NotConnected(error);
    }) as never;
  }

  /** Overloaded in `pg`: the result of a call is what its caller knows it to be. */
  override query(...call: unknown[]): never {
    const wire = this.isPooled ? null : this.connection;
    const scoped = this.merchantId === null ? null : scopedCall(call, this.merchantId, wire);
    if (scoped) return this.queryScoped(scoped);
    return this.queryPlain(call);
  }

  /** A query that is handed over whole gives no promise by itself. */
  private queryScoped([query, callback]: unknown[]): never {
    if (callback !== undefined) return this.queryPlain([query, callback]);
    return new Promise((resolve, reject) => {
      const settle = (error: Error | null, result: unknown): void => (error ? reject(error) : resolve(result));
      this.queryPlain([query, settle]);
    }) as never;
  }

  private queryPlain(call: unknown[]): never {
    if (!this.busy) {
      this.busy = true;
      this.deadlineMs = performance.now() + this.silenceMs;
      if (this.timer === null) this.schedule();
    }
    const callback = call.at(-1);
    if (typeof callback === 'function') {
      const answer = (error: Error | null, result: unknown): void => {
        (callback as (error: Error | null, result: unknown) => void)(error && this.named(error), result);
      };
      return (super.query as (...call: unknown[]) => never)(...call.slice(0, -1), answer);
    }
    const asked = (super.query as (...call: unknown[]) => unknown)(...call);
    if (!(asked instanceof Promise)) return asked as never;
    return asked.catch((error: Error) => {
      throw this.named(error);
    }) as never;
  }

  /** A pool answers the statement that is under way with the error that its connection emits. */
  override emit(event: string | symbol, ...args: unknown[]): boolean {
    const named = event === 'error' ? [this.named(args[0] as Error)] : args;
    return (super.emit as (event: string | symbol, ...args: unknown[]) => boolean)(event, ...named);
  }

  /** What the server says has a code, and so have errors of the network; what is left on a dead connection is its loss. */
  private named(error: Error): Error {
    const { _queryable, _ended } = this as unknown as { _queryable: boolean; _ended: boolean };
    const isDead = !_queryable || _ended;
    return isDead && !('code' in error) && !(error instanceof SilentConnection) ? new ConnectionLost(error) : error;
  }

  /** From now on the server lets a statement take so long (0: as long as it needs), and the connection counts as silent soon after it. */
  async limitStatements(timeoutMs: number): Promise<void> {
    await (this.query(`SET statement_timeout = ${timeoutMs}`) as Promise<unknown>);
    this.silenceMs = silenceAfter(timeoutMs);
  }

  /**
   * Another connection has been silent since then. If this one has, too, it is given up: at once when it is idle, or when a
   * statement that is under way has no answer very soon.
   */
  suspect(sinceMs: number): void {
    this.readProgress();
    if (this.receivedMs > sinceMs) return;
    if (!this.busy) return this.reset();
    this.deadlineMs = Math.min(this.deadlineMs, performance.now() + SUSPECT_MS);
    this.schedule();
  }

  /** Asks one that is at rest whether it still answers: without an answer it is given up, as all that are silent. */
  probe(): void {
    // A connection that is given up says so by itself.
    void (this.queryPlain(['SELECT 1']) as Promise<unknown>).catch(() => 'not answered');
  }

  /** Ends it without a word to the server, which may not be there any more. */
  discard(): void {
    this.reset();
  }

  private schedule(): void {
    clearTimeout(this.timer ?? undefined);
    this.timer = null;
    if (this.deadlineMs === Infinity) return;
    this.timer = setTimeout(() => this.check(), this.deadlineMs - performance.now()).unref();
  }

  private check(): void {
    this.timer = null;
    // A process that was stopped or very busy runs its timers first: what has arrived meanwhile is read before judging.
    if (this.busy) setImmediate(() => this.judge());
  }

  private judge(): void {
    if (!this.busy) return;
    if (this.readProgress()) this.deadlineMs = performance.now() + this.silenceMs;
    if (performance.now() < this.deadlineMs) return this.schedule();
    const sinceMs = this.receivedMs;
    this.reset();
    this.onSilent(sinceMs);
  }

  /** @returns whether more has come than was known */
  private readProgress(): boolean {
    // With TLS the stream is another one than the socket.
    const { bytesRead } = this.connection.stream as Socket;
    if (bytesRead === this.bytesReceived) return false;
    this.bytesReceived = bytesRead;
    this.receivedMs = performance.now();
    return true;
  }

  private reset(): void {
    const { stream } = this.connection;
    const error = new SilentConnection(Math.round(performance.now() - this.receivedMs));
    if (this.host.startsWith('/')) this.socket.destroy();
    else this.socket.resetAndDestroy();
    this.connection.emit('error', error);
    stream.destroy();
  }
}

/** What a session has beside the driver's own. */
export type WatchedSession = pg.Client & Pick<WatchedClient, 'isBusy' | 'limitStatements' | 'discard'>;

/** What a vanished host, or a server that stands still, does not close within this time is thrown away. */
const END_WITHIN_MS = 1_000;

/** Ends a session, also one on which nothing comes any more. */
export async function endSession(session: WatchedSession): Promise<void> {
  if (!(await endsWithin(session.end(), END_WITHIN_MS))) session.discard();
}

/** One session, not connected yet. */
export function watchedSession(config: WatchedConfig): WatchedSession {
  return new WatchedClient(config);
}
