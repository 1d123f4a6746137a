import { Prisma } from './generated/client.js';

/**
 * Condition on a row of `attempts` (alias `a`): it is over, and nothing proves that its register does not have the
 * document. A receipt that is sent again after such an attempt is kept from being doubled by its key alone, and a key
 * lives as long as the module that knows it (docs/adr/0016-adopting-a-module.md). provesAbsence() of libs/fiscal-domain
 * says the same of one outcome. The state is compared as text, so that an index of what is under way is never read from end to end
 * for it (docs/adr/0060-lane-reads.md).
 */
export const UNPROVEN_ATTEMPT = Prisma.sql`
  (a.state::text = 'unknown' OR (a.state::text = 'not_registered' AND (
     a.outcome -> 'resolution' IS NOT NULL
     OR (coalesce(a.outcome #>> '{answer,kind}', '') NOT IN ('not_sent', 'refused')
         AND coalesce(a.outcome #>> '{proof,kind}', '') <> 'not_registered'))))`;
