import { Prisma } from './generated/client.js';

/**
 * Condition on a row of `receipts` (alias `r`): it is older than the last change of the database's identity. Where the database
 * was put back from a copy, a receipt that stands as accepted may have been registered since, and then moved or cancelled:
 * its register has to be asked before anybody else does anything with it (docs/adr/0017-held-after-restore.md).
 */
export const FROM_COPY = Prisma.sql`
  coalesce(r.created_at <= (SELECT i.changed_at FROM database_identity i), false)`;
