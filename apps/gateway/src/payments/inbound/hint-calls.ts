import { Inject, Injectable } from '@nestjs/common';
import type { Hint, HintProtocol, InboundAnswer } from '#payments';
import type { Logger } from '#runtime';
import { LOGGER } from '../../tokens.js';
import { reader } from '../accounts/account-settings.js';
import { ExtraChargesRepository } from '../extra-charges/extra-charges.repository.js';
import { HintReadings, MAX_HINT_BYTES } from './hint-readings.js';
import { InboundRepository, type LockedPayment, type Tx } from './inbound.repository.js';
import type { ProviderRequest } from './provider-protocol.js';
import { UnsignedHints } from './unsigned-hints.js';

/** A payment has some ten calls. Whatever is replayed beyond this is followed, and not kept once more. */
const MAX_KEPT = 100;

/**
 * Calls of providers that only say that something changed there. However well one is signed, what it says of the money is not
 * trusted: the provider's status is read, and that decides. So a forged or repeated call can do no more than have it read. One that
 * names another payment of the order as taken is an extra charge: its status is read, and it goes back.
 */
@Injectable()
export class HintCalls {
  constructor(
    private readonly rows: InboundRepository,
    private readonly readings: HintReadings,
    private readonly unsigned: UnsignedHints,
    private readonly extraCharges: ExtraChargesRepository,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  async answer(protocol: HintProtocol, { account, address, request }: ProviderRequest): Promise<InboundAnswer> {
    const reading = protocol.read(request, reader(account));
    if (reading.kind === 'fault') return reading.answer;
    const { hint, answer } = reading;
    if (!protocol.isSigned)
      return this.unsigned.answer(account, { hint, body: request.body }, { taken: answer, failure: protocol.failure });
    if (Buffer.byteLength(request.body) > MAX_HINT_BYTES.signed) return { status: 413, body: {} };
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
