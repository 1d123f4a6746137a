import { Prisma } from './generated/client.js';

/**
 * Condition on a row of `devices` (alias `d`): it may be sold at. A register behind a link is known once it was asked who and whose it is (the relay's
 * `inspection`); until then, and after its module was adopted, it has no terminal.
 */
export const IS_ADMITTED = Prisma.sql`(d.transport <> 'link' OR d.terminal_id IS NOT NULL)`;
