import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '#runtime';
import { sessionConfig } from './session.js';
import { endSession, watchedSession, type WatchedSession } from './watched-client.js';

/** Pauses between tries to get the connection back, milliseconds. */
const RECONNECT_PAUSES_MS = [100, 250, 500, 1_000, 2_000];
/** The server ends a heartbeat that takes longer; soon after it the connection counts as silent (watched-client.ts). */
const HEARTBEAT_TIMEOUT_MS = 2_000;
/** The first question after connecting; sooner when all have caught up. */
const FIRST_HEARTBEAT_MS = 1_000;

/** One reader of one channel. */
export interface Subscriber {
  channel: string;
  /** How often it wants the connection to be asked whether it still answers, at present. */
  heartbeatMs(): number;
  onNotice(payload: string): void;
  /** Listening has begun (again): what was published before is unknown. Called again after a pause when it fails. */
  onListening(): Promise<void> | void;
  /** The connection is gone, or the subscriber has left. */
  onLost(): void;
  /** Every notice of what was committed before this moment (`performance.now()`) has been delivered. */
  onDelivered(untilMs: number): void;
}

const sessions = new Map<string, NoticeSession>();

/**
 * The one session of this process that listens, for all its channels: PostgreSQL wakes every session that listens on anything for each
 * notice of its database, so that ten sessions would pay for each notice ten times (docs/adr/0133-one-listening-session.md). It is opened for
 * the first subscriber, comes back by itself when it is lost, and is closed after the last one.
 */
export class NoticeSession {
  private readonly subscribers = new Set<Subscriber>();
  /** Those that listen on the present connection. */
  private readonly listening = new Set<Subscriber>();
  /** Of these, those that have read what was published before. */
  private readonly caughtUp = new Set<Subscriber>();
  private readonly abort = new AbortController();
  private client: WatchedSession | null = null;
  private beat: NodeJS.Timeout | null = null;
  private failures = 0;
  private readonly running: Promise<void>;

  private constructor(
    private readonly key: string,
    private readonly address: { databaseUrl: string; applicationName: string },
    private readonly logger: Logger,
  ) {
    this.running = this.keepListening();
  }

  static join(
    address: { databaseUrl: string; applicationName: string },
    subscriber: Subscriber,
    logger: Logger,
  ): NoticeSession {
    const key = `${address.applicationName} ${address.databaseUrl}`;
    const session = sessions.get(key) ?? new NoticeSession(key, address, logger);
    sessions.set(key, session);
    session.add(subscriber);
    return session;
  }

  async leave(subscriber: Subscriber): Promise<void> {
    if (!this.subscribers.delete(subscriber)) return;
    this.caughtUp.delete(subscriber);
    if (this.listening.delete(subscriber)) subscriber.onLost();
    if (this.subscribers.size === 0) return this.close();
    // What still arrives on a channel that nothing reads is passed over.
  }

  private async close(): Promise<void> {
    if (sessions.get(this.key) === this) sessions.delete(this.key);
    this.abort.abort();
    if (this.client) await endSession(this.client);
    await this.running;
  }

  private add(subscriber: Subscriber): void {
    this.subscribers.add(subscriber);
    const { client } = this;
    // Without a connection it listens with the others, when there is one.
    if (client) void this.begin(client, [subscriber]).catch((error: unknown) => this.giveUp(client, error));
  }

  private async keepListening(): Promise<void> {
    const { signal } = this.abort;
    while (!signal.aborted) {
      try {
        await this.listenUntilLost();
      } catch (error) {
        this.failures += 1;
        if (!signal.aborted) this.logger.warn({ err: error }, 'LISTEN failed');
      }
      const pause = RECONNECT_PAUSES_MS[Math.min(this.failures, RECONNECT_PAUSES_MS.length - 1)];
      await delay(pause, undefined, { signal, ref: false }).catch(() => 'stopped');
    }
  }

  private async listenUntilLost(): Promise<void> {
    const { databaseUrl: url, applicationName } = this.address;
    const client = watchedSession(sessionConfig({ url, applicationName, statementTimeoutMs: HEARTBEAT_TIMEOUT_MS }));
    const lost = new Promise<void>((resolve) => {
      client.once('end', resolve);
      // Always, not once: a dying session may say so twice, and an 'error' without a listener ends the process.
      client.on('error', (error) => {
        if (!this.abort.signal.aborted) this.logger.warn({ err: error }, 'LISTEN connection lost');
        resolve();
      });
    });
    client.on('notification', ({ channel, payload }) => this.deliver(channel, payload ?? ''));
    try {
      await client.connect();
      if (this.abort.signal.aborted) return;
      this.client = client;
      this.keepBeating(client, FIRST_HEARTBEAT_MS);
      await Promise.race([lost, this.begin(client, [...this.subscribers])]);
      this.failures = 0;
      await lost;
    } finally {
      this.client = null;
      if (this.beat) clearTimeout(this.beat);
      for (const subscriber of this.listening) subscriber.onLost();
      this.listening.clear();
      this.caughtUp.clear();
      await endSession(client);
    }
  }

  private async begin(client: WatchedSession, subscribers: readonly Subscriber[]): Promise<void> {
    for (const channel of new Set(subscribers.map((each) => each.channel))) await client.query(`LISTEN ${channel}`);
    const present = subscribers.filter((each) => this.client === client && this.subscribers.has(each));
    for (const subscriber of present) this.listening.add(subscriber);
    for (const subscriber of present) void this.catchUp(client, subscriber);
  }

  /** Each reader for itself: one that cannot read what was published before tries again, and holds up no other. Never fails. */
  private async catchUp(client: WatchedSession, subscriber: Subscriber): Promise<void> {
    const { signal } = this.abort;
    const isPresent = (): boolean => this.client === client && this.listening.has(subscriber);
    for (let failures = 0; isPresent(); failures += 1) {
      try {
        await subscriber.onListening();
        if (!isPresent()) return;
        this.caughtUp.add(subscriber);
        this.keepBeating(client, 0);
        return;
      } catch (error) {
        this.logger.warn({ err: error, channel: subscriber.channel }, 'what was published before could not be read');
        if (isPresent()) subscriber.onLost();
        const pause = RECONNECT_PAUSES_MS[Math.min(failures + 1, RECONNECT_PAUSES_MS.length - 1)];
        await delay(pause, undefined, { signal, ref: false }).catch(() => 'stopped');
      }
    }
  }

  /** LISTEN itself failed: the loop begins anew, for all. */
  private giveUp(client: WatchedSession, error: unknown): void {
    if (this.client !== client) return;
    this.failures += 1;
    this.logger.warn({ err: error }, 'LISTEN failed');
    void endSession(client);
  }

  private deliver(channel: string, payload: string): void {
    for (const subscriber of this.listening) if (subscriber.channel === channel) subscriber.onNotice(payload);
  }

  /** Answers come behind all notices of what was committed before the question. */
  private keepBeating(client: WatchedSession, afterMs: number): void {
    if (this.beat) clearTimeout(this.beat);
    this.beat = setTimeout(() => void this.ask(client), afterMs).unref();
  }

  private async ask(client: WatchedSession): Promise<void> {
    const askedMs = performance.now();
    const asked = [...this.caughtUp];
    try {
      await client.query('SELECT 1');
      if (this.client !== client) return;
      for (const subscriber of asked) if (this.caughtUp.has(subscriber)) subscriber.onDelivered(askedMs);
    } catch (error) {
      // A connection without an answer has ended by itself: `listenUntilLost` begins anew.
      this.logger.debug({ err: error }, 'LISTEN connection did not answer');
      return;
    }
    const everyMs = Math.min(...[...this.subscribers].map((each) => each.heartbeatMs()));
    if (Number.isFinite(everyMs)) this.keepBeating(client, Math.max(0, everyMs - (performance.now() - askedMs)));
  }
}
