import { Injectable } from '@nestjs/common';
import { onKnownServer, PrismaService, PUT_BACK_US, type Prisma } from '#database';
import type { PaymentFlow, ProviderCode } from '#payments';

/** Before the first status read of a reported charge: what the provider gives back by itself is back by then. */
export const FIRST_READ_MS = 30_000;

export interface ReportedCharge {
  accountId: string;
  paymentId: string;
  providerRef: string;
  amountTiyin: number;
  /** How it was learnt. */
  reason: string;
}

/** `absent`: the provider has kept nothing. `ours`: it proved to be the payment that we took. */
export type ExtraChargeState = 'reported' | 'refunding' | 'refunded' | 'absent' | 'ours' | 'manual';

export interface ExtraCharge {
  id: bigint;
  account_id: string;
  payment_id: string;
  provider_ref: string;
  amount_tiyin: bigint;
  state: ExtraChargeState;
  tries: number;
  refund_calls: number;
  called_at: Date | null;
  created_at: Date;
  now: Date;
  provider: ProviderCode;
  flow: PaymentFlow;
  payment_created_at: Date;
  /** The provider's id of the payment that we took. */
  payment_ref: string | null;
  /** The payment that we took is this very one, or an attempt of it may still become it. */
  is_ours: boolean;
  /** Another order was paid under this number, perhaps years ago, or under one of another kind that reads the same. */
  is_of_another_order: boolean;
  is_open: boolean;
  /** When the database was put back from a copy last: microseconds since 1970. */
  put_back_us: bigint | null;
}

/** Charges of an order beyond the payment that was taken for it. */
@Injectable()
export class ExtraChargesRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** In the transaction that answers the provider; reported again, it is still one. */
  async report(tx: Pick<Prisma.TransactionClient, '$executeRaw'>, charge: ReportedCharge): Promise<void> {
    const { accountId, paymentId, providerRef, amountTiyin, reason } = charge;
    await tx.$executeRaw`
      INSERT INTO extra_charges (account_id, payment_id, provider_ref, amount_tiyin, reason, due_at)
      VALUES (${accountId}, ${paymentId}, ${providerRef}, ${amountTiyin}::int8, ${reason},
              now() + make_interval(secs => ${FIRST_READ_MS / 1_000}::float8))
      ON CONFLICT (account_id, provider_ref) DO NOTHING`;
  }

  /** Takes one that is due; another process may have it when the lease has run out. */
  async claim(leaseSeconds: number): Promise<ExtraCharge | null> {
    const rows = await this.prisma.$queryRaw<ExtraCharge[]>`
      UPDATE extra_charges c SET due_at = now() + make_interval(secs => ${leaseSeconds}::int4), tries = c.tries + 1
        FROM payments p
       WHERE p.id = c.payment_id
         AND c.id = (SELECT id FROM extra_charges WHERE due_at <= now() ORDER BY due_at LIMIT 1 FOR UPDATE SKIP LOCKED)
      RETURNING c.id, c.account_id, c.payment_id, c.provider_ref, c.amount_tiyin, c.state, c.tries, c.refund_calls,
                c.called_at, c.created_at, clock_timestamp() AS now, ${PUT_BACK_US} AS put_back_us, p.provider, p.flow, p.created_at AS payment_created_at,
                p.provider_ref AS payment_ref,
                EXISTS (SELECT FROM payments o WHERE o.account_id = c.account_id AND o.provider_ref = c.provider_ref
                    AND o.id <> c.payment_id)
                  OR EXISTS (SELECT FROM archived_payments k WHERE k.account_id = c.account_id AND k.provider_ref = c.provider_ref
                    AND k.id <> c.payment_id) AS is_of_another_order,
                p.provider_ref IS NOT DISTINCT FROM c.provider_ref OR EXISTS (
                  SELECT FROM provider_transactions t WHERE t.account_id = c.account_id AND t.payment_id = p.id
                    AND t.payment_number = c.provider_ref AND t.state = 2) AS is_ours,
                EXISTS (SELECT FROM provider_transactions t WHERE t.account_id = c.account_id AND t.payment_id = p.id
                    AND t.payment_number = c.provider_ref AND t.state = 1)
                  AND p.state IN ('pending', 'reserved') AS is_open`;
    return rows[0] ?? null;
  }

  /** The intent of a refund, before its first byte leaves. @returns false: another process has moved it, or a relay has to note the database first */
  async beginRefund(charge: ExtraCharge): Promise<boolean> {
    const changed = await this.prisma.$executeRaw`
      UPDATE extra_charges SET state = 'refunding', called_at = now(), refund_calls = refund_calls + 1
       WHERE id = ${charge.id} AND state = ${charge.state} AND tries = ${charge.tries} AND due_at > now() AND ${onKnownServer(charge.put_back_us)}`;
    return changed === 1;
  }

  /** Ends it, or sets the time of its next status read. `reason` stays where none is given. */
  async move(
    charge: ExtraCharge,
    to: { state: ExtraChargeState; afterMs: number | null; reason?: string },
  ): Promise<void> {
    const isFinished = to.state === 'refunded' || to.state === 'absent' || to.state === 'ours';
    await this.prisma.$executeRaw`
      UPDATE extra_charges
         SET state = ${to.state}, reason = coalesce(${to.reason ?? null}::text, reason),
             due_at = now() + make_interval(secs => ${to.afterMs === null ? null : to.afterMs / 1_000}::float8),
             finished_at = CASE WHEN ${isFinished} THEN now() END
       WHERE id = ${charge.id} AND tries = ${charge.tries} AND finished_at IS NULL`;
  }
}
