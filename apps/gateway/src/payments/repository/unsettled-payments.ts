import type { PrismaService } from '#database';

export interface UnsettledOf {
  merchant: string;
  payments: number;
}

/** The merchants that have the most payments of before a moment which a worker or a person has still to settle, as `unfinished_payments` of the database. */
export function mostUnsettled(prisma: PrismaService, before: Date): Promise<UnsettledOf[]> {
  return prisma.$queryRaw<UnsettledOf[]>`
    SELECT merchant_id AS merchant, count(*)::int4 AS payments FROM payments
     WHERE created_at < ${before} AND (due_at IS NOT NULL OR awaits_operator OR discrepancy IS NOT NULL
           OR state NOT IN ('captured', 'voided', 'refunded', 'declined', 'expired', 'cancelled'))
     GROUP BY merchant_id ORDER BY payments DESC LIMIT 3`;
}
