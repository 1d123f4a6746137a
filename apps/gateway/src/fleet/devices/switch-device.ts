import { Injectable } from '@nestjs/common';
import { RESTORED, type Prisma } from '#database';
import { claimedElsewhereReason, wakeLane, writeDeviceEvent } from '#ledger';
import { LaneBell } from '#queue';
import { Problem } from '#problems';
import { AuditedChange } from '../../audit/audited-change.js';
import type { Caller } from '../../audit/caller.js';
import { auditedDevice, lockDeviceRow, type LockedDeviceRow } from './device-rows.js';

export type DeviceSwitch = 'disable' | 'enable' | 'drain' | 'resume';

type Tx = Prisma.TransactionClient;

async function enabledState(
  tx: Tx,
  { id, transport, terminal_id: terminalId }: LockedDeviceRow,
): Promise<[string, string | null]> {
  // Disabling and enabling is no way round the proof.
  const [elsewhere] = await tx.$queryRaw<unknown[]>`
    SELECT 1 FROM terminals t JOIN devices d ON d.terminal_id = t.terminal_id AND d.merchant_id <> t.merchant_id
     WHERE d.id = ${id}`;
  if (elsewhere && terminalId !== null) return ['claimed_elsewhere', claimedElsewhereReason(terminalId)];
  if (await isHeldByRestore(tx, id)) return ['replaced', RESTORED];
  return terminalId === null && transport === 'link' ? ['unreachable', 'waiting for enrolment'] : ['online', null];
}

/** It was disabled already when a copy of the database was put back, and nothing has proven since that it registered nothing after the copy. */
async function isHeldByRestore(tx: Tx, deviceId: string): Promise<boolean> {
  const held = await tx.$queryRaw<unknown[]>`
    SELECT 1 FROM restore_checks c JOIN devices d ON d.id = c.device_id
     WHERE d.id = ${deviceId} AND c.attempt_id IS NULL AND c.verdict IS DISTINCT FROM 'absent' AND d.state_since < c.restored_at`;
  return held.length > 0;
}

/** POST /v1/devices/{id}/disable, enable, drain, resume. Doing it twice changes nothing more and is no error. */
@Injectable()
export class SwitchDevice {
  constructor(
    private readonly changes: AuditedChange,
    private readonly bell: LaneBell,
  ) {}

  /** @throws Problem 404; 409 device_replaced */
  async execute(caller: Caller, deviceId: string, what: DeviceSwitch): Promise<void> {
    await this.changes.execute(caller, async (tx) => {
      const row = await lockDeviceRow(tx, caller.merchantId, deviceId);
      await MOVES[what](tx, row);
      const after = auditedDevice(await lockDeviceRow(tx, caller.merchantId, deviceId));
      return { result: null, action: `device.${what}`, targetId: deviceId, before: auditedDevice(row), after };
    });
    if (what === 'enable') this.bell.ring(deviceId);
  }
}

const MOVES: Readonly<Record<DeviceSwitch, (tx: Tx, row: LockedDeviceRow) => Promise<void>>> = {
  /** Its lane stops: what is accepted waits, an open attempt stays open. */
  async disable(tx, row) {
    if (row.state === 'disabled') return;
    // Enabling it again would pass by the person who must check the other module.
    if (row.state === 'replaced')
      throw new Problem('device_replaced', 'Another module was found in it; it is stopped already, adopt it first.');
    await tx.$executeRaw`
      UPDATE devices SET state = 'disabled', state_reason = 'disabled by a person', state_since = now()
       WHERE id = ${row.id}`;
    await writeDeviceEvent(tx, row.id, 'disabled', 'disabled by a person');
  },

  /** No state is assumed: it reports itself whether it takes receipts, at once. One that never dialled in still has to. */
  async enable(tx, row) {
    if (row.state !== 'disabled') return;
    const [state, reason] = await enabledState(tx, row);
    await tx.$executeRaw`
      UPDATE devices SET state = ${state}::device_state, state_reason = ${reason}, state_since = now(), poll_due_at = NULL
       WHERE id = ${row.id}`;
    await wakeLane(tx, row.id);
    await writeDeviceEvent(tx, row.id, state, reason ?? 'enabled by a person');
  },

  async drain(tx, row) {
    await tx.$executeRaw`
      UPDATE devices SET draining_since = coalesce(draining_since, now()) WHERE id = ${row.id}`;
  },

  async resume(tx, row) {
    await tx.$executeRaw`UPDATE devices SET draining_since = NULL WHERE id = ${row.id}`;
  },
};
