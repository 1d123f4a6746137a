import { Prisma } from '#database';

/** Of a row with a turn of its own, an endpoint or an account: it has something due, and no gateway is at it. */
export const MAY_BE_CLAIMED = Prisma.sql`
  due_at <= now() AND (lease_until IS NULL OR lease_until <= now()) AND (blocked_until IS NULL OR blocked_until <= now())
  AND disabled_at IS NULL AND deleted_at IS NULL`;
