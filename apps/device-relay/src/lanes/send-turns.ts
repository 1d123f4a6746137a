import type { Logger } from '#runtime';

/** More than any relay has lanes at work: no bound until a first intent was late. */
const UNBOUNDED = 1_000;

/** The right to be between the beginning of an intent and the first byte of its request. */
export interface SendTurn {
  /**
   * @param how `late`: the send guard refused it, because this process or the database was too slow. `unused`: neither sent nor late.
   * Only the first call counts.
   */
  end(how: 'in_time' | 'late' | 'unused'): void;
}

/**
 * How many lanes of this relay may be between an intent and its first byte at the same time.
 *
 * An intent that is older than the send guard is taken back, and begins anew. With more lanes than the processor can bring through in that
 * time all of them are late, all begin anew, and the relay works at its limit without sending one receipt, also when what
 * slowed it down is long over. So each time that intents are late half as many may begin together, and one more whenever as many were
 * in time as may begin: the lanes that wait do so before their intent, where waiting costs nothing.
 */
export class SendTurns {
  private allowed = UNBOUNDED;
  private taken = 0;
  /** Turns of an older round than the present bound say nothing about it. */
  private round = 0;
  private inTime = 0;
  /** Those whose knowledge of the register grows old while they wait, and all others. */
  private readonly ahead: (() => void)[] = [];
  private readonly waiting: (() => void)[] = [];

  constructor(private readonly logger: Logger) {}

  /** How many may begin together now. */
  get bound(): number {
    return this.allowed;
  }

  /** In the order of the calls. @param isUrgent before all that are not */
  async take({ isUrgent }: { isUrgent: boolean }): Promise<SendTurn> {
    const queue = isUrgent ? this.ahead : this.waiting;
    if (this.taken >= this.allowed) await new Promise<void>((resolve) => queue.push(resolve));
    else this.taken += 1;
    return this.newTurn();
  }

  /** Null: there is none without waiting. */
  takeNow(): SendTurn | null {
    if (this.taken >= this.allowed) return null;
    this.taken += 1;
    return this.newTurn();
  }

  private newTurn(): SendTurn {
    const { round } = this;
    let isOver = false;
    return {
      end: (how) => {
        if (isOver) return;
        isOver = true;
        if (how === 'late') this.narrow(round);
        if (how === 'in_time') this.widen();
        this.passOn();
      },
    };
  }

  private narrow(round: number): void {
    if (round !== this.round) return;
    this.round += 1;
    this.inTime = 0;
    this.allowed = Math.max(1, Math.floor(Math.min(this.allowed, this.taken) / 2));
    this.logger.warn(
      { at_once: this.allowed, waiting: this.ahead.length + this.waiting.length },
      'this relay is too slow: fewer lanes send at the same time',
    );
  }

  private widen(): void {
    if (this.allowed >= UNBOUNDED) return;
    this.inTime += 1;
    if (this.inTime < this.allowed) return;
    this.inTime = 0;
    this.allowed += 1;
  }

  /** A turn that ended goes to the lane that has waited longest, as far as the bound allows. */
  private passOn(): void {
    this.taken -= 1;
    while (this.taken < this.allowed) {
      const next = this.ahead.shift() ?? this.waiting.shift();
      if (!next) return;
      this.taken += 1;
      next();
    }
  }
}
