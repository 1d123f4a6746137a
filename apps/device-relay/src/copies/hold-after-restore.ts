import type pg from 'pg';
import { ANNOUNCED, isSameCluster, isSameDatabase, Prisma, readIdentity, RESTORED, withTablesOfNow } from '#database';
import { insertEvents, type RunStatement } from '#ledger';
import { newId, type Logger } from '#runtime';
import { planRenumbering } from '../events/renumber-events.js';
import { holdReceipts, readFleet } from './hold-receipts.js';

/** Clocks differ: nothing that the copy holds as unfinished may appear newer than its restore, nor a register that stood still before it. */
const NOTE_CHANGE = `
  UPDATE database_identity SET identity = $1, noted_at = now(),
         changed_before = CASE WHEN identity = '${ANNOUNCED}' THEN changed_before ELSE changed_at END,
         changed_at = greatest(clock_timestamp(),
           (SELECT max(created_at) + interval '1 millisecond' FROM receipts
             WHERE status IN ('awaiting_payment', 'accepted', 'sending', 'unknown')),
           (SELECT max(created_at) + interval '1 millisecond' FROM payments
             WHERE state IN ('created', 'pending', 'reserved', 'authorizing', 'authorize_unknown', 'authorized', 'capturing', 'capture_unknown',
                             'capture_refused', 'voiding', 'void_unknown', 'refunding', 'refund_unknown', 'manual')),
           (SELECT max(greatest(created_at, called_at)) + interval '1 millisecond' FROM payment_refunds
             WHERE state IN ('waiting', 'requested')),
           (SELECT max(state_since) + interval '1 millisecond' FROM devices WHERE state = 'disabled' AND deleted_at IS NULL))`;

/** Until then no money is moved on this server (libs/database/src/known-server.ts). */
const NOTE_SERVER = `
  UPDATE database_identity SET server_started = pg_postmaster_start_time()
   WHERE server_started IS DISTINCT FROM pg_postmaster_start_time()`;

/**
 * Before a relay takes its first lane on a session, and after each reconnection: is this still the database that we knew?
 * A copy that was put back calls receipts unsent that registers have long registered. A register with keys and a journal
 * answers those with the registration that it holds, but only its own: what failover has moved since the copy stands at
 * another one. Registers without keys would be sold to twice, and the counters that could warn resemble a cashier's own
 * sales. So what may stand somewhere else becomes `unknown`, and registers without keys stop as `replaced`, until all
 * registers that could have it have been compared, or a person has decided (docs/backup.md).
 *
 * @param takesLong called before statements that may take as long as they need: what is noted already takes no time
 */
export async function holdAfterRestore(
  client: pg.Client,
  logger: Logger,
  takesLong: () => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  const seen = await readIdentity(client, logger);
  await client.query('BEGIN');
  try {
    await client.query('INSERT INTO database_identity (identity) VALUES ($1) ON CONFLICT (id) DO NOTHING', [seen]);
    // Where another relay is at it, it still shows what was there before.
    const noted = await client.query<{ identity: string }>('SELECT identity FROM database_identity');
    if (noted.rows[0]?.identity !== seen) await takesLong();
    // Locked: of several relays that come back together one does it, the others find it done.
    const known = await client.query<{ identity: string }>('SELECT identity FROM database_identity FOR UPDATE');
    const before = known.rows[0]?.identity;
    const identity = await withTablesOfNow(client, seen);
    if (before === undefined || !isSameDatabase(before, identity)) {
      if (before === undefined || !isSameCluster(before, identity)) await planRenumbering(client);
      await client.query(NOTE_CHANGE, [identity]);
      const held = await hold(client);
      logger.error({ before, identity, ...held }, RESTORED);
    } else if (before !== identity) await client.query('UPDATE database_identity SET identity = $1', [identity]);
    await client.query(NOTE_SERVER);
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK');
    throw error;
  }
}

/** What it writes of all registers meets polls and lanes that write groups of them in other orders: they wait for it, or it for them. */
const REGISTERS_ALONE = 'LOCK TABLE devices IN SHARE ROW EXCLUSIVE MODE';

async function hold(client: pg.Client): Promise<{ devices: number; receipts: number }> {
  const run: RunStatement = async <Row>({ text, values }: Prisma.Sql): Promise<Row[]> =>
    (await client.query(text, [...values])).rows as Row[];
  await client.query(REGISTERS_ALONE);
  const devices = await stopKeyless(run);
  const receipts = await holdReceipts(run, await readFleet(run), null);
  return { devices, receipts: receipts.length };
}

/**
 * Registers without keys stop, and their counters are compared with where the copy left them. Those of which the copy has no
 * reading are left to a person. One that stands still for a reason of its own keeps its state, which only a person ends: enabling one
 * that was disabled stops it here (apps/gateway/src/fleet/devices/switch-device.ts), the other two begin anew.
 */
async function stopKeyless(run: RunStatement): Promise<number> {
  const keyless = await run<{ id: string }>(Prisma.sql`
     SELECT id FROM devices d
      WHERE deleted_at IS NULL AND journal_id IS NULL
        AND (terminal_id IS NOT NULL
             OR EXISTS (SELECT FROM receipts r WHERE r.device_id = d.id AND r.status IN ('accepted', 'sending')))`);
  const stopped = await run<{ id: string }>(Prisma.sql`
     UPDATE devices d SET state = 'replaced', state_reason = ${RESTORED}, state_since = now()
      WHERE id = ANY(${keyless.map(({ id }) => id)}::text[]) AND state NOT IN ('disabled', 'replaced', 'claimed_elsewhere')
     RETURNING id`);
  const ids = stopped.map(({ id }) => id);
  await run(
    insertEvents(Prisma.sql`
     SELECT e.event_id, d.merchant_id, 'device.replaced', d.id, jsonb_build_object('device_id', d.id, 'reason', d.state_reason)
       FROM unnest(${ids}::text[], ${ids.map(() => newId('evt'))}::text[]) AS e(device_id, event_id)
       JOIN devices d ON d.id = e.device_id`),
  );
  // Verdicts of a restore before this one say nothing about this copy.
  await run(Prisma.sql`DELETE FROM restore_checks WHERE attempt_id IS NULL`);
  await run(Prisma.sql`
     UPDATE restore_checks c SET verdict = NULL, restored_at = i.changed_at, due_at = now(), answered_at = NULL, seen_at = NULL
       FROM attempts a, database_identity i
      WHERE a.id = c.attempt_id AND a.state = 'unknown' AND c.method = 'key' AND c.evidence IS NULL`);
  await run(Prisma.sql`
     INSERT INTO restore_checks (device_id, method, restored_at, verdict, evidence)
     SELECT l.device_id, 'counters', i.changed_at, CASE WHEN seen.is_read THEN NULL ELSE 'unproven' END,
            CASE WHEN seen.is_read THEN NULL ELSE '{"why": "the copy has no reading of its counters"}'::jsonb END
       FROM lanes l, database_identity i,
            LATERAL (SELECT coalesce(jsonb_typeof(l.baseline -> 'reading') = 'object', false) AS is_read) seen
      WHERE l.device_id = ANY(${keyless.map(({ id }) => id)}::text[])`);
  return ids.length;
}
