import { Prisma } from './generated/client.js';
import { ANNOUNCED } from './restore-words.js';

/**
 * Condition on a row of `receipts` (alias `r`): it is older than the last change of the database's identity, or such a change
 * was announced. Where the database was put back from a copy, a receipt that stands as accepted may have been registered since,
 * and then moved or cancelled: its register has to be asked first (docs/adr/0053-compared-after-restore.md).
 */
export const FROM_COPY = Prisma.sql`
  coalesce(r.created_at <= (SELECT CASE WHEN i.identity = ${ANNOUNCED} THEN 'infinity' ELSE i.changed_at END
                              FROM database_identity i), false)`;
