import { Injectable } from '@nestjs/common';
import type { SagaStep } from '#payments';
import { SettledReceipts } from '../receipts/settled-receipts.js';
import { CreatePayment, type CreatePaymentCommand, type CreatedPayment } from './create-payment.js';
import { PaymentWorker } from './payment-worker.js';
import { PaymentRows } from './repository/payment-rows.repository.js';
import { storedAndGone } from '../receipts/outcome-unclear.js';
import type { PaymentRow } from './payment-view.js';

export interface CollectedPayment {
  row: PaymentRow;
  replayed: boolean;
}

/** A payment from its intent to the caller's answer: begun at once, followed as long as the caller waits. */
@Injectable()
export class CollectPayment {
  constructor(
    private readonly creating: CreatePayment,
    private readonly worker: PaymentWorker,
    private readonly settled: SettledReceipts,
    private readonly payments: PaymentRows,
  ) {}

  async execute(command: CreatePaymentCommand, operation: 'receipts' | 'payments'): Promise<CollectedPayment> {
    const created = await this.creating.execute(command, operation);
    if (!created.hasBegun) await this.begin(created, command.waitSeconds);
    const row = await this.payments.find(command.merchantId, created.paymentId);
    if (!row) throw storedAndGone(`Payment ${created.paymentId}`);
    return { row, replayed: created.replayed };
  }

  /** The customer's page or hold comes first, whatever the caller wants to wait; then the register, then the money. */
  private async begin(created: CreatedPayment, waitSeconds: number): Promise<void> {
    const { receiptId, furtherReceiptIds, paymentId } = created;
    const receiptIds = [receiptId, ...furtherReceiptIds];
    const waiters = receiptIds.map((id) => this.settled.watch(id));
    for (const id of receiptIds) this.worker.watch(id, paymentId);
    try {
      const step = await this.worker.process(paymentId);
      const isAtRegister = step ? isForRegister(step) : await this.payments.isAtRegister(paymentId);
      // What the notice has set to work is waited for.
      if (!isAtRegister) return;
      const settled = await Promise.all(waiters.map((waiter) => waiter.settledWithin(waitSeconds)));
      if (settled.includes(true)) await this.worker.afterNews(paymentId);
    } finally {
      for (const waiter of waiters) waiter.forget();
    }
  }
}

function isForRegister(step: SagaStep): boolean {
  return step.kind === 'wait' && step.for === 'register';
}
