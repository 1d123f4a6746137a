/** Between two readings of one payment's status that hints without a signature lead to. */
const PAUSE_MS = 5_000;
const MAX_PAYMENTS = 10_000;

/** `dropped`: one that is still to come sees whatever this hint is about. */
export type HintTurn = { kind: 'now' } | { kind: 'later'; inMs: number } | { kind: 'dropped' } | { kind: 'full' };

/** When a payment's status may be read on a hint that anyone can send: at most once in five seconds, the last hint's news included. */
export class HintPace {
  /** When the next reading may be, by payment. */
  private readonly nextMs = new Map<string, number>();

  turn(paymentId: string, nowMs: number): HintTurn {
    const waitMs = (this.nextMs.get(paymentId) ?? nowMs) - nowMs;
    if (waitMs > PAUSE_MS) return { kind: 'dropped' };
    if (!this.nextMs.has(paymentId) && !this.hasRoom(nowMs)) return { kind: 'full' };
    const inMs = Math.max(0, waitMs);
    this.nextMs.set(paymentId, nowMs + inMs + PAUSE_MS);
    return inMs === 0 ? { kind: 'now' } : { kind: 'later', inMs };
  }

  private hasRoom(nowMs: number): boolean {
    if (this.nextMs.size < MAX_PAYMENTS) return true;
    for (const [id, untilMs] of this.nextMs) if (untilMs <= nowMs) this.nextMs.delete(id);
    return this.nextMs.size < MAX_PAYMENTS;
  }
}
