import type { Prisma } from '#database';
import { Problem } from '#problems';
import type { Caller } from '../audit/caller.js';

export interface DeviceCommand {
  caller: Caller;
  deviceId: string;
  reason: string;
  /** What a person has compared, where many are decided at once. */
  evidence?: Evidence;
}

/** A file that a decision rests on: the OFD's list, a register's journal. */
export interface Evidence {
  file: string;
  sha256: string;
}

/** A device as it is before a decision about it, its row locked. */
export interface LockedDevice {
  state: string;
  state_reason: string | null;
  terminal_id: string | null;
  journal_id: string | null;
  baseline: unknown;
  open_attempt_id: string | null;
}

/** @throws Problem 404: missing, deleted or another merchant's */
export async function lockDevice(
  tx: Prisma.TransactionClient,
  merchantId: string,
  deviceId: string,
): Promise<LockedDevice> {
  const [device] = await tx.$queryRaw<Omit<LockedDevice, 'baseline' | 'open_attempt_id'>[]>`
    SELECT state, state_reason, terminal_id, journal_id FROM devices
     WHERE id = ${deviceId} AND merchant_id = ${merchantId} AND deleted_at IS NULL FOR UPDATE`;
  if (!device) throw new Problem('not_found', 'There is no device with this id.');
  const [lane] = await tx.$queryRaw<Pick<LockedDevice, 'baseline' | 'open_attempt_id'>[]>`
    SELECT baseline, lane_open_attempt(l.device_id) AS open_attempt_id
      FROM lanes l WHERE device_id = ${deviceId} FOR UPDATE OF l`;
  return { ...device, baseline: lane?.baseline ?? null, open_attempt_id: lane?.open_attempt_id ?? null };
}
