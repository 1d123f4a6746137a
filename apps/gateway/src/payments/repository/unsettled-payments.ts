import type { PrismaService } from '#database';

export interface UnsettledOf {
  merchant: string;
  payments: number;
}

/** The merchants that have the most payments which somebody or something is at still, a month after they were made. */
export function mostUnsettled(prisma: PrismaService): Promise<UnsettledOf[]> {
  return prisma.$queryRaw<UnsettledOf[]>`
    SELECT merchant_id AS merchant, count(*)::int4 AS payments FROM payments
     WHERE created_at < now() - interval '30 days' AND (due_at IS NOT NULL OR awaits_operator OR discrepancy IS NOT NULL)
     GROUP BY merchant_id ORDER BY payments DESC LIMIT 3`;
}
