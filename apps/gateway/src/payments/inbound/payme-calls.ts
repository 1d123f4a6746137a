import { Injectable } from '@nestjs/common';
import { isId } from '#fiscal-domain';
import {
  decidePayme,
  isPaymeCaller,
  PAYME_LIFETIME_MS,
  PAYME_TIMEOUT_REASON,
  paymeAnswer,
  paymeDetail,
  paymeError,
  paymeStatementEntry,
  readPaymeRequest,
  type InboundAnswer,
  type InboundRequest,
  type PaymeChange,
  type PaymeCommand,
  type PaymeDecision,
  type PaymentState,
  type WireObject,
} from '#payments';
import { RingLanes } from '../../receipts/ring-lanes.js';
import { reader, valueOf, type OpenAccount } from '../accounts/account-settings.js';
import { ComparePayments } from '../compare-payments.js';
import { PaymeFiscalData } from './payme-fiscal-data.js';
import { extraInfoOf } from '../extra-info.js';
import { PaymentWorker } from '../payment-worker.js';
import { receiptsOf } from '../several-receipts.js';
import { followHint } from './follow-call.js';
import {
  InboundRepository,
  isOpen,
  isPaid,
  transactionOf,
  type FoundTransaction,
  type LockedPayment,
  type Tx,
} from './inbound.repository.js';
import { PaymeGroups } from './payme-groups.js';
import { PaymeMemory } from './payme-memory.js';
import type { ProviderProtocol, ProviderRequest } from './provider-protocol.js';
import { makeDue, noteHint } from '../repository/payment-writes.js';

type TransactionCommand = Exclude<PaymeCommand, { method: 'GetStatement' | 'SetFiscalData' }>;

/** A command that may change anything names the transaction. */
type ChangingCommand = Exclude<TransactionCommand, { method: 'CheckPerformTransaction' }>;

interface PaymeAsked<Command = TransactionCommand> {
  command: Command;
  call: ProviderRequest;
  accountField: string;
}

interface At {
  account: OpenAccount;
  payment: LockedPayment;
}

/** Payme's Merchant API: always HTTP 200, each call decided by what is stored and written at once with its answer. */
@Injectable()
export class PaymeCalls implements ProviderProtocol {
  private readonly memory = new PaymeMemory();

  constructor(
    private readonly rows: InboundRepository,
    private readonly groups: PaymeGroups,
    private readonly lanes: RingLanes,
    private readonly fiscal: PaymeFiscalData,
    private readonly worker: PaymentWorker,
    private readonly comparing: ComparePayments,
  ) {}

  async answer(call: ProviderRequest): Promise<InboundAnswer> {
    return { status: 200, body: await this.reply(call) };
  }

  failure({ body }: InboundRequest): InboundAnswer {
    return { status: 200, body: paymeAnswer(idIn(body), { error: paymeError('system') }) };
  }

  private async reply(call: ProviderRequest): Promise<WireObject> {
    const { account, request } = call;
    const accountField = valueOf(account, 'account_field');
    const reading = readPaymeRequest(request.body, accountField);
    if (request.method !== 'POST') return paymeAnswer(reading.id, { error: paymeError('notPost') });
    const isAllowed = request.isKnownSource && isPaymeCaller(request.authorization, reader(account));
    if (!isAllowed) return paymeAnswer(reading.id, { error: paymeError('privilege') });
    if (reading.kind === 'fault') return paymeAnswer(reading.id, { error: reading.error });
    const { command, id } = reading;
    switch (command.method) {
      case 'GetStatement': {
        const found = await this.rows.statement(account.id, command.fromMs, command.toMs);
        const transactions = found.map((each) => paymeStatementEntry(each, accountField));
        return paymeAnswer(id, { result: { transactions } });
      }
      case 'SetFiscalData':
        return paymeAnswer(id, await this.fiscal.keep(call, command));
      default:
        return paymeAnswer(id, await this.decide({ command, call, accountField }));
    }
  }

  /** As the usual call goes, without a lock; with them where it was left out of its group, or is of another kind. */
  private async decide(asked: PaymeAsked): Promise<PaymeDecision['answer']> {
    const { command, call } = asked;
    const accountId = call.account.id;
    const cached = this.memory.of(accountId, command);
    if (cached) {
      const answer = await this.tryGrouped(asked, cached, decideOn(asked, cached));
      if (answer) return answer;
    }
    const named = 'account' in command ? command.account : null;
    const found = await this.groups.find({
      ...{ accountId, id: 'id' in command ? command.id : null },
      // Malformed and unknown references cannot be distinguished.
      reference: named !== null && isId('pay', named) ? named : null,
    });
    const made = decideOn(asked, found);
    if (made.change && 'id' in command)
      return (await this.tryGrouped(asked, found, made)) ?? this.decideLocked({ ...asked, command });
    if (command.method === 'CheckPerformTransaction' && found.payment && 'result' in made.answer)
      this.memory.keepOrder(accountId, found.payment);
    return made.answer;
  }

  /** @returns null: nothing was written */
  private async tryGrouped(
    asked: PaymeAsked,
    found: FoundTransaction,
    made: PaymeDecision,
  ): Promise<PaymeDecision['answer'] | null> {
    const { payment } = found;
    if (!made.change || !payment || !drives(payment)) return null;
    if (!(await this.writeGrouped(asked, payment, made))) return null;
    const { command, call } = asked;
    if (made.change.kind === 'perform') this.afterPerform(payment);
    if (command.method === 'CreateTransaction')
      this.memory.keepTransaction(call.account.id, payment, { ...command, createTimeMs: made.change.atMs });
    return made.answer;
  }

  private async writeGrouped(
    { command, call }: PaymeAsked,
    payment: LockedPayment,
    { change, answer }: PaymeDecision,
  ): Promise<boolean> {
    if (!change || !('id' in command)) return false;
    const kept = { accountId: call.account.id, address: call.address, body: call.request.body, answer };
    const which = { ...kept, id: command.id, paymentId: payment.id };
    if (change.kind === 'create' && command.method === 'CreateTransaction') {
      const { amountTiyin, timeMs: providerTimeMs } = command;
      return this.groups.reserve({ ...which, amountTiyin, providerTimeMs, createTimeMs: change.atMs });
    }
    if (change.kind !== 'perform' || payment.device_id === null) return false;
    const extraInfo = extraInfoOf({ provider: payment.provider, provider_ref: command.id, evidence: null });
    return this.groups.perform({ ...which, receiptId: payment.receipt_id, performTimeMs: change.atMs, extraInfo });
  }

  private async decideLocked(asked: PaymeAsked<ChangingCommand>): Promise<PaymeDecision['answer']> {
    const { command, call } = asked;
    const { account } = call;
    const { answer, performed, hinted } = await this.rows.inTransaction(async (tx) => {
      const reference = 'account' in command ? command.account : null;
      const found = await this.rows.lockFor(tx, account.id, { id: command.id, reference });
      const { payment } = found;
      const made = decideOn(asked, found);
      if (!made.change || !payment) return { answer: made.answer, performed: null, hinted: null };
      await this.write(tx, { account, payment, command, change: made.change });
      await this.rows.keep(tx, {
        ...{ accountId: account.id, address: call.address, body: call.request.body, answer: made.answer },
        ...{ operation: command.method, providerRef: command.id, paymentId: payment.id },
        amountTiyin: Number(payment.amount_tiyin),
      });
      const isPerformed = made.change.kind === 'perform' && drives(payment);
      const isHint = made.change.kind === 'cancel' && !drives(payment);
      return { answer: made.answer, performed: isPerformed ? payment : null, hinted: isHint ? payment.id : null };
    });
    if (performed) this.afterPerform(performed);
    if (hinted !== null) followHint(this.comparing, this.worker, hinted);
    return answer;
  }

  /** No caller waits for the rest: what becomes of the receipt is found with all that is due. */
  private afterPerform(payment: LockedPayment): void {
    for (const { id, device_id: deviceId } of receiptsOf(payment)) if (deviceId !== null) this.lanes.ring(deviceId, id);
  }

  private async write(tx: Tx, at: At & { command: ChangingCommand; change: PaymeChange }): Promise<void> {
    const { account, payment, command, change } = at;
    const where = { accountId: account.id, id: command.id };
    switch (change.kind) {
      case 'create':
        if (command.method === 'CreateTransaction') await this.create(tx, at, command, change.atMs);
        return;
      case 'perform':
        await this.rows.moveTransaction(tx, where, { state: 2, atMs: change.atMs, reason: null });
        if (drives(payment)) await this.rows.confirm(tx, payment, { providerRef: command.id, paymentId: command.id });
        return;
      case 'cancel':
        await this.rows.moveTransaction(tx, where, change);
        if (!drives(payment)) await this.hinted(tx, payment);
        else if (change.state === -1) await this.rows.free(tx, payment);
        else await this.rows.reverse(tx, payment, `cancelled at Payme, reason ${String(change.reason)}`);
        return;
      case 'expire':
        await this.rows.moveTransaction(tx, where, { state: -1, atMs: change.atMs, reason: PAYME_TIMEOUT_REASON });
        if (drives(payment)) await this.rows.free(tx, payment);
    }
  }

  private async create(
    tx: Tx,
    { account, payment }: At,
    { id, timeMs: providerTimeMs, amountTiyin }: Extract<PaymeCommand, { method: 'CreateTransaction' }>,
    createTimeMs: number,
  ): Promise<void> {
    const row = { accountId: account.id, id, paymentId: payment.id, amountTiyin, providerTimeMs, createTimeMs };
    await this.rows.insertTransaction(tx, { ...row, isLive: true });
    if (drives(payment)) await this.rows.reserve(tx, payment, new Date(providerTimeMs + PAYME_LIFETIME_MS));
  }

  /** What we hold or have taken ourselves may have gone back there: its receipt is read, once Payme has its answer. */
  private async hinted(tx: Tx, payment: LockedPayment): Promise<void> {
    await noteHint(tx, payment.id);
    await makeDue(tx, payment.id);
  }
}

function decideOn(
  { command, call, accountField }: PaymeAsked,
  { payment, transaction, hasLive }: FoundTransaction,
): PaymeDecision {
  const busyCheck = valueOf(call.account, 'check_busy_code') === '-31050' ? 'account' : 'impossible';
  return decidePayme(command, {
    order: payment && {
      amountTiyin: Number(payment.amount_tiyin),
      isPayable: isPayable(payment, command) && !hasLive,
      isPaid: isPaid(payment),
      detail: payment.document && paymeDetail(payment.document.lines),
    },
    transaction: transaction && transactionOf(transaction),
    ...{
      accountField,
      busyCheck,
      isClosed: payment !== null && isClosed(payment, command),
      isDelivered: payment?.is_delivered === true,
      nowMs: Date.now(),
    },
  });
}

/** Whether Payme's calls move the payment. Around a hold of ours they only follow it. */
function drives({ flow }: LockedPayment): boolean {
  return flow === 'inbound';
}

/**
 * Cancelled by the merchant, whether the saga has come to it or not: money that is taken now only a cabinet could give back. Of a payment that
 * we drive: money of another receipt than ours, and any of one that has ended without.
 */
function isClosed(payment: LockedPayment, command: TransactionCommand): boolean {
  if (drives(payment)) return payment.cancel_requested;
  return !isOwnReceipt(payment, command) || !PERFORMED_AROUND.has(payment.state);
}

/** Our own receipt is paid, is being paid, or may be: a status that is read says what became of it. */
const PERFORMED_AROUND: ReadonlySet<PaymentState> = new Set([
  'authorizing',
  'authorize_unknown',
  'authorized',
  'capturing',
  'capture_unknown',
  'captured',
]);

/** Around a receipt that we pay, Payme calls under the id of that receipt. We have it before we ask for the money. */
function isOwnReceipt({ provider_ref: receipt }: LockedPayment, command: TransactionCommand): boolean {
  return 'id' in command && command.id === receipt;
}

/** What we drive is paid by our own receipt alone: another transaction's money would belong to no payment. */
function isPayable(payment: LockedPayment, command: TransactionCommand): boolean {
  if (drives(payment)) return isOpen(payment);
  const isAsked = command.method === 'CheckPerformTransaction';
  return isAsked
    ? payment.state === 'created' || payment.state === 'authorizing'
    : payment.state === 'authorizing' && isOwnReceipt(payment, command);
}

function idIn(body: string): number | null {
  const match = /"id"\s*:\s*(\d{1,15})\s*[,}]/.exec(body);
  return match ? Number(match[1]) : null;
}
