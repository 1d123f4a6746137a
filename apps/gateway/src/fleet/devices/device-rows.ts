import type { DeviceIntroduction, Prisma } from '#database';
import { claimedElsewhereReason, claimTerminal, contestTerminal } from '#ledger';
import { newId } from '#runtime';
import { notFound } from '../../http/own-id.js';
import type { Transport } from './device-bodies.js';

type Tx = Prisma.TransactionClient;

/** A device as it is before a change, its row locked. */
export interface LockedDeviceRow {
  id: string;
  branch_id: string;
  group_id: string | null;
  name: string;
  model: string;
  transport: Transport;
  base_url: string | null;
  state: string;
  state_reason: string | null;
  profile: Record<string, unknown>;
  close_at: string | null;
  terminal_id: string | null;
  draining_since: Date | null;
  /** Seconds since it takes no new receipts: drained or disabled; null = it takes them. */
  resting_seconds: number | null;
}

/** @throws Problem 404: missing, deleted, not yet registered, or another merchant's */
export async function lockDeviceRow(tx: Tx, merchantId: string, deviceId: string): Promise<LockedDeviceRow> {
  const [row] = await tx.$queryRaw<LockedDeviceRow[]>`
    SELECT id, branch_id, group_id, name, model, transport, base_url, state, state_reason, profile, close_at, terminal_id,
           draining_since,
           extract(epoch FROM now() - least(draining_since, CASE WHEN state = 'disabled' THEN state_since END))::float8
             AS resting_seconds
      FROM devices
     WHERE id = ${deviceId} AND merchant_id = ${merchantId} AND deleted_at IS NULL AND registered_at IS NOT NULL
       FOR UPDATE`;
  if (!row) throw notFound('device');
  return row;
}

/** What the trail keeps of a device: everything that a person set, and the state. */
export function auditedDevice(row: Omit<LockedDeviceRow, 'resting_seconds'>): Record<string, unknown> {
  const { branch_id, group_id, name, model, transport, base_url, state, state_reason, profile, close_at } = row;
  const since = row.draining_since?.toISOString() ?? null;
  return {
    ...{ branch_id, group_id, name, model, transport, base_url, state, state_reason, profile, close_at },
    ...{ terminal_id: row.terminal_id, draining_since: since },
  };
}

/** The state of a device whose register has just said which terminal it is, with its reason; the holder is notified. */
export async function claimedState(
  tx: Tx,
  terminalId: string,
  merchantId: string,
): Promise<[state: 'online' | 'claimed_elsewhere', reason: string | null]> {
  if ((await claimTerminal(tx, terminalId, merchantId)) === 'held') return ['online', null];
  await contestTerminal(tx, terminalId, newId('evt'));
  return ['claimed_elsewhere', claimedElsewhereReason(terminalId)];
}

/** Fails with SQLSTATE 23505 when a live device of the merchant has the terminal. */
export async function saveIntroduction(tx: Tx, deviceId: string, known: DeviceIntroduction): Promise<number> {
  const { terminalId, journalId, capabilities, subscriptionExpiresAt, business, reading } = known;
  return tx.$executeRaw`
    UPDATE devices
       SET terminal_id = ${terminalId}, journal_id = ${journalId}, capabilities = ${capabilities}::text[],
           subscription_expires_at = ${subscriptionExpiresAt}::timestamptz, business = ${JSON.stringify(business)}::jsonb,
           reading = CASE WHEN reading ->> 'terminalId' = ${terminalId} THEN reading
                          ELSE ${JSON.stringify(reading)}::jsonb END,
           reading_at = coalesce(reading_at, now()), last_seen_at = now(), poll_due_at = NULL
     WHERE id = ${deviceId} AND deleted_at IS NULL`;
}
