import type { Logger } from '#runtime';
import { NoticeSession, type Subscriber } from './notice-session.js';

const DEFAULT_HEARTBEAT_MS = 1_000;
/** `deliveredUntilMs` counts as relied upon for so long after it was asked for. */
const RELIED_UPON_MS = 5_000;

export interface ChannelListenerOptions {
  databaseUrl: string;
  /** Shown in pg_stat_activity. Listeners of one name and URL share their session. */
  applicationName: string;
  /** One of channels.ts. */
  channel: string;
  onNotice: (payload: string) => void;
  /** Called whenever listening begins (again): what was published before is unknown and must be read. */
  onListening: () => Promise<void> | void;
  /**
   * How often the connection is asked at least whether it still answers, while `deliveredUntilMs` is relied upon: an answer comes behind all
   * notices of what was committed before the question. By default, and while nothing relies on it, every second.
   */
  heartbeatMs?: number;
}

/**
 * LISTEN on the process's own session for notices, which comes back by itself (notice-session.ts). Notices are hints: a user of this class
 * also reads by itself, at intervals or at its deadline.
 */
export class ChannelListener {
  private readonly subscriber: Subscriber;
  private session: NoticeSession | null = null;
  private stopped = false;
  private listening = false;
  private deliveredUntil = -Infinity;
  private reliedUponMs = -Infinity;

  constructor(
    private readonly options: ChannelListenerOptions,
    private readonly logger: Logger,
  ) {
    const { channel, heartbeatMs = DEFAULT_HEARTBEAT_MS, onNotice, onListening } = options;
    this.subscriber = {
      ...{ channel, onNotice },
      heartbeatMs: () =>
        performance.now() - this.reliedUponMs < RELIED_UPON_MS
          ? heartbeatMs
          : Math.max(heartbeatMs, DEFAULT_HEARTBEAT_MS),
      onListening: () => {
        this.listening = true;
        return onListening();
      },
      onLost: () => {
        this.listening = false;
        this.deliveredUntil = -Infinity;
      },
      onDelivered: (untilMs) => (this.deliveredUntil = untilMs),
    };
  }

  /** Whether notices arrive at this moment. */
  get isListening(): boolean {
    return this.listening;
  }

  /**
   * Every notice of what was committed before this moment (`performance.now()`) has been delivered, if listening began
   * before it. -Infinity while there is no connection.
   */
  get deliveredUntilMs(): number {
    this.reliedUponMs = performance.now();
    return this.deliveredUntil;
  }

  start(): void {
    if (!this.stopped) this.session ??= NoticeSession.join(this.options, this.subscriber, this.logger);
  }

  async stop(): Promise<void> {
    this.stopped = true;
    await this.session?.leave(this.subscriber);
  }
}
