import { Prisma } from '#database';
import { insertEvents } from './events.js';
import type { Statements } from './statements.js';

/** `elsewhere`: another merchant holds the terminal. */
export type TerminalClaim = 'held' | 'elsewhere';

/**
 * A register has claimed to be this terminal, to a device of this merchant. The first merchant holds a terminal from then
 * on; another one has to prove that it has the fiscal module (docs/fleet.md). Nothing is locked: a terminal that is moved to
 * another merchant at this moment is caught by `isNotHeldElsewhere`, without which no bytes leave.
 */
export async function claimTerminal(
  statements: Statements,
  terminalId: string,
  merchantId: string,
): Promise<TerminalClaim> {
  const holder = async (): Promise<string | undefined> => {
    const [row] = await statements.$queryRaw<{ merchant_id: string }[]>`
      SELECT merchant_id FROM terminals WHERE terminal_id = ${terminalId}`;
    return row?.merchant_id;
  };
  const known = await holder();
  if (known !== undefined) return known === merchantId ? 'held' : 'elsewhere';
  await statements.$executeRaw`
    INSERT INTO terminals (terminal_id, merchant_id) VALUES (${terminalId}, ${merchantId}) ON CONFLICT DO NOTHING`;
  // By a statement of its own, which sees a row that another session has just inserted.
  return (await holder()) === merchantId ? 'held' : 'elsewhere';
}

/**
 * Notifies the holder that a register of another merchant claims to be this terminal: once a day at most, however often and by
 * how many it is claimed. The other merchant is not named.
 */
export async function contestTerminal(statements: Statements, terminalId: string, eventId: string): Promise<void> {
  await statements.$executeRaw`
    WITH contested AS (
      UPDATE terminals SET contested_at = now()
       WHERE terminal_id = ${terminalId} AND (contested_at IS NULL OR contested_at < now() - interval '1 day')
      RETURNING terminal_id, merchant_id
    )
    ${insertEvents(Prisma.sql`
      SELECT ${eventId}, c.merchant_id, 'device.terminal_contested', coalesce(d.id, c.terminal_id),
             jsonb_build_object('device_id', d.id, 'terminal_id', c.terminal_id)
        FROM contested c LEFT JOIN devices d ON d.terminal_id = c.terminal_id AND d.merchant_id = c.merchant_id
                                            AND d.deleted_at IS NULL`)}`;
}

/** For the statement that lets bytes leave: no other merchant holds the terminal. One that is null is not known yet. */
export function isNotHeldElsewhere(terminalId: Prisma.Sql, merchantId: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`
    NOT EXISTS (SELECT FROM terminals held WHERE held.terminal_id = ${terminalId} AND held.merchant_id <> ${merchantId})`;
}

/** The reason of the state `claimed_elsewhere`. */
export function claimedElsewhereReason(terminalId: string): string {
  return `terminal ${terminalId} is held by another merchant: prove that the fiscal module is here, or ask the platform's operator`;
}
