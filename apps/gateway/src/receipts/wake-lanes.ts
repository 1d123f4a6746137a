import { growingCache } from '#runtime';

/** How long a lane counts as awake after a relay has said that it took it. */
const AWAKE_MS = 300_000;
const MOST_LANES = 50_000;
/** A relay answers within a tenth of a second; one that is so late is stopped, gone or full. */
const ANSWER_WITHIN_MS = 500;

/** The end of a timer; `clearTimeout` of it. */
export type SetTimer = (work: () => void, afterMs: number) => () => void;

const usualTimer: SetTimer = (work, afterMs) => {
  const timer = setTimeout(work, afterMs).unref();
  return () => clearTimeout(timer);
};

export interface WakeLanesParts {
  /** Publishes the device's id on LANE_WAKE_CHANNEL; never throws, never waits. */
  notify: (deviceId: string) => void;
  /** The lane's place in the queue, for a wake-up that no relay has answered. */
  ring: (deviceId: string) => void;
  /** Whether answers arrive at this moment. */
  isListening: () => boolean;
}

/**
 * Wakes lanes by NOTIFY instead of a job of the queue where the relay that had the lane last is alive: it answers, and what is not
 * answered in time is rung in the queue (docs/adr/0132-wake-by-notice.md). A process that dies takes its unanswered wake-ups with it,
 * and so does a relay that has answered: the sweeper finds the lane, as after a lost ring.
 */
export class WakeLanes {
  /** Since start, for metrics. */
  sent = 0;
  unanswered = 0;
  private readonly awake = growingCache<string, true>(MOST_LANES, { ttl: AWAKE_MS });
  /** By device, the oldest first: when its answer is late. */
  private readonly waiting = new Map<string, number>();
  private cancelTimer: (() => void) | null = null;
  private ended = false;

  constructor(
    private readonly parts: WakeLanesParts,
    private readonly nowMs: () => number = () => performance.now(),
    private readonly setTimer: SetTimer = usualTimer,
  ) {}

  /** @returns false: no relay is known that had this lane last; the caller rings. */
  wake(deviceId: string): boolean {
    if (this.ended || !this.awake.has(deviceId) || !this.parts.isListening()) return false;
    this.sent += 1;
    if (!this.waiting.has(deviceId)) this.waiting.set(deviceId, this.nowMs() + ANSWER_WITHIN_MS);
    this.parts.notify(deviceId);
    this.schedule();
    return true;
  }

  /** A relay has taken this lane in hand. */
  noteTaken(deviceId: string): void {
    this.waiting.delete(deviceId);
    this.awake.set(deviceId, true);
  }

  /** Nothing waits for answers any more. */
  end(): void {
    this.ended = true;
    this.cancelTimer?.();
    for (const deviceId of this.waiting.keys()) this.parts.ring(deviceId);
    this.waiting.clear();
  }

  private schedule(): void {
    if (this.cancelTimer !== null) return;
    const [first] = this.waiting.values();
    if (first === undefined) return;
    this.cancelTimer = this.setTimer(() => this.ringLate(), Math.max(0, first - this.nowMs()));
  }

  private ringLate(): void {
    this.cancelTimer = null;
    const nowMs = this.nowMs();
    for (const [deviceId, lateMs] of this.waiting) {
      if (lateMs > nowMs) break;
      this.waiting.delete(deviceId);
      this.awake.delete(deviceId);
      this.unanswered += 1;
      this.parts.ring(deviceId);
    }
    this.schedule();
  }
}
