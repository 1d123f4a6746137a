import { isUniqueViolation, type DeviceIntroduction, type PrismaService } from '#database';
import {
  claimedElsewhereReason,
  claimTerminal,
  contestTerminal,
  deviceEvents,
  settleFirstWhereProven,
  wakeLane,
} from '#ledger';
import { newId } from '#runtime';
import { laneDeviceOf, linkKeyInForce, type LaneDeviceRow } from '../devices/lane-device.js';
import type { LaneDevice } from '../devices/register.js';

/** A device before it is asked who it is. */
export interface DeviceToInspect {
  device: LaneDevice;
  /** Null: never known. */
  terminalId: string | null;
  merchantTin: string;
  /** By the database's clock. */
  readAt: Date;
}

interface InspectRow extends LaneDeviceRow {
  terminal_id: string | null;
  tin: string;
  now: Date;
}

export class InspectionRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** Null: there is no such device any more. */
  async read(deviceId: string): Promise<DeviceToInspect | null> {
    const [row] = await this.prisma.$queryRaw<InspectRow[]>`
      SELECT d.merchant_id, d.state, d.base_url, d.api_key_sealed, d.profile, d.terminal_id, m.tin, now() AS now,
             ${linkKeyInForce('d')}
        FROM devices d JOIN merchants m ON m.id = d.merchant_id WHERE d.id = ${deviceId} AND d.deleted_at IS NULL`;
    if (!row) return null;
    return {
      device: laneDeviceOf(deviceId, row),
      terminalId: row.terminal_id,
      merchantTin: row.tin,
      readAt: row.now,
    };
  }

  /** By another live device of the merchant. */
  async isTerminalTaken(terminalId: string, byOtherThan: string): Promise<boolean> {
    const rows = await this.prisma.$queryRaw<{ id: string }[]>`
      SELECT other.id FROM devices d JOIN devices other ON other.merchant_id = d.merchant_id AND other.id <> d.id
       WHERE d.id = ${byOtherThan} AND other.terminal_id = ${terminalId} AND other.deleted_at IS NULL`;
    return rows.length > 0;
  }

  /**
   * What a device that waited for its link has stated about itself; it may take receipts now. A terminal that was another
   * merchant's is settled first where there are no keys. Of two relays that asked it at the same time the first is right: the other one
   * changes nothing and announces nothing.
   */
  async admit(
    { id: deviceId, merchantId }: { id: string; merchantId: string },
    known: DeviceIntroduction,
  ): Promise<'admitted' | 'terminal_taken' | 'claimed_elsewhere'> {
    const { terminalId, journalId, capabilities, subscriptionExpiresAt, business, reading } = known;
    const claim = await claimTerminal(this.prisma, terminalId, merchantId);
    const [state, reason]: [string, string | null] =
      claim === 'held' ? ['online', null] : ['claimed_elsewhere', claimedElsewhereReason(terminalId)];
    try {
      if (claim === 'elsewhere') await contestTerminal(this.prisma, terminalId, newId('evt'));
      await this.prisma.$executeRaw`
        WITH moved AS (
          UPDATE devices
             SET terminal_id = ${terminalId}, journal_id = ${journalId}, capabilities = ${capabilities}::text[],
                 subscription_expires_at = ${subscriptionExpiresAt}::timestamptz,
                 business = ${JSON.stringify(business)}::jsonb, reading = ${JSON.stringify(reading)}::jsonb,
                 reading_at = now(), last_seen_at = now(), state = ${state}::device_state, state_reason = ${reason},
                 state_since = now()
           WHERE id = ${deviceId} AND terminal_id IS NULL AND deleted_at IS NULL AND state NOT IN ('disabled', 'replaced')
          RETURNING id, merchant_id
        ), lane AS (${settleFirstWhereProven({ terminalId, journalId })})
        ${deviceEvents(state, reason)}`;
      // What waits there has waited for this.
      if (claim === 'held') await wakeLane(this.prisma, deviceId);
      return claim === 'held' ? 'admitted' : 'claimed_elsewhere';
    } catch (error) {
      // devices_one_live_per_terminal_of_merchant: another device of the merchant was faster.
      if (isUniqueViolation(error)) return 'terminal_taken';
      throw error;
    }
  }

  /** The device stays known and takes nothing: an operator mends it and enrols it anew. */
  async refuse(deviceId: string, reason: string): Promise<void> {
    await this.prisma.$executeRaw`
      WITH moved AS (
        UPDATE devices SET state = 'blocked', state_reason = ${reason}, state_since = now()
         WHERE id = ${deviceId} AND deleted_at IS NULL AND state NOT IN ('disabled', 'replaced', 'blocked')
        RETURNING id, merchant_id
      )
      ${deviceEvents('blocked', reason)}`;
  }
}
