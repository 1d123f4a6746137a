import type { PrismaService } from '#database';
import { UNKNOWN_MINUTES } from '../tried-in-vain.js';

/** Counted no further: one or a thousand, a person has to begin. */
export const MOST_FOR_PERSON = 1_000;

/**
 * Payments that a person has to decide on, but for those of sandboxes: the saga has named one, the provider says something else, or handles it by
 * hand, or has not said for ten minutes what a call did. By the index payments_for_person.
 */
export async function countForPerson(prisma: Pick<PrismaService, '$queryRaw'>): Promise<number> {
  const [row] = await prisma.$queryRaw<{ count: number }[]>`
    SELECT count(*)::int4 AS count FROM (
      SELECT FROM payments p
       WHERE (p.awaits_operator OR p.discrepancy IS NOT NULL OR p.state = 'manual'
              OR (p.state IN ('authorize_unknown', 'capture_unknown', 'void_unknown', 'refund_unknown')
                  AND p.state_since < now() - make_interval(mins => ${UNKNOWN_MINUTES}::int4)))
         AND NOT starts_with(p.id, 'pay_test_')
       LIMIT ${MOST_FOR_PERSON}::int4) AS waiting`;
  return row?.count ?? 0;
}
