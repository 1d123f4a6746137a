import { Inject, Injectable } from '@nestjs/common';
import { SalesDatabase } from '#database';
import type { PaymentState } from '#payments';
import { FairSlots, type Logger } from '#runtime';
import { LOGGER } from '../../tokens.js';
import { ComparePayments } from '../compare-payments.js';
import { PaymentWorker } from '../payment-worker.js';
import { makeDueWithin, takeHintTurn } from '../repository/payment-writes.js';

/** Bodies of hints are small; a larger one is padding. Signed ones may hold the whole payment. */
export const MAX_HINT_BYTES = { unsigned: 8 * 1024, signed: 32 * 1024 };

/** Of the provider, in one process and divided among merchants. */
const READINGS = { total: 6, perKey: 2, reserved: 2 };

/** States in which the next step reads the status, or ends what the merchant has cancelled. */
const READ_NEXT: ReadonlySet<PaymentState> = new Set<PaymentState>([
  ...(['pending', 'authorize_unknown', 'capture_unknown', 'void_unknown', 'refund_unknown'] as const),
]);

export interface HintedPayment {
  id: string;
  merchantId: string;
  state: PaymentState;
}

/**
 * What a hint leads to: its payment's status is read, once in five seconds at most, however many hints there are and whichever gateways
 * they reach. A hint within that time is covered by the reading that follows it. No hint is lost: what cannot be read now is read by the
 * poll of all that is due, or, where it has ended, by the comparison (`takeHintTurn`).
 */
@Injectable()
export class HintReadings {
  private readonly readings = new FairSlots(READINGS);

  constructor(
    private readonly prisma: SalesDatabase,
    private readonly worker: PaymentWorker,
    private readonly comparing: ComparePayments,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** @param isProven the provider is known to have said so: what else its payment waits for is tried as well */
  async follow({ id, merchantId, state }: HintedPayment, isProven: boolean): Promise<void> {
    const inMs = await takeHintTurn(this.prisma, id);
    if (inMs === null) return;
    const isReadNext = READ_NEXT.has(state);
    if (isReadNext) await makeDueWithin(this.prisma, id, inMs);
    // What has ended is left to the comparison; of a hold that its provider has released the capture finds that out.
    if (inMs > 0) return;
    const release = this.readings.tryTake(merchantId);
    // Without a place the same.
    if (!release) return;
    const reading = isReadNext ? this.worker.process(id) : this.comparing.afterHint(id);
    reading
      .then(() => isProven && this.worker.schedule(id))
      .catch((error: unknown) => this.logger.warn({ payment_id: id, err: error }, 'payment: not read after a hint'))
      .finally(release);
  }
}
