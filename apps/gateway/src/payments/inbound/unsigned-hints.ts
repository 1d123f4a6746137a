import { Inject, Injectable } from '@nestjs/common';
import type { Hint, InboundAnswer, PaymentState } from '#payments';
import { FairSlots, systemClock, type Clock, type Logger } from '#runtime';
import { LOGGER } from '../../tokens.js';
import { ComparePayments } from '../compare-payments.js';
import { PaymentWorker } from '../payment-worker.js';
import { HintPace, type HintTurn } from './hint-pace.js';
import { InboundRepository } from './inbound.repository.js';

const MAX_BODY_BYTES = 8 * 1024;
/** Of the database, and of the provider, each in one process and divided among merchants. */
const LOOKUPS = { total: 4, perKey: 2, waitingPerKey: 16, waiting: 64 };
const READINGS = { total: 6, perKey: 2, reserved: 2 };

/** States in which the next step reads the status, or ends what the merchant has cancelled. */
const READ_NEXT: ReadonlySet<PaymentState> = new Set<PaymentState>([
  ...(['pending', 'authorize_unknown', 'capture_unknown', 'void_unknown', 'refund_unknown'] as const),
]);

/** What can be answered to a hint. */
interface Answers {
  taken: InboundAnswer;
  /** The provider is to call again. */
  failure: InboundAnswer;
}

/**
 * Hints that prove nothing of their caller. Nothing of one is stored, and no flood of them, for one order or for many, can take
 * connections, sockets or the provider's patience from others: finding an order and reading its status have bounded places
 * divided among merchants, and one payment is read at most once in five seconds.
 */
@Injectable()
export class UnsignedHints {
  private readonly lookups = new FairSlots(LOOKUPS);
  private readonly readings = new FairSlots(READINGS);
  private readonly pace = new HintPace();
  private readonly clock: Clock = systemClock;

  constructor(
    private readonly rows: InboundRepository,
    private readonly worker: PaymentWorker,
    private readonly comparing: ComparePayments,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  async answer(
    account: { id: string; merchantId: string },
    { hint, body }: { hint: Hint; body: string },
    { taken, failure }: Answers,
  ): Promise<InboundAnswer> {
    if (Buffer.byteLength(body) > MAX_BODY_BYTES) return { status: 413, body: {} };
    const release = await this.lookups.take(account.merchantId);
    if (!release) return failure;
    try {
      const payment = await this.rows.findHinted(account.id, hint);
      if (!payment) return taken;
      const turn = this.pace.turn(payment.id, this.clock.monotonicMs());
      if (turn.kind === 'full') return failure;
      await this.follow(account.merchantId, payment, turn);
      return taken;
    } finally {
      release();
    }
  }

  private async follow(
    merchantId: string,
    { id, state }: { id: string; state: PaymentState },
    turn: HintTurn,
  ): Promise<void> {
    const isReadNext = READ_NEXT.has(state);
    if (turn.kind === 'later' && isReadNext) await this.rows.dueWithin(id, turn.inMs);
    if (turn.kind !== 'now') return;
    if (isReadNext) await this.rows.dueWithin(id, 0);
    const release = this.readings.tryTake(merchantId);
    // Without a place it is left to the poll of all that is due, or to the comparison of what has ended.
    if (!release) return;
    const reading = isReadNext ? this.worker.process(id) : this.comparing.afterHint(id);
    reading
      .catch((error: unknown) => this.logger.warn({ payment_id: id, err: error }, 'payment: not read after a hint'))
      .finally(release);
  }
}
