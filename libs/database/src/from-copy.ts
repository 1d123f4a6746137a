import { Prisma } from './generated/client.js';
import { ANNOUNCED } from './restore-words.js';

/**
 * Condition on a row of `receipts` (alias `r`): it is older than the last change of the database's identity, or such a change
 * was announced, or this is another server than the one on which relays have compared it last (a standby that was promoted a moment ago, or
 * one that was started anew, until a relay has met it). Where the database was put back from a copy, a receipt that stands as accepted may have been registered since,
 * and then moved or cancelled: its register has to be asked first (docs/adr/0053-compared-after-restore.md).
 */
export const FROM_COPY = Prisma.sql`
  coalesce(r.created_at <= (SELECT CASE WHEN i.identity = ${ANNOUNCED} OR i.server_started <> pg_postmaster_start_time() THEN 'infinity'
                                     ELSE i.changed_at END
                              FROM database_identity i), false)`;
