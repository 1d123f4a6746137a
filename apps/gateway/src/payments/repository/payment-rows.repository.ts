import { Injectable } from '@nestjs/common';
import { Prisma, SalesDatabase } from '#database';
import { insertEvents, insertUnpaid, type NewReceipt } from '#ledger';
import type { PaymentFlow, PaymentState } from '#payments';
import type { Problem } from '#problems';
import { newId } from '#runtime';
import { missingPayment } from '../missing-payment.js';
import type { PaymentRow } from '../payment-view.js';
import type { Alternative } from '../routing/alternative.js';
import { ALL_RECEIPTS } from '../several-receipts.js';

export interface NewPayment {
  id: string;
  accountId: string;
  provider: string;
  flow: PaymentFlow;
  state: Extract<PaymentState, 'created' | 'pending'>;
  instrumentSealed: Uint8Array | null;
  returnUrl: string | null;
  nextAction: unknown;
  waitsForCapture: boolean;
  customerMs: number;
  /** Who registers the receipt. */
  fiscalMode: 'gateway' | 'provider';
  /** Null: its provider was named. */
  alternatives: Alternative[] | null;
}

/** Of `payments`, as {@link PaymentRow} has them. */
export const PAYMENT_COLUMNS = Prisma.sql`
  id, receipt_id, further_receipts, account_id, provider, flow, state, amount_tiyin, refunded_tiyin, next_action, reason, waits_for_capture,
  fiscal_mode, provider_ref, evidence, expires_at, hold_until, delivered_at, state_since, created_at,
  (SELECT coalesce(jsonb_agg(jsonb_build_object('receipt_id', f.receipt_id, 'amount', f.amount_tiyin, 'status',
                     CASE WHEN f.state = 'waiting' AND b.status = 'registered' THEN 'requested'
                          WHEN f.state = 'waiting' AND b.status IN ('rejected', 'cancelled') THEN 'dropped'
                          ELSE f.state::text END) ORDER BY f.id), '[]')
     FROM payment_refunds f LEFT JOIN receipts b ON b.id = f.receipt_id WHERE f.payment_id = payments.id) AS refunds,
  (SELECT coalesce(jsonb_agg(jsonb_build_object('provider_ref', c.provider_ref, 'amount', c.amount_tiyin,
                     'status', c.state, 'reason', c.reason) ORDER BY c.id), '[]')
     FROM extra_charges c WHERE c.payment_id = payments.id) AS extra_charges`;

/** An external id of one of several receipts belongs to another: none is written. */
class IdTaken extends Error {}

/** Payments as the API writes and reads them. */
@Injectable()
export class PaymentRows {
  constructor(private readonly prisma: SalesDatabase) {}

  /**
   * Receipt, payment and event in one statement, further receipts in the same commit: all of them or, where the key or an external id is
   * taken, nothing.
   * @returns whether it was written
   */
  async insert(
    receipt: NewReceipt<string | null>,
    payment: NewPayment,
    further: readonly NewReceipt[] = [],
  ): Promise<boolean> {
    const written = paymentInserted(receipt, payment, further);
    if (further.length === 0) return (await this.prisma.queryHot<{ id: string }>(written)).length === 1;
    try {
      await this.prisma.$transaction(async (tx) => {
        for (const statement of [written, ...further.map((each) => insertUnpaid(each, payment.id))])
          if ((await tx.$queryRaw<unknown[]>(statement)).length === 0) throw new IdTaken();
      });
      return true;
    } catch (error) {
      if (error instanceof IdTaken) return false;
      throw error;
    }
  }

  async find(merchantId: string, id: string): Promise<PaymentRow | null> {
    const rows = await this.prisma.queryHot<PaymentRow>(Prisma.sql`
      SELECT ${PAYMENT_COLUMNS} FROM payments WHERE id = ${id} AND merchant_id = ${merchantId}`);
    return rows[0] ?? null;
  }

  /** What is answered about one that is not here. */
  missing(merchantId: string, id: string): Promise<Problem> {
    return missingPayment(this.prisma, merchantId, id);
  }

  async findOfReceipt(merchantId: string, receiptId: string): Promise<PaymentRow | null> {
    const rows = await this.prisma.$queryRaw<PaymentRow[]>`
      SELECT ${PAYMENT_COLUMNS} FROM payments WHERE receipt_id = ${receiptId} AND merchant_id = ${merchantId}`;
    return rows[0] ?? null;
  }

  /** Whether its receipt has left for its lane and is not settled there. */
  async isAtRegister(id: string): Promise<boolean> {
    const rows = await this.prisma.$queryRaw<unknown[]>`
      SELECT FROM payments p JOIN receipts r ON r.id = ANY(${ALL_RECEIPTS})
       WHERE p.id = ${id} AND r.status IN ('accepted', 'sending') LIMIT 1`;
    return rows.length > 0;
  }
}

function paymentInserted(
  receipt: NewReceipt<string | null>,
  payment: NewPayment,
  further: readonly NewReceipt[],
): Prisma.Sql {
  const furtherTiyin = further.reduce((sum, { document }) => sum + document.totalTiyin, 0);
  const dueAt =
    payment.state === 'pending'
      ? Prisma.sql`now() + make_interval(secs => ${payment.customerMs / 1_000})`
      : Prisma.sql`now()`;
  const noted = insertEvents(Prisma.sql`
      SELECT ${newId('evt')}, merchant_id, ${`payment.${payment.state}`}, id,
             jsonb_build_object('payment_id', id, 'receipt_id', ${receipt.id}::text, 'status', ${payment.state}::text)
        FROM payment`);
  return Prisma.sql`
      WITH receipt AS (${insertUnpaid(receipt, payment.id)}
      ), payment AS (
        INSERT INTO payments (id, merchant_id, account_id, receipt_id, further_receipts, provider, flow, state, amount_tiyin,
                              instrument_sealed, return_url, next_action, waits_for_capture, fiscal_mode, expires_at,
                              due_at, alternatives)
        SELECT ${payment.id}, merchant_id, ${payment.accountId}, id, ${further.map(({ id }) => id)}::text[], ${payment.provider}, ${payment.flow},
               ${payment.state}::payment_state, total_tiyin + ${furtherTiyin}::int8, ${payment.instrumentSealed}, ${payment.returnUrl},
               ${payment.nextAction === null ? null : JSON.stringify(payment.nextAction)}::jsonb,
               ${payment.waitsForCapture}, ${payment.fiscalMode}, now() + make_interval(secs => ${payment.customerMs / 1_000}), ${dueAt},
               ${payment.alternatives === null ? null : JSON.stringify(payment.alternatives)}::jsonb
          FROM receipt RETURNING id, merchant_id
      ), noted AS (${noted})
      SELECT id FROM payment`;
}
