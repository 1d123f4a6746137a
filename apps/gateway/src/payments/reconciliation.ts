import { Injectable } from '@nestjs/common';
import { Prisma, ReportDatabase, SURPLUS_OPERATION } from '#database';
import type { PageRequest } from '../http/paging.js';
import { isWithoutMoney, type PaymentState } from '#payments';
import type { ReceiptStatus } from '#fiscal-domain';
import { SINCE_MADE } from './calls-of-payment.js';
import { ALL_RECEIPTS, REFUNDED_AHEAD } from './several-receipts.js';
import { triedFor, UNKNOWN_MINUTES } from './tried-in-vain.js';

export type DisagreementKind =
  /** Money was taken, and no receipt is registered for it. */
  | 'money_without_receipt'
  /** A receipt is registered whose money is not there, or is held longer than the saga needs, and it is not refunded. */
  | 'receipt_without_money'
  /** What became of a call is not known yet. */
  | 'unknown'
  /** Only a person can go on. */
  | 'manual'
  /** The provider charged for the order beyond the payment that was taken, and that has not gone back yet. */
  | 'charged_twice'
  /** The provider says something else than we do. */
  | 'provider_differs'
  /** A sum that is to go back has not gone back. */
  | 'refund_open'
  /** The provider registers the receipt, and its document of it, or of the refund, is not here yet. */
  | 'document_missing';

/** A payment whose money and receipt do not agree at this moment. */
export interface Disagreement {
  id: string;
  receipt_id: string;
  kind: DisagreementKind;
  status: PaymentState;
  receipt_status: ReceiptStatus;
  amount: number;
  age_seconds: number;
  /** Who goes on. */
  next_actor: 'gateway' | 'provider' | 'operator';
  /** What that one does, in words for those who integrate. */
  next_step: string;
  next_at: string | null;
  reason: string | null;
  discrepancy: unknown;
}

interface Row {
  id: string;
  receipt_id: string;
  kind: DisagreementKind;
  state: PaymentState;
  receipt_status: ReceiptStatus;
  amount_tiyin: bigint;
  age_seconds: number;
  due_at: Date | null;
  reason: string | null;
  discrepancy: unknown;
  awaits_operator: boolean;
  is_in_vain: boolean;
  /** Of its receipts one is unknown: a person decides on it first. */
  has_unknown: boolean;
}

/** Money that is held this long after its receipt was registered, or was to be released, is no usual way any more. */
const HELD_SECONDS = 120;

const WITHOUT_MONEY = Prisma.sql`('voided', 'refunded', 'declined', 'expired', 'cancelled')`;

/**
 * Where money and receipt disagree, as the ledger has it now. A payment on its usual way (held while its receipt is at the register) is
 * none; one that is being mended is one until it is mended.
 */
@Injectable()
export class Reconciliation {
  constructor(private readonly prisma: ReportDatabase) {}

  async list(merchantId: string, { limit, afterId }: PageRequest): Promise<Disagreement[]> {
    const rows = await this.prisma.$queryRaw<Row[]>(disagreementsOf(merchantId, { limit, afterId }));
    return rows.map(disagreement);
  }
}

/** Each try leaves the state for a moment, so that its time says nothing of how long the provider has taken none. */
function isCalledInVain(call: 'capture' | 'void'): Prisma.Sql {
  return Prisma.sql`EXISTS (SELECT FROM payment_calls c WHERE c.payment_id = p.id AND ${SINCE_MADE} AND c.call = ${call}
                               AND c.started_at < now() - make_interval(secs => ${HELD_SECONDS}::int4))`;
}

/**
 * Only what may disagree is checked: every move of a payment or its receipt makes it due, and it stays so, or a person's, until a check
 * has found money and receipt where they belong. The many that have found their end are not read.
 */
export function disagreementsOf(merchantId: string, { limit, afterId }: PageRequest): Prisma.Sql {
  const isAfter = Prisma.sql`p.merchant_id = ${merchantId} AND p.id > ${afterId ?? ''}`;
  return Prisma.sql`
      WITH unsettled AS MATERIALIZED (
        SELECT p.id FROM payments p
         WHERE ${isAfter} AND (p.due_at IS NOT NULL OR p.awaits_operator OR p.discrepancy IS NOT NULL)
        UNION
        SELECT p.id FROM payment_refunds f JOIN payments p ON p.id = f.payment_id
         WHERE ${isAfter} AND f.state IN ('waiting', 'requested')
        UNION
        SELECT p.id FROM extra_charges c JOIN payments p ON p.id = c.payment_id
         WHERE ${isAfter} AND c.finished_at IS NULL
      )
      SELECT * FROM (
        SELECT p.id, p.receipt_id, p.state, r.status AS receipt_status, p.amount_tiyin, p.due_at, p.reason, p.discrepancy,
               p.awaits_operator, ${triedFor(UNKNOWN_MINUTES)} AS is_in_vain,
               r.status = 'unknown' OR (p.further_receipts <> '{}' AND EXISTS (
                 SELECT FROM receipts o WHERE o.id = ANY(p.further_receipts) AND o.status = 'unknown')) AS has_unknown,
               floor(extract(epoch FROM now() - p.state_since))::int4 AS age_seconds,
               CASE
                 WHEN p.state = 'manual' THEN 'manual'
                 WHEN EXISTS (SELECT FROM extra_charges c WHERE c.payment_id = p.id AND c.finished_at IS NULL)
                   THEN 'charged_twice'
                 WHEN p.discrepancy IS NOT NULL THEN 'provider_differs'
                 WHEN p.state::text LIKE '%\\_unknown' THEN 'unknown'
                 WHEN p.fiscal_mode = 'provider' AND p.state IN ('captured', 'refunded')
                      AND (r.status = 'awaiting_payment'
                           OR EXISTS (SELECT FROM receipts b WHERE b.refund_of = r.id AND b.status = 'awaiting_payment'))
                   THEN 'document_missing'
                 WHEN p.state = 'captured' AND (r.status <> 'registered' OR EXISTS (
                        SELECT FROM receipts o WHERE o.id = ANY(p.further_receipts) AND o.status <> 'registered'))
                   THEN 'money_without_receipt'
                 WHEN (p.state = 'capture_refused' OR p.state IN ${WITHOUT_MONEY}) AND EXISTS (
                        SELECT FROM receipts o
                         WHERE o.id = ANY(${ALL_RECEIPTS}) AND o.status = 'registered'
                           AND (SELECT coalesce(sum(b.total_tiyin), 0) FROM receipts b
                                 WHERE b.refund_of = o.id AND b.operation <> ${SURPLUS_OPERATION}
                                   AND b.status = 'registered') < o.total_tiyin)
                   THEN 'receipt_without_money'
                 WHEN p.state IN ('reserved', 'authorized', 'capturing') AND r.status = 'registered'
                      AND (greatest(p.state_since, r.registered_at) < now() - make_interval(secs => ${HELD_SECONDS}::int4)
                           OR ${isCalledInVain('capture')})
                   THEN 'receipt_without_money'
                 WHEN p.state IN ('authorized', 'capture_refused', 'voiding') AND ${isCalledInVain('void')}
                   THEN 'money_without_receipt'
                 WHEN EXISTS (SELECT FROM payment_refunds f LEFT JOIN receipts b ON b.id = f.receipt_id
                               WHERE f.payment_id = p.id AND f.state IN ('waiting', 'requested')
                                 AND b.status IS DISTINCT FROM 'rejected' AND b.status IS DISTINCT FROM 'cancelled')
                   THEN 'refund_open'
                 WHEN p.state = 'captured' AND ${REFUNDED_AHEAD} > 0 THEN 'refund_open'
               END AS kind
          FROM unsettled JOIN payments p USING (id) JOIN receipts r ON r.id = p.receipt_id
      ) AS judged
      WHERE kind IS NOT NULL ORDER BY id LIMIT ${limit + 1}::int4`;
}

function disagreement(row: Row): Disagreement {
  return {
    ...{ id: row.id, receipt_id: row.receipt_id, kind: row.kind, status: row.state },
    ...{ receipt_status: row.receipt_status, amount: Number(row.amount_tiyin), age_seconds: row.age_seconds },
    ...nextOf(row),
    next_at: row.due_at?.toISOString() ?? null,
    ...{ reason: row.reason, discrepancy: row.discrepancy },
  };
}

const KEEP =
  'refund the receipt at another register, or POST /v1/operator/payments/{id}/resolve with outcome accepted where it stays: paid otherwise';

const RESOLVE = 'find out there, then POST /v1/operator/payments/{id}/resolve';

type Next = Pick<Disagreement, 'next_actor' | 'next_step'>;

const byGateway = (step: string): Next => ({ next_actor: 'gateway', next_step: `gateway: ${step}` });
const byOperator = (step: string): Next => ({ next_actor: 'operator', next_step: `operator: ${step}` });

function nextOf(row: Row): Next {
  const { kind, due_at: dueAt, state } = row;
  if (kind === 'manual') return byOperator('find out at the provider, then POST /v1/operator/payments/{id}/resolve');
  if (kind === 'charged_twice')
    return byGateway(
      'asks the extra charge back, see extra_charges of the payment; operator: where that is manual, POST /v1/operator/payments/{id}/extra-charges',
    );
  if (row.has_unknown) return byOperator('resolve the receipt, see GET /v1/operator/unknown');
  if (kind === 'document_missing') {
    const step = 'reports its document; operator: POST /v1/operator/payments/{id}/document where it does not';
    return { next_actor: 'provider', next_step: `provider: ${step}` };
  }
  if (kind === 'provider_differs')
    return byOperator(
      'compare with the provider, then POST /v1/operator/payments/{id}/resolve where it is right as it is, else have it put right and POST /v1/operator/payments/{id}/retry',
    );
  const isOld = row.age_seconds > UNKNOWN_MINUTES * 60;
  if ((kind === 'receipt_without_money' && state === 'reserved') || (kind === 'unknown' && isOld))
    return byGateway(`reads the status at the provider; operator: ${RESOLVE}`);
  if (row.is_in_vain) return byGateway(`repeats a call that the provider does not take; operator: ${RESOLVE}`);
  if (kind === 'receipt_without_money' && (isWithoutMoney(state) || state === 'capture_refused'))
    return dueAt === null ? byOperator(KEEP) : byGateway(`refunds the receipt; operator: ${KEEP}`);
  if (state === 'captured' && row.awaits_operator)
    return byOperator(`have the provider give this money back; ${RESOLVE}`);
  if (dueAt === null) return byOperator('nothing goes on by itself');
  return byGateway(kind === 'unknown' ? 'reads the status at the provider' : 'goes on by itself');
}
