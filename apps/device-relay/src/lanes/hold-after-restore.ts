import type pg from 'pg';
import { newId, type Logger } from '#runtime';
import { planRenumbering } from '../events/renumber-events.js';
import { isSameCluster, isSameDatabase, readIdentity } from './database-identity.js';

const WHY = 'the database was put back from a copy: what was registered after the copy is not known here';

interface WaitingReceipt {
  receipt_id: string;
  device_id: string;
}

/**
 * Before a relay takes its first lane on a session, and after each reconnection: is this still the database that we knew?
 * A copy that was put back calls receipts unsent that registers have long registered. Registers with keys and a journal
 * answer those with the registration that they hold. Any other register would be sold to twice, and the counters that
 * could warn look like a cashier's own sales: so these lanes stop as `replaced` until an operator adopts them, and what
 * waits in them becomes `unknown`, for a person with the register's journal to decide (docs/backup.md).
 */
export async function holdAfterRestore(client: pg.Client, logger: Logger): Promise<void> {
  const identity = await readIdentity(client, logger);
  await client.query('BEGIN');
  try {
    await client.query('INSERT INTO database_identity (identity) VALUES ($1) ON CONFLICT (id) DO NOTHING', [identity]);
    // Locked: of several relays that come back together one does it, the others find it done.
    const known = await client.query<{ identity: string }>('SELECT identity FROM database_identity FOR UPDATE');
    const before = known.rows[0]?.identity;
    if (before === undefined || !isSameDatabase(before, identity)) {
      if (before === undefined || !isSameCluster(before, identity)) await planRenumbering(client);
      const held = await hold(client);
      await client.query('UPDATE database_identity SET identity = $1, noted_at = now()', [identity]);
      logger.error({ before, identity, ...held }, WHY);
    } else if (before !== identity) await client.query('UPDATE database_identity SET identity = $1', [identity]);
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK');
    throw error;
  }
}

async function hold(client: pg.Client): Promise<{ devices: number; receipts: number }> {
  const waiting = await client.query<WaitingReceipt>(
    `SELECT r.id AS receipt_id, r.device_id FROM receipts r JOIN devices d ON d.id = r.device_id
      WHERE r.status = 'accepted' AND d.journal_id IS NULL ORDER BY r.lane_place FOR UPDATE OF r`,
  );
  const devices = await client.query<{ id: string }>(
    `UPDATE devices SET state = 'replaced', state_reason = $1, state_since = now()
      WHERE deleted_at IS NULL AND journal_id IS NULL AND (terminal_id IS NOT NULL OR id = ANY($2)) RETURNING id`,
    [WHY, waiting.rows.map(({ device_id: deviceId }) => deviceId)],
  );
  for (const { id } of devices.rows) {
    await client.query(
      `INSERT INTO events (id, merchant_id, type, subject_id, data)
       SELECT $1, merchant_id, 'device.replaced', id, jsonb_build_object('device_id', id, 'reason', state_reason)
         FROM devices WHERE id = $2`,
      [newId('evt'), id],
    );
  }
  for (const { receipt_id: receiptId } of waiting.rows) await becomeUnknown(client, receiptId);
  return { devices: devices.rows.length, receipts: waiting.rows.length };
}

/** With an attempt that nobody made, because that is what an operator decides about. */
async function becomeUnknown(client: pg.Client, receiptId: string): Promise<void> {
  await client.query(
    `INSERT INTO attempts (id, receipt_id, device_id, number, state, baseline, request, relay_id, closed_at, outcome)
     SELECT $1, r.id, r.device_id, (SELECT count(*) + 1 FROM attempts a WHERE a.receipt_id = r.id), 'unknown',
            coalesce(l.baseline, '{"terminalId": null, "journalId": null, "sequence": null, "reading": null}'),
            '', 'restore', now(), jsonb_build_object('why', $3::text)
       FROM receipts r JOIN lanes l ON l.device_id = r.device_id WHERE r.id = $2`,
    [newId('att'), receiptId, WHY],
  );
  await client.query("UPDATE receipts SET status = 'unknown', updated_at = now() WHERE id = $1", [receiptId]);
  await client.query(
    `INSERT INTO events (id, merchant_id, type, subject_id, data)
     SELECT $1, merchant_id, CASE type WHEN 'refund' THEN 'refund' ELSE 'receipt' END || '.unknown', id,
            jsonb_build_object('receipt_id', id, 'why', $3::text)
       FROM receipts WHERE id = $2`,
    [newId('evt'), receiptId, WHY],
  );
}
