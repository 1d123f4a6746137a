import { Injectable } from '@nestjs/common';
import { findArchiveOfPayment } from '#ledger';
import { AuditedChange } from '../../audit/audited-change.js';
import type { Caller } from '../../audit/caller.js';
import { notFound } from '../../http/own-id.js';
import { paymentArchived } from '../missing-payment.js';

/** What a person found out, or did, at the provider about a charge that no call of ours can bring back. */
@Injectable()
export class EndExtraCharge {
  constructor(private readonly changes: AuditedChange) {}

  /** @throws Problem 404: no such charge of this payment is open; 410 */
  async execute(
    caller: Caller,
    paymentId: string,
    {
      provider_ref: providerRef,
      outcome,
      reason,
    }: { provider_ref: string; outcome: 'refunded' | 'absent'; reason: string },
  ): Promise<void> {
    await this.changes.execute(caller, async (tx) => {
      const [row] = await tx.$queryRaw<{ id: bigint; state: string }[]>`
        SELECT c.id, c.state FROM extra_charges c JOIN payments p ON p.id = c.payment_id
         WHERE p.id = ${paymentId} AND p.merchant_id = ${caller.merchantId} AND c.provider_ref = ${providerRef}
           AND c.finished_at IS NULL FOR UPDATE OF c`;
      if (!row) {
        const archive = await findArchiveOfPayment(tx, caller.merchantId, paymentId);
        throw archive === null ? notFound('extra charge') : paymentArchived(archive);
      }
      await tx.$executeRaw`
        UPDATE extra_charges SET state = ${outcome}, reason = ${reason}, due_at = NULL, finished_at = now()
         WHERE id = ${row.id}`;
      const before = { provider_ref: providerRef, status: row.state };
      const after = { provider_ref: providerRef, status: outcome, reason };
      return { result: undefined, action: 'payment.extra_charge', targetId: paymentId, before, after };
    });
  }
}
