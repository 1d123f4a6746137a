import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import type { Logger } from '#runtime';
import { sessionConfig } from './session.js';
import { watchedSession } from './watched-client.js';

/** Pauses between tries to get the LISTEN connection back, milliseconds. */
const RECONNECT_PAUSES_MS = [100, 250, 500, 1_000, 2_000];

const DEFAULT_HEARTBEAT_MS = 1_000;
/** The server ends a heartbeat that takes longer; soon after it the connection counts as silent (watched-client.ts). */
const HEARTBEAT_TIMEOUT_MS = 2_000;

export interface ChannelListenerOptions {
  databaseUrl: string;
  /** Shown in pg_stat_activity. */
  applicationName: string;
  /** One of channels.ts. */
  channel: string;
  onNotice: (payload: string) => void;
  /** Called whenever listening begins (again): what was published before is unknown and must be read. */
  onListening: () => Promise<void> | void;
  /**
   * How often the connection is asked whether it still answers; by default every second. An answer comes behind all notices of
   * what was committed before the question, so `deliveredUntilMs` can be relied upon.
   */
  heartbeatMs?: number;
}

/**
 * LISTEN on a connection of its own, which comes back by itself. Notices are hints: a user of this class also reads by
 * itself, at intervals or at its deadline.
 */
export class ChannelListener {
  private client: pg.Client | null = null;
  private readonly abort = new AbortController();
  private running: Promise<void> | null = null;
  private failures = 0;
  private listening = false;
  private deliveredUntil = -Infinity;

  constructor(
    private readonly options: ChannelListenerOptions,
    private readonly logger: Logger,
  ) {}

  /** Whether notices arrive at this moment. */
  get isListening(): boolean {
    return this.listening;
  }

  /**
   * Every notice of what was committed before this moment (`performance.now()`) has been delivered, if listening began
   * before it. -Infinity while there is no connection.
   */
  get deliveredUntilMs(): number {
    return this.deliveredUntil;
  }

  start(): void {
    this.running ??= this.keepListening();
  }

  async stop(): Promise<void> {
    this.abort.abort();
    await this.client?.end().catch((error: unknown) => this.logger.debug({ err: error }, 'closing LISTEN failed'));
    await this.running;
  }

  private async keepListening(): Promise<void> {
    const { signal } = this.abort;
    while (!signal.aborted) {
      try {
        await this.listenUntilLost();
      } catch (error) {
        this.failures += 1;
        if (!signal.aborted) this.logger.warn({ err: error, channel: this.options.channel }, 'LISTEN failed');
      }
      const pause = RECONNECT_PAUSES_MS[Math.min(this.failures, RECONNECT_PAUSES_MS.length - 1)];
      await delay(pause, undefined, { signal, ref: false }).catch(() => 'stopped');
    }
  }

  private async listenUntilLost(): Promise<void> {
    const { databaseUrl, applicationName, channel, onNotice, onListening } = this.options;
    const client = watchedSession(
      sessionConfig({ url: databaseUrl, applicationName, statementTimeoutMs: HEARTBEAT_TIMEOUT_MS }),
    );
    const lost = new Promise<void>((resolve) => {
      client.once('end', resolve);
      // Always, not once: a dying session may say so twice, and an 'error' without a listener ends the process.
      client.on('error', (error) => {
        if (!this.abort.signal.aborted) this.logger.warn({ err: error, channel }, 'LISTEN connection lost');
        resolve();
      });
    });
    client.on('notification', ({ payload }) => onNotice(payload ?? ''));
    try {
      await client.connect();
      this.client = client;
      if (this.abort.signal.aborted) return;
      await client.query(`LISTEN ${channel}`);
      this.failures = 0;
      this.listening = true;
      await onListening();
      const beating = this.keepBeating(client);
      await lost;
      clearInterval(beating);
    } finally {
      this.listening = false;
      this.deliveredUntil = -Infinity;
      this.client = null;
      await client
        .end()
        .catch((error: unknown) => this.logger.debug({ err: error }, 'the lost session was gone already'));
    }
  }

  private keepBeating(client: pg.Client): NodeJS.Timeout {
    const { heartbeatMs = DEFAULT_HEARTBEAT_MS, channel } = this.options;
    let isAsked = false;
    const beat = async (): Promise<void> => {
      if (isAsked) return;
      isAsked = true;
      const now = performance.now();
      try {
        await client.query('SELECT 1');
        if (this.client === client) this.deliveredUntil = now;
      } catch (error) {
        // A connection without an answer has ended by itself: `listenUntilLost` begins anew.
        this.logger.debug({ err: error, channel }, 'LISTEN connection did not answer');
      } finally {
        isAsked = false;
      }
    };
    void beat();
    const timer = setInterval(() => void beat(), heartbeatMs);
    timer.unref();
    return timer;
  }
}
