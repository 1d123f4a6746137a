import { performance } from 'node:perf_hooks';

/** What the queue needs from a logger; pino's loggers fit. */
export interface QueueLog {
  info(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** Running counts since start, for the process's metrics to read. One object may serve a bell and a listener. */
export class QueueCounters {
  /** Rings the caller made. */
  rings = 0;
  /** Jobs the queue took; a ring that was coalesced has none of its own. */
  adds = 0;
  addFailures = 0;
  /** Rings dropped because too many devices were waiting during an outage; the sweeper finds those lanes. */
  droppedRings = 0;
  /** Jobs handed to the handler. */
  wakes = 0;
  handlerFailures = 0;
  /** Connection errors and failed checks of either side. */
  errors = 0;
}

export type TroubleKind = 'connection' | 'check' | 'add' | 'run' | 'handler' | 'close';

const LOG_INTERVAL_MS = 10_000;

/**
 * Trouble with the queue is not an incident of its own (dispatch goes on through the sweeper), and an outage makes
 * hundreds of errors a second. So each kind is logged at most once per ten seconds, with the number kept back.
 */
export class QueueTrouble {
  private readonly kinds = new Map<TroubleKind, { loggedAtMs: number; keptBack: number }>();

  constructor(
    private readonly part: 'bell' | 'listener',
    private readonly log: QueueLog,
    private readonly counters: QueueCounters,
  ) {}

  report(kind: TroubleKind, error: unknown): void {
    if (kind === 'add') this.counters.addFailures += 1;
    else if (kind === 'handler') this.counters.handlerFailures += 1;
    else this.counters.errors += 1;

    const nowMs = performance.now();
    const seen = this.kinds.get(kind);
    if (seen !== undefined && nowMs - seen.loggedAtMs < LOG_INTERVAL_MS) {
      seen.keptBack += 1;
      return;
    }
    this.kinds.set(kind, { loggedAtMs: nowMs, keptBack: 0 });
    this.log.error(
      { part: this.part, kind, keptBack: seen?.keptBack ?? 0, ...describeError(error) },
      'lane queue trouble',
    );
  }
}

/** Message and code only: a Redis reply error carries the whole command, and for AUTH that is the password. */
function describeError(error: unknown): { error: string; code?: string } {
  if (!(error instanceof Error)) return { error: String(error) };
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  // A refused connection to several addresses is an AggregateError without a message of its own.
  return { error: error.message || error.name, ...(code === undefined ? {} : { code }) };
}
