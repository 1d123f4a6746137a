import type { Prisma } from '#database';
import {
  claimedElsewhereReason,
  forgetRegister,
  lockRestore,
  parkAttemptsOfTerminal,
  writeDeviceEvent,
  writeEvent,
} from '#ledger';

type Tx = Prisma.TransactionClient;

export type TerminalProof = 'challenge' | 'operator';

export interface TerminalMove {
  terminalId: string;
  toMerchantId: string;
  proof: TerminalProof;
}

export interface MovedTerminal {
  /** Who held it until now; null: no merchant, or this one. */
  from: { merchantId: string; heldSince: Date; proof: string } | null;
  /** Devices of the merchant that may send from now on. */
  awake: string[];
}

const WHY_PARKED =
  'the terminal was moved to another merchant: whether the module has the receipt cannot be asked from here';

/**
 * A merchant has proven that a fiscal module is its own, or the platform's operator has said so: the terminal works for it
 * from the commit on, and for no other. What keeps a registration from being doubled meanwhile is in
 * docs/adr/0064-terminals-of-merchants.md; it is done in this order:
 *
 * 1. the claim's row is locked: two who move the same terminal do it one after the other;
 * 2. open attempts on its devices become `unknown`: their register can no longer be asked in their merchant's name, and
 *    counters that another merchant moves would prove what is not true. An answer that is on its way still proves its receipt;
 * 3. devices of the merchant before stop, those of the new one begin anew: nothing that was known of their lanes holds, and a
 *    register without keys is settled first, because a request of the merchant before may still be asleep in it.
 */
export async function moveTerminal(tx: Tx, { terminalId, toMerchantId, proof }: TerminalMove): Promise<MovedTerminal> {
  await lockRestore(tx);
  await tx.$executeRaw`
    INSERT INTO terminals (terminal_id, merchant_id) VALUES (${terminalId}, ${toMerchantId}) ON CONFLICT DO NOTHING`;
  const [held] = await tx.$queryRaw<{ merchant_id: string; held_since: Date; proof: string }[]>`
    SELECT merchant_id, held_since, proof::text FROM terminals WHERE terminal_id = ${terminalId} FOR UPDATE`;
  if (!held) throw new Error(`the claim of terminal ${terminalId} is gone`);
  const isMoved = held.merchant_id !== toMerchantId;
  await tx.$executeRaw`
    UPDATE terminals SET merchant_id = ${toMerchantId}, proof = ${proof}::terminal_proof, contested_at = NULL,
                         held_since = CASE WHEN ${isMoved} THEN now() ELSE held_since END
     WHERE terminal_id = ${terminalId}`;
  if (isMoved) await parkAttemptsOfTerminal(tx, terminalId, WHY_PARKED);
  const lost = await stopDevices(tx, terminalId, toMerchantId);
  if (isMoved) await notifyLoser(tx, { terminalId, merchantId: held.merchant_id, deviceId: lost[0] ?? null, proof });
  const awake = await wakeDevices(tx, terminalId, { merchantId: toMerchantId, proof });
  await beginAnew(tx, terminalId, isMoved ? { merchantId: toMerchantId } : { deviceIds: awake });
  await tx.$executeRaw`DELETE FROM terminal_challenges WHERE device_id = ANY(${awake}::text[])`;
  const { merchant_id: merchantId, held_since: heldSince, proof: heldBy } = held;
  return { from: isMoved ? { merchantId, heldSince, proof: heldBy } : null, awake };
}

/** @returns the devices of other merchants that have the terminal; a disabled one is stopped already */
async function stopDevices(tx: Tx, terminalId: string, toMerchantId: string): Promise<string[]> {
  const rows = await tx.$queryRaw<{ id: string; state: string }[]>`
    SELECT id, state::text FROM devices
     WHERE terminal_id = ${terminalId} AND merchant_id <> ${toMerchantId} AND deleted_at IS NULL ORDER BY id FOR UPDATE`;
  const reason = claimedElsewhereReason(terminalId);
  for (const { id, state } of rows) {
    if (state === 'disabled' || state === 'claimed_elsewhere') continue;
    await tx.$executeRaw`
      UPDATE devices SET state = 'claimed_elsewhere', state_reason = ${reason}, state_since = now(), close_due_at = NULL,
                         resend_due_at = NULL
       WHERE id = ${id}`;
    await writeDeviceEvent(tx, id, 'claimed_elsewhere', reason);
  }
  return rows.map(({ id }) => id);
}

async function wakeDevices(
  tx: Tx,
  terminalId: string,
  { merchantId, proof }: { merchantId: string; proof: TerminalProof },
): Promise<string[]> {
  const reason =
    proof === 'challenge' ? 'the terminal was proven' : 'the terminal was given by the platform’s operator';
  const rows = await tx.$queryRaw<{ id: string }[]>`
    UPDATE devices SET state = 'online', state_reason = NULL, state_since = now(), poll_due_at = NULL
     WHERE terminal_id = ${terminalId} AND merchant_id = ${merchantId} AND deleted_at IS NULL
       AND state = 'claimed_elsewhere'
    RETURNING id`;
  for (const { id } of rows) await writeDeviceEvent(tx, id, 'online', reason);
  return rows.map(({ id }) => id);
}

/** Also a lane whose device is disabled, or was not found claimed yet: it goes on from here without another step. */
async function beginAnew(
  tx: Tx,
  terminalId: string,
  { merchantId = null, deviceIds = [] }: { merchantId?: string | null; deviceIds?: readonly string[] },
): Promise<void> {
  const rows = await tx.$queryRaw<{ id: string; journal_id: string | null }[]>`
    SELECT id, journal_id FROM devices
     WHERE terminal_id = ${terminalId} AND deleted_at IS NULL
       AND (merchant_id = ${merchantId} OR id = ANY(${[...deviceIds]}::text[])) ORDER BY id FOR UPDATE`;
  for (const { id, journal_id: journalId } of rows) await forgetRegister(tx, id, { mustSettle: journalId === null });
}

async function notifyLoser(
  tx: Tx,
  lost: { terminalId: string; merchantId: string; deviceId: string | null; proof: TerminalProof },
): Promise<void> {
  const { terminalId, merchantId, deviceId, proof } = lost;
  await writeEvent(tx, {
    merchantId,
    type: 'device.terminal_lost',
    subjectId: deviceId ?? terminalId,
    data: { device_id: deviceId, terminal_id: terminalId, proof },
  });
}
