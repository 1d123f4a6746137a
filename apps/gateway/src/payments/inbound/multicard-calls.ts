import { Injectable } from '@nestjs/common';
import { readMulticardCall, type InboundAnswer, type MulticardCall } from '#payments';
import { SettledReceipts } from '../../receipts/settled-receipts.js';
import { valueOf } from '../accounts/account-settings.js';
import { ComparePayments } from '../compare-payments.js';
import { ExtraChargesRepository } from '../extra-charges/extra-charges.repository.js';
import { PaymentWorker } from '../payment-worker.js';
import { receiptsOf, statusOfAll } from '../several-receipts.js';
import { followHint } from './follow-call.js';
import { InboundRepository, type LockedPayment, type Tx } from './inbound.repository.js';
import type { ProviderProtocol, ProviderRequest } from './provider-protocol.js';
import { makeDue, noteHint } from '../repository/payment-writes.js';

/** Of one payment. */
const MAX_KEPT = 100;

/** How long the provider is let wait for the register; its own patience is two seconds. */
const REGISTER_SECONDS = 1.4;

const KEEP: InboundAnswer = { status: 200, body: { success: true } };
const LATER: InboundAnswer = {
  status: 500,
  body: { success: false, message: 'The receipt is not registered yet.' },
};
const giveBack = (message: string): InboundAnswer => ({ status: 200, body: { success: false, message } });

/**
 * Multicard's callbacks. `success` asks whether the money may stay: it may when the receipt is registered. While
 * it is unknown, HTTP 500 keeps the money frozen and brings the same question again. `webhook` is only a hint.
 */
@Injectable()
export class MulticardCalls implements ProviderProtocol {
  constructor(
    private readonly rows: InboundRepository,
    private readonly worker: PaymentWorker,
    private readonly comparing: ComparePayments,
    private readonly settled: SettledReceipts,
    private readonly extraCharges: ExtraChargesRepository,
  ) {}

  async answer({ account, address, request: { body, isKnownSource } }: ProviderRequest): Promise<InboundAnswer> {
    const secrets = { storeId: valueOf(account, 'store_id'), secret: valueOf(account, 'secret') };
    const reading = readMulticardCall(body, secrets);
    if (reading.kind === 'fault' || !isKnownSource)
      return { status: 403, body: { success: false, message: 'refused' } };
    const { call } = reading;
    const payment = await this.rows.inTransaction(async (tx) => {
      const found = await this.rows.lock(tx, account.id, call.invoiceId);
      // It asks every few seconds until it has a verdict: so many are enough to show.
      if (found && (await this.rows.keptOf(tx, found.id, MAX_KEPT)) < MAX_KEPT)
        await this.rows.keep(tx, {
          ...{ accountId: account.id, address, body, answer: { scheme: call.scheme }, operation: call.scheme },
          ...{ providerRef: call.uuid, paymentId: found.id, amountTiyin: call.amountTiyin },
        });
      if (found && isExtraCharge(found, call)) await this.reportExtraCharge(tx, { account, payment: found, call });
      if (found && call.scheme === 'success' && isAnswerable(found, call) && canReserve(found)) {
        await this.rows.change(tx, found, { state: 'reserved', providerRef: call.uuid });
      }
      if (found) await makeDue(tx, found.id);
      if (found && call.scheme === 'webhook') await noteHint(tx, found.id);
      return found;
    });
    if (call.scheme === 'webhook') {
      // What has ended here may have changed there.
      if (payment) followHint(this.comparing, this.worker, payment.id);
      return KEEP;
    }
    if (!payment || !isAnswerable(payment, call)) return giveBack('There is no such order.');
    return this.verdict(account.id, payment);
  }

  failure(): InboundAnswer {
    return { status: 500, body: { success: false } };
  }

  /** Our answer gives it back; whether that happened is read there (docs/payments/failures.md, "Two attempts of one order"). */
  private reportExtraCharge(
    tx: Tx,
    { account, payment, call }: { account: { id: string }; payment: LockedPayment; call: MulticardCall },
  ): Promise<void> {
    return this.extraCharges.report(tx, {
      ...{ accountId: account.id, paymentId: payment.id, providerRef: call.uuid, amountTiyin: call.amountTiyin },
      reason: `another payment of this order, reported by ${call.scheme}`,
    });
  }

  private async verdict(accountId: string, payment: LockedPayment): Promise<InboundAnswer> {
    const waiters = receiptsOf(payment).map(({ id }) => this.settled.watch(id));
    try {
      const first = await this.judge(accountId, payment.id);
      if (first !== LATER) return first;
      // Releases the receipt into its lane; the same call repeated finds it there.
      void this.worker.process(payment.id);
      await Promise.all(waiters.map((waiter) => waiter.settledWithin(REGISTER_SECONDS)));
      return await this.judge(accountId, payment.id);
    } finally {
      for (const waiter of waiters) waiter.forget();
    }
  }

  /** The same answer however often it is asked, once there is one. */
  private async judge(accountId: string, paymentId: string): Promise<InboundAnswer> {
    const payment = await this.rows.inTransaction((tx) => this.rows.lock(tx, accountId, paymentId));
    if (!payment) return giveBack('There is no such order.');
    if (payment.state === 'captured') return KEEP;
    if (payment.state !== 'reserved') return giveBack('The order is closed.');
    // Where Multicard registers, its own answer to "keep" is the sale: there is no register of ours to wait for.
    const receipt = statusOfAll(payment);
    if (receipt === 'registered' || payment.device_id === null) return KEEP;
    const isOver = receipt === 'rejected' || receipt === 'cancelled';
    return isOver ? giveBack('The sale could not be registered.') : LATER;
  }
}

/**
 * An order whose time is over is paid no more, also before it was closed for that. What Multicard registers with its money is refused
 * here or not at all: afterwards there is a sale to refund.
 */
function canReserve({
  state,
  device_id: deviceId,
  cancel_requested: isCancelled,
  is_in_time: isInTime,
}: LockedPayment) {
  return state === 'pending' && isInTime && (deviceId !== null || !isCancelled);
}

function isAnswerable(payment: LockedPayment, call: MulticardCall): boolean {
  if (payment.flow !== 'veto' || Number(payment.amount_tiyin) !== call.amountTiyin) return false;
  return payment.provider_ref === null || payment.provider_ref === call.uuid;
}

/** Money of another payment than the one that we had made for this order. */
function isExtraCharge(payment: LockedPayment, { scheme, uuid, status }: MulticardCall): boolean {
  const isTaken = scheme === 'success' || status === 'success' || status === 'hold';
  return isTaken && payment.provider_ref !== null && payment.provider_ref !== uuid;
}
