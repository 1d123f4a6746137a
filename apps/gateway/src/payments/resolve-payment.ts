import { Injectable } from '@nestjs/common';
import { Problem } from '#runtime';
import { AuditedChange } from '../audit/audited-change.js';
import type { Caller } from '../audit/caller.js';
import { notFound } from '../http/own-id.js';
import type { PaymentState } from '#payments';
import { PaymentRepository } from './payment.repository.js';
import { PaymentWorker } from './payment-worker.js';

export const PAYMENT_OUTCOMES = ['captured', 'refunded', 'voided', 'declined'] as const;
export type PaymentOutcome = (typeof PAYMENT_OUTCOMES)[number];

/** What a person found out at the provider about a payment that no machine can bring on. The saga goes on from there. */
@Injectable()
export class ResolvePayment {
  constructor(
    private readonly changes: AuditedChange,
    private readonly payments: PaymentRepository,
    private readonly worker: PaymentWorker,
  ) {}

  /** @throws Problem 404; 409 payment_not_manual */
  async resolve(caller: Caller, id: string, said: { outcome: PaymentOutcome; reason: string }): Promise<void> {
    await this.changes.execute(caller, async (tx) => {
      const [row] = await tx.$queryRaw<{ state: PaymentState }[]>`
        SELECT state FROM payments WHERE id = ${id} AND merchant_id = ${caller.merchantId} FOR UPDATE`;
      if (!row) throw notFound('payment');
      if (row.state !== 'manual') throw new Problem('payment_not_manual', `The payment is ${row.state}.`);
      const change = { state: said.outcome, reason: said.reason, failures: 0 };
      await this.payments.change(tx, id, 'manual', change);
      await tx.$executeRaw`UPDATE payments SET due_at = now(), news = news + 1 WHERE id = ${id}`;
      if (said.outcome === 'refunded') {
        await tx.$executeRaw`UPDATE payments SET refunded_tiyin = amount_tiyin WHERE id = ${id}`;
        await tx.$executeRaw`
          UPDATE payment_refunds SET state = 'done', finished_at = now() WHERE payment_id = ${id} AND state = 'requested'`;
      }
      const [before, after] = [{ status: row.state }, { status: said.outcome, reason: said.reason }];
      return { result: undefined, action: 'payment.resolve', targetId: id, before, after };
    });
    await this.worker.now(id);
  }

  /** Looks at once instead of when it is due. */
  async retry(caller: Caller, id: string, reason: string): Promise<void> {
    await this.changes.execute(caller, async (tx) => {
      const [row] = await tx.$queryRaw<{ state: PaymentState }[]>`
        UPDATE payments SET due_at = now(), news = news + 1, failures = 0, discrepancy = NULL, compared_at = NULL,
                            link = CASE link WHEN 'refused' THEN 'missing' ELSE link END
         WHERE id = ${id} AND merchant_id = ${caller.merchantId} RETURNING state`;
      if (!row) throw notFound('payment');
      const [before, after] = [{ status: row.state }, { reason }];
      return { result: undefined, action: 'payment.retry', targetId: id, before, after };
    });
    await this.worker.now(id);
  }
}
