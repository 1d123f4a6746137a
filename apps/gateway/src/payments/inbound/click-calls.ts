import { Injectable } from '@nestjs/common';
import {
  clickAnswer,
  clickFault,
  decideClick,
  readClickRequest,
  type ClickAttempt,
  type ClickCommand,
  type ClickDecision,
  type ClickOrder,
  type InboundAnswer,
  type InboundRequest,
  type WireObject,
} from '#payments';
import { RingLanes } from '../../receipts/ring-lanes.js';
import { valueOf, type OpenAccount } from '../accounts/account-settings.js';
import { ExtraChargesRepository } from '../extra-charges/extra-charges.repository.js';
import { PaymentWorker } from '../payment-worker.js';
import { followPaid } from './follow-call.js';
import { InboundRepository, type LockedPayment, type TransactionRow, type Tx } from './inbound.repository.js';
import type { ProviderProtocol, ProviderRequest } from './provider-protocol.js';

/** A prepared payment that Click never completed is free again after this. */
const PREPARED_MS = 30 * 60_000;

interface KnownAttempt extends ClickAttempt {
  /** The click_trans_id of its Prepare. */
  id: string;
}

/** Everything that one call of Click's is about, with payment and receipt locked. */
interface At {
  account: OpenAccount;
  payment: LockedPayment;
  command: ClickCommand;
  attempt: KnownAttempt | null;
}

/** Click's SHOP API: Prepare and Complete, always HTTP 200. */
@Injectable()
export class ClickCalls implements ProviderProtocol {
  constructor(
    private readonly rows: InboundRepository,
    private readonly extraCharges: ExtraChargesRepository,
    private readonly lanes: RingLanes,
    private readonly worker: PaymentWorker,
  ) {}

  async answer(asked: ProviderRequest): Promise<InboundAnswer> {
    const { body, isKnownSource } = asked.request;
    return { status: 200, body: isKnownSource ? await this.reply(asked) : clickFault(body, -1) };
  }

  failure({ body }: InboundRequest): InboundAnswer {
    return { status: 200, body: clickFault(body, -7) };
  }

  private async reply({ account, address, request: { body } }: ProviderRequest): Promise<WireObject> {
    const form = new Map(new URLSearchParams(body));
    const secrets = { serviceId: valueOf(account, 'service_id'), secretKey: valueOf(account, 'secret_key') };
    const reading = readClickRequest(form, secrets);
    if (reading.kind === 'fault') return reading.answer;
    const { command } = reading;
    let released: LockedPayment | null = null;
    const answer = await this.rows.inTransaction(async (tx) => {
      const payment = await this.rows.lock(tx, account.id, command.merchantTransId);
      if (!payment) return clickAnswer(command, -5, null);
      const attempt = await this.attemptOf(tx, account, payment, command);
      const at: At = { account, payment, command, attempt };
      const decision = decideClick(command, {
        ...{ order: orderOf(payment), attempt },
        repeatedComplete: valueOf(account, 'repeated_complete') === '0' ? 0 : -4,
      });
      const number = await this.write(tx, at, decision);
      if (decision.change === 'confirm') released = payment;
      const reply = clickAnswer(command, decision.error, number);
      const isReported = await this.reportExtraCharge(tx, at, decision);
      if (decision.change || isReported)
        await this.rows.keep(tx, {
          ...{ accountId: account.id, address, body, answer: reply },
          ...{ operation: command.action, providerRef: command.clickTransId, paymentId: payment.id },
          amountTiyin: command.amountTiyin,
        });
      return reply;
    });
    if (released !== null) followPaid(released, this.lanes, this.worker);
    return answer;
  }

  private async attemptOf(
    tx: Tx,
    account: OpenAccount,
    payment: LockedPayment,
    command: ClickCommand,
  ): Promise<KnownAttempt | null> {
    const { clickTransId, clickPaydocId: paymentNumber, merchantPrepareId: number } = command;
    const known =
      (await this.rows.findTransaction(tx, account.id, clickTransId)) ??
      // Click's test program names each of its calls anew: the payment there and the number that we gave are the same all the same.
      (number === null ? null : await this.rows.findAttempt(tx, { paymentId: payment.id, number, paymentNumber }));
    if (known?.payment_id !== payment.id) return null;
    const isPayer = known.state === 1 && (await this.isPayerBefore(tx, { account, payment, command, known }));
    return {
      id: known.id,
      number: Number(known.attempt_number ?? payment.number),
      state: isPayer ? 'paid' : ATTEMPT_STATES[known.state],
    };
  }

  /** The order's money was found by its status, before the Complete of this attempt arrived. */
  private async isPayerBefore(
    tx: Tx,
    of: { account: OpenAccount; payment: LockedPayment; command: ClickCommand; known: TransactionRow },
  ): Promise<boolean> {
    const { account, payment, command, known } = of;
    if (orderOf(payment).state !== 'paid') return false;
    if (payment.provider_ref === command.clickPaydocId) return true;
    if (valueOf(account, 'payment_number') === 'paydoc') return false;
    // By which number Click named it is not known: only where no other attempt can have paid it is this one.
    const others = await this.rows.otherAttempts(tx, { paymentId: payment.id, exceptId: known.id });
    return others.open === 0 && others.paid === 0;
  }

  /** Once the order is paid: the customer was charged again, and gets it back (docs/payments/failures.md, "Two attempts of one order"). */
  private async reportExtraCharge(
    tx: Tx,
    { account, payment, command }: At,
    { isExtraCharge, error }: ClickDecision,
  ): Promise<boolean> {
    const isTaken = orderOf(payment).state === 'paid' || payment.state === 'refunded';
    if (!isExtraCharge || !isTaken || payment.provider_ref === command.clickPaydocId) return false;
    await this.extraCharges.report(tx, {
      ...{ accountId: account.id, paymentId: payment.id, providerRef: command.clickPaydocId },
      amountTiyin: command.amountTiyin ?? Number(payment.amount_tiyin),
      reason: `Complete of ${command.clickTransId}, answered ${String(error)}`,
    });
    return true;
  }

  /** @returns the attempt's number, where it has one */
  private async write(tx: Tx, at: At, { change }: ClickDecision): Promise<number | null> {
    const { account, payment, command, attempt } = at;
    const where = { accountId: account.id, id: attempt?.id ?? command.clickTransId };
    const nowMs = Date.now();
    switch (change) {
      case 'prepare':
        return this.prepare(tx, at, nowMs);
      case 'confirm': {
        await this.rows.moveTransaction(tx, where, { state: 2, atMs: nowMs, reason: null });
        const isNumbered = valueOf(account, 'payment_number') === 'paydoc';
        // Else its number is found by ours when it is needed.
        const providerRef = isNumbered ? command.clickPaydocId : null;
        await this.rows.confirm(tx, payment, { providerRef, paymentId: command.clickPaydocId });
        break;
      }
      case 'acknowledge':
        await this.rows.moveTransaction(tx, where, { state: 2, atMs: nowMs, reason: null });
        break;
      case 'cancel':
        await this.rows.moveTransaction(tx, where, { state: -1, atMs: nowMs, reason: null });
        await this.free(tx, at);
        break;
      case null:
    }
    return attempt?.number ?? null;
  }

  private async prepare(tx: Tx, { account, payment, command }: At, nowMs: number): Promise<number | null> {
    const number = await this.rows.insertTransaction(tx, {
      ...{ accountId: account.id, id: command.clickTransId, paymentId: payment.id, isLive: false },
      ...{ providerTimeMs: nowMs, createTimeMs: nowMs, amountTiyin: Number(payment.amount_tiyin) },
      paymentNumber: command.clickPaydocId,
    });
    await this.rows.reserve(tx, payment, new Date(nowMs + PREPARED_MS));
    return number === null ? null : Number(number);
  }

  /** The customer may try again; what another attempt has begun goes on. */
  private async free(tx: Tx, { payment, command, attempt }: At): Promise<void> {
    const exceptId = attempt?.id ?? command.clickTransId;
    const { open } = await this.rows.otherAttempts(tx, { paymentId: payment.id, exceptId });
    if (open === 0) await this.rows.free(tx, payment);
  }
}

const ATTEMPT_STATES = { 1: 'prepared', 2: 'confirmed', [-1]: 'cancelled', [-2]: 'cancelled' } as const;

function orderOf(payment: LockedPayment): ClickOrder {
  return { amountTiyin: Number(payment.amount_tiyin), state: orderState(payment) };
}

function orderState(payment: LockedPayment): ClickOrder['state'] {
  const isByCall = payment.flow === 'inbound' || payment.flow === 'invoice';
  if (!isByCall) return 'closed';
  switch (payment.state) {
    case 'created':
    case 'pending':
      return payment.is_in_time && !payment.cancel_requested ? 'open' : 'closed';
    case 'reserved':
      return payment.cancel_requested ? 'closed' : 'prepared';
    case 'captured':
    case 'refunding':
    case 'refund_unknown':
    case 'manual':
      return 'paid';
    default:
      return 'closed';
  }
}
