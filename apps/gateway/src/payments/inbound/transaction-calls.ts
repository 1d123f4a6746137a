import { Injectable } from '@nestjs/common';
import type { InboundAnswer, InboundChange, InboundCommand, TransactionProtocol } from '#payments';
import { RingLanes } from '../../receipts/ring-lanes.js';
import { reader, type OpenAccount } from '../accounts/account-settings.js';
import { PaymentWorker } from '../payment-worker.js';
import { followPaid } from './follow-call.js';
import {
  InboundRepository,
  isOpen,
  isPaid,
  transactionOf,
  type FoundTransaction,
  type LockedPayment,
  type Tx,
} from './inbound.repository.js';
import type { ProviderRequest } from './provider-protocol.js';

/** One call with the payment and its receipt locked. */
interface At {
  account: OpenAccount;
  payment: LockedPayment;
  command: InboundCommand;
  lifetimeMs: number;
}

/**
 * Calls of providers that keep transactions of their own and drive (Uzum, Paynet): decided by what is stored, written with its answer in one
 * commit. What a protocol says is its own; that one order has one live transaction, and that money and receipt move together, is here.
 */
@Injectable()
export class TransactionCalls {
  constructor(
    private readonly rows: InboundRepository,
    private readonly lanes: RingLanes,
    private readonly worker: PaymentWorker,
  ) {}

  async answer(
    protocol: TransactionProtocol,
    { account, address, request, isLate }: ProviderRequest,
  ): Promise<InboundAnswer> {
    const read = reader(account);
    const reading = protocol.read(request, read);
    if (reading.kind === 'answered') return reading.answer;
    if (reading.kind === 'statement')
      return reading.answer(await this.rows.statement(account.id, reading.fromMs, reading.toMs));
    const { command } = reading;
    let performed: LockedPayment | null = null;
    const answer = await this.rows.inTransaction(async (tx) => {
      const { transactionId: id, ourRef: reference } = command;
      if (id !== null) await this.rows.lockTransaction(tx, account.id, id);
      const found = await this.rows.lockFor(tx, account.id, { id, reference });
      // What is paid in another way is as absent as another account's.
      const isDriven = found.payment?.flow === 'inbound';
      const { payment, transaction, hasLive } = isDriven ? found : NOTHING;
      const facts = {
        order: payment && {
          amountTiyin: Number(payment.amount_tiyin),
          isPayable: isOpen(payment) && !hasLive,
          isPaid: isPaid(payment),
        },
        transaction: transaction && transactionOf(transaction),
        isClosed: payment !== null && isClosed(payment),
        isDelivered: payment?.is_delivered === true,
        nowMs: Date.now(),
      };
      const decision = protocol.decide(command, facts, request, read);
      if (decision.changes.length === 0 || !payment) return decision.answer;
      // Asked while its lock is held: what its provider asks from now on waits for what is written here.
      if (transaction === null && isLate()) return protocol.failure(request, read);
      const { lifetimeMs } = protocol;
      if (await this.write(tx, { account, payment, command, lifetimeMs }, decision.changes)) performed = payment;
      await this.rows.keep(tx, {
        ...{ accountId: account.id, address, body: request.body, answer: decision.answer.body },
        ...{ operation: command.operation, providerRef: command.transactionId, paymentId: payment.id },
        amountTiyin: Number(payment.amount_tiyin),
      });
      return decision.answer;
    });
    if (performed !== null) followPaid(performed, this.lanes, this.worker);
    return answer;
  }

  /** @returns whether the order was paid */
  private async write(tx: Tx, at: At, changes: readonly InboundChange[]): Promise<boolean> {
    const { payment } = at;
    let isPerformed = false;
    for (const change of changes) {
      if (change.kind === 'create') await this.create(tx, at, change.atMs);
      else await this.move(tx, at, change);
      // What follows is written on what the first has left.
      if (change.kind === 'create') payment.state = 'reserved';
      isPerformed ||= change.kind === 'perform';
    }
    return isPerformed;
  }

  private async create(tx: Tx, { account, payment, command, lifetimeMs }: At, atMs: number): Promise<void> {
    await this.rows.insertTransaction(tx, {
      ...{ accountId: account.id, id: command.transactionId ?? '', paymentId: payment.id, isLive: true },
      ...{ amountTiyin: Number(payment.amount_tiyin), providerTimeMs: command.timeMs ?? atMs, createTimeMs: atMs },
    });
    await this.rows.reserve(tx, payment, new Date(atMs + lifetimeMs));
  }

  private async move(
    tx: Tx,
    { account, payment, command }: At,
    change: Exclude<InboundChange, { kind: 'create' }>,
  ): Promise<void> {
    const where = { accountId: account.id, id: command.transactionId ?? '' };
    if (change.kind === 'perform') {
      await this.rows.moveTransaction(tx, where, { state: 2, atMs: change.atMs, reason: null });
      const { evidence } = command;
      await this.rows.confirm(tx, payment, { providerRef: where.id, paymentId: where.id, evidence });
      return;
    }
    await this.rows.moveTransaction(tx, where, { state: change.state, atMs: change.atMs, reason: change.reason });
    if (change.state === -1) return this.rows.free(tx, payment);
    await this.rows.reverse(tx, payment, `cancelled at ${account.provider}, reason ${String(change.reason)}`);
  }
}

const NOTHING: FoundTransaction = { payment: null, transaction: null, hasLive: false };

/** A transaction that was created may only be paid while its payment is reserved for it. */
function isClosed({ state, cancel_requested: isCancelled }: LockedPayment): boolean {
  return isCancelled || state !== 'reserved';
}
