import { Prisma } from '#database';

/**
 * Of calls `c` of a payment `p`: those of the months before it was made are none of its, and are not read. By a day more than that, as the
 * database's clock may have been set back meanwhile.
 */
export const SINCE_MADE = Prisma.sql`c.started_at >= p.created_at - interval '1 day'`;
