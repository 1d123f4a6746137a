import { Prisma } from '#database';

/**
 * When the database was put back from a copy last, or that was announced. What is older may have gone on in the time that is lost: its
 * provider may have been asked for money, or for money back, without a trace here (docs/adr/0053-compared-after-restore.md).
 */
const PUT_BACK_AT = Prisma.sql`(SELECT i.changed_at FROM database_identity i)`;

/** Of payment `p`. */
export const IS_OF_COPY = Prisma.sql`coalesce(p.created_at <= ${PUT_BACK_AT}, false)`;

/** Of refund `f` of a payment: older, and its provider was not asked about it since. */
export const MAY_BE_BACK = Prisma.sql`
  coalesce(f.created_at <= ${PUT_BACK_AT} AND (f.called_at IS NULL OR f.called_at <= ${PUT_BACK_AT}), false)`;
