import { Injectable } from '@nestjs/common';
import { isId } from '#fiscal-domain';
import type { HintProtocol, InboundAnswer } from '#payments';
import { reader } from '../accounts/account-settings.js';
import { ComparePayments } from '../compare-payments.js';
import { PaymentWorker } from '../payment-worker.js';
import { InboundRepository, type LockedPayment, type Tx } from './inbound.repository.js';
import type { ProviderRequest } from './transaction-calls.js';
import { UnsignedHints } from './unsigned-hints.js';

/**
 * Calls of providers that only say that something changed there. However well one is signed, what it says of the money is not
 * trusted: the provider's status is read, and that decides. So a forged or repeated call can do no more than have it read.
 */
@Injectable()
export class HintCalls {
  constructor(
    private readonly rows: InboundRepository,
    private readonly worker: PaymentWorker,
    private readonly comparing: ComparePayments,
    private readonly unsigned: UnsignedHints,
  ) {}

  async answer(protocol: HintProtocol, { account, address, request }: ProviderRequest): Promise<InboundAnswer> {
    const reading = protocol.read(request, reader(account));
    if (reading.kind === 'fault') return reading.answer;
    const { hint, answer } = reading;
    if (!protocol.isSigned)
      return this.unsigned.answer(account, { hint, body: request.body }, { taken: answer, failure: protocol.failure });
    const payment = await this.rows.inTransaction(async (tx) => {
      const found = await this.find(tx, account.id, hint);
      if (!found) return null;
      await this.rows.keep(tx, {
        ...{ accountId: account.id, address, body: request.body, answer: answer.body, paymentId: found.id },
        ...{ operation: hint.operation, providerRef: hint.providerRef, amountTiyin: hint.amountTiyin },
      });
      await this.rows.due(tx, found.id);
      return found;
    });
    // What has ended here may have changed there.
    if (payment) void this.comparing.afterHint(payment.id).then(() => this.worker.schedule(payment.id));
    return answer;
  }

  /** By ours, else by the provider's; where both are named they must belong together. */
  private async find(
    tx: Tx,
    accountId: string,
    { ourRef, providerRef }: { ourRef: string | null; providerRef: string | null },
  ): Promise<LockedPayment | null> {
    const named = ourRef !== null && isId('pay', ourRef) ? ourRef : null;
    const id = named ?? (providerRef === null ? null : await this.rows.findByProviderRef(tx, accountId, providerRef));
    const found = id === null ? null : await this.rows.lock(tx, accountId, id);
    const isMeant = providerRef === null || found?.provider_ref === providerRef;
    return isMeant ? found : null;
  }
}
