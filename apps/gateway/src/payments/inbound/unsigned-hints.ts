import { Injectable } from '@nestjs/common';
import type { Hint, InboundAnswer } from '#payments';
import { FairSlots } from '#runtime';
import { HintReadings, MAX_HINT_BYTES } from './hint-readings.js';
import { InboundRepository } from './inbound.repository.js';

/** Of the database, in one process and divided among merchants. */
const LOOKUPS = { total: 4, perKey: 2, waitingPerKey: 16, waiting: 64 };

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

  constructor(
    private readonly rows: InboundRepository,
    private readonly readings: HintReadings,
  ) {}

  async answer(
    account: { id: string; merchantId: string },
    { hint, body }: { hint: Hint; body: string },
    { taken, failure }: Answers,
  ): Promise<InboundAnswer> {
    if (Buffer.byteLength(body) > MAX_HINT_BYTES.unsigned) return { status: 413, body: {} };
    const release = await this.lookups.take(account.merchantId);
    if (!release) return failure;
    try {
      const payment = await this.rows.findHinted(account.id, hint);
      if (payment && !payment.is_covered)
        await this.readings.follow({ id: payment.id, merchantId: account.merchantId, state: payment.state }, false);
      return taken;
    } finally {
      release();
    }
  }
}
