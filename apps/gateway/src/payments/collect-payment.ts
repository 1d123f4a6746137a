import { Injectable } from '@nestjs/common';
import type { SagaStep } from '#payments';
import type { CreateReceiptCommand } from '../receipts/create-receipt.js';
import { SettledReceipts } from '../receipts/settled-receipts.js';
import { CreatePayment, type CreatedPayment } from './create-payment.js';
import { PaymentWorker } from './payment-worker.js';
import { PaymentRows } from './repository/payment-rows.repository.js';
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

  async execute(command: CreateReceiptCommand, operation: 'receipts' | 'payments'): Promise<CollectedPayment> {
    const created = await this.creating.execute(command, operation);
    if (!created.hasBegun) await this.begin(created, command.waitSeconds);
    const row = await this.payments.find(command.merchantId, created.paymentId);
    if (!row) throw new Error(`Payment ${created.paymentId} was stored and cannot be read`);
    return { row, replayed: created.replayed };
  }

  /** The customer's page or hold comes first, whatever the caller wants to wait; then the register, then the money. */
  private async begin({ receiptId, paymentId }: CreatedPayment, waitSeconds: number): Promise<void> {
    const waiter = this.settled.watch(receiptId);
    this.worker.watch(receiptId, paymentId);
    try {
      const step = await this.worker.process(paymentId);
      const isAtRegister = step ? isForRegister(step) : await this.payments.isAtRegister(paymentId);
      // What the notice has set to work is waited for.
      if (isAtRegister && (await waiter.settledWithin(waitSeconds))) await this.worker.afterNews(paymentId);
    } finally {
      waiter.forget();
    }
  }
}

function isForRegister(step: SagaStep): boolean {
  return step.kind === 'wait' && step.for === 'register';
}
