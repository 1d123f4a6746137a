import { Injectable } from '@nestjs/common';
import { isId } from '#fiscal-domain';
import {
  clickAnswer,
  decideClick,
  readClickRequest,
  type ClickCommand,
  type ClickDecision,
  type ClickOrder,
  type WireObject,
} from '#payments';
import { RingLanes } from '../../receipts/ring-lanes.js';
import { valueOf, type OpenAccount } from '../accounts/account-settings.js';
import { PaymentWorker } from '../payment-worker.js';
import { InboundRepository, type LockedPayment, type Tx } from './inbound.repository.js';
import type { InboundCall } from './payme-calls.js';

/** A prepared payment that Click never completed is free again after this. */
const PREPARED_MS = 30 * 60_000;

/** Click's SHOP API: Prepare and Complete, always HTTP 200. */
@Injectable()
export class ClickCalls {
  constructor(
    private readonly rows: InboundRepository,
    private readonly lanes: RingLanes,
    private readonly worker: PaymentWorker,
  ) {}

  async answer(call: InboundCall): Promise<WireObject> {
    const { account } = call;
    const form = new Map(new URLSearchParams(call.body));
    const secrets = { serviceId: valueOf(account, 'service_id'), secretKey: valueOf(account, 'secret_key') };
    const reading = readClickRequest(form, secrets);
    if (reading.kind === 'fault') return reading.answer;
    const { command } = reading;
    let released: LockedPayment | null = null;
    const answer = await this.rows.inTransaction(async (tx) => {
      const reference = command.merchantTransId;
      const payment = isId('pay', reference) ? await this.rows.lock(tx, account.id, reference) : null;
      const decision = decideClick(command, payment && (await this.orderOf(tx, account, payment, command)));
      if (payment && decision.change) await this.write(tx, { account, payment, command, decision });
      if (payment && decision.change === 'confirm') released = payment;
      const said = clickAnswer(command, decision.error, payment && Number(payment.number));
      if (decision.change)
        await this.rows.keep(tx, { accountId: account.id, address: call.address, body: call.body }, said);
      return said;
    });
    this.afterCommit(released);
    return answer;
  }

  private afterCommit(released: LockedPayment | null): void {
    if (released === null) return;
    this.worker.watch(released.receipt_id, released.id);
    if (released.device_id === null) this.worker.soon(released.id);
    else this.lanes.ring(released.device_id, released.receipt_id);
  }

  private async orderOf(
    tx: Tx,
    account: OpenAccount,
    payment: LockedPayment,
    command: ClickCommand,
  ): Promise<ClickOrder> {
    const known = await this.rows.findTransaction(tx, account.id, command.clickTransId);
    const isThisOne = known !== null && known.payment_id === payment.id && known.state > 0;
    const state = orderState(payment);
    // An attempt that Click gave up is over, whatever another one has made of the order.
    const isOver = known !== null && known.state < 0;
    return {
      ...{ number: Number(payment.number), amountTiyin: Number(payment.amount_tiyin) },
      ...{ state: isOver && state !== 'paid' ? 'closed' : state, isThisOne },
    };
  }

  private async write(
    tx: Tx,
    at: { account: OpenAccount; payment: LockedPayment; command: ClickCommand; decision: ClickDecision },
  ): Promise<void> {
    const { account, payment, command, decision } = at;
    const where = { accountId: account.id, id: command.clickTransId };
    const nowMs = Date.now();
    switch (decision.change) {
      case 'prepare': {
        const times = { providerTimeMs: nowMs, createTimeMs: nowMs, amountTiyin: Number(payment.amount_tiyin) };
        await this.rows.insertTransaction(tx, { ...where, paymentId: payment.id, ...times, isLive: false });
        const until = new Date(nowMs + PREPARED_MS);
        await this.rows.change(tx, payment, { state: 'reserved', holdUntil: until });
        await this.rows.dueAt(tx, payment.id, until);
        return;
      }
      case 'confirm':
        await this.rows.moveTransaction(tx, where, { state: 2, atMs: nowMs, reason: null });
        // Click's own number of the payment is looked up by ours when it is needed.
        await this.rows.confirm(tx, payment, { providerRef: null, paymentId: command.clickPaydocId });
        return;
      case 'cancel':
        await this.rows.moveTransaction(tx, where, { state: -1, atMs: nowMs, reason: null });
        if (payment.state === 'reserved') await this.rows.change(tx, payment, { state: 'pending', holdUntil: null });
        await this.rows.due(tx, payment.id);
        return;
      case null:
    }
  }
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
      return 'paid';
    default:
      return 'closed';
  }
}
