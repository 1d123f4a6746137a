import { Inject, Injectable } from '@nestjs/common';
import type { Hint, HintProtocol, InboundAnswer } from '#payments';
import { FairSlots, type Logger } from '#runtime';
import { LOGGER } from '../../tokens.js';
import { reader, type OpenAccount } from '../accounts/account-settings.js';
import { ExtraChargesRepository } from '../extra-charges/extra-charges.repository.js';
import { HintReadings, MAX_HINT_BYTES } from './hint-readings.js';
import { InboundRepository, type LockedPayment, type Tx } from './inbound.repository.js';
import type { ProviderRequest } from './provider-protocol.js';

/** A payment has some ten calls. Whatever is replayed beyond this is followed, and not kept once more. */
const MAX_KEPT = 100;

/** Of the database for unsigned hints, in one process and divided among merchants. */
const LOOKUPS = { total: 4, perKey: 2, waitingPerKey: 16, waiting: 64 };

/** What can be answered to a hint. */
interface Answers {
  taken: InboundAnswer;
  /** The provider is to call again. */
  failure: InboundAnswer;
}

/**
 * Calls of providers that only say that something changed there. However well one is signed, what it says of the money is not
 * trusted: the provider's status is read, and that decides. So a forged or repeated call can do no more than have it read. One that
 * names another payment of the order as taken is an extra charge: its status is read, and it goes back.
 */
@Injectable()
export class HintCalls {
  private readonly lookups = new FairSlots(LOOKUPS);

  constructor(
    private readonly rows: InboundRepository,
    private readonly readings: HintReadings,
    private readonly extraCharges: ExtraChargesRepository,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  async answer(protocol: HintProtocol, { account, address, request }: ProviderRequest): Promise<InboundAnswer> {
    const reading = protocol.read(request, reader(account));
    if (reading.kind === 'fault') return reading.answer;
    const { hint, answer } = reading;
    const mostBytes = MAX_HINT_BYTES[protocol.isSigned ? 'signed' : 'unsigned'];
    if (Buffer.byteLength(request.body) > mostBytes) return { status: 413, body: {} };
    if (!protocol.isSigned) return this.answerUnsigned(account, hint, { taken: answer, failure: protocol.failure });
    const payment = await this.rows.inTransaction(async (tx) => {
      const found = await this.find(tx, account.id, hint);
      if (!found) return null;
      if (isOfAnother(found, hint) && !hint.isTaken) return null;
      if (isOfAnother(found, hint)) await this.reportExtraCharge(tx, account.id, found, hint);
      if ((await this.rows.keptOf(tx, found.id, MAX_KEPT)) < MAX_KEPT)
        await this.rows.keep(tx, {
          ...{ accountId: account.id, address, body: request.body, answer: answer.body, paymentId: found.id },
          ...{ operation: hint.operation, providerRef: hint.providerRef, amountTiyin: hint.amountTiyin },
        });
      return isOfAnother(found, hint) ? null : found;
    });
    // What has ended here may have changed there.
    if (payment) await this.readings.follow({ ...payment, merchantId: account.merchantId }, true);
    return answer;
  }

  /**
   * A hint that proves nothing of its caller. Nothing of it is stored, and no flood of them, for one order or for many, can take
   * connections, sockets or the provider's patience from others: finding an order and reading its status have bounded places
   * divided among merchants, and one payment is read at most once in five seconds.
   */
  private async answerUnsigned(
    { id: accountId, merchantId }: OpenAccount,
    hint: Hint,
    { taken, failure }: Answers,
  ): Promise<InboundAnswer> {
    const release = await this.lookups.take(merchantId);
    if (!release) return failure;
    try {
      const payment = await this.rows.findHinted(accountId, hint);
      if (payment && !payment.is_covered)
        await this.readings.follow({ id: payment.id, merchantId, state: payment.state }, false);
      return taken;
    } finally {
      release();
    }
  }

  /** By the provider's own id, which every signature covers; what it does not know of ours, by ours. */
  private async find(tx: Tx, accountId: string, { ourRef, providerRef }: Hint): Promise<LockedPayment | null> {
    const known = providerRef === null ? null : await this.rows.findByProviderRef(tx, accountId, providerRef);
    return this.rows.lock(tx, accountId, known ?? ourRef);
  }

  private async reportExtraCharge(tx: Tx, accountId: string, payment: LockedPayment, hint: Hint): Promise<void> {
    const { providerRef, amountTiyin, operation } = hint;
    this.logger.warn(
      { payment_id: payment.id, provider_ref: providerRef },
      'payment: its provider reports another charge of the same order',
    );
    await this.extraCharges.report(tx, {
      ...{ accountId, paymentId: payment.id, providerRef: providerRef ?? '' },
      amountTiyin: amountTiyin ?? Number(payment.amount_tiyin),
      reason: `another payment of this order, reported by ${operation}`,
    });
  }
}

/** Where our own call was not answered, the provider's id of the payment is not known yet. */
function isOfAnother({ provider_ref: known }: LockedPayment, { providerRef }: Hint): boolean {
  return known !== null && providerRef !== null && known !== providerRef;
}
