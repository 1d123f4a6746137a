import { claimTerminal, contestTerminal, isUniqueViolation, type PrismaService, type TerminalClaim } from '#database';
import type { Baseline, Calibration } from '#fiscal-domain';
import { newId } from '#runtime';
import { isHeld, jsonOrNull } from './lane-sql.js';
import type { DeviceStateName, IdentitySaved, LaneGrip } from './ports.js';

/** When a lane may be worked on next, what was last seen of its register, and what state its device is in. */
export class MoveLanes {
  constructor(
    private readonly prisma: PrismaService,
    private readonly relayId: string,
  ) {}

  async postpone(deviceId: string, wait: { afterMs: number; reason: string; failures: number }): Promise<void> {
    await this.prisma.$executeRaw`
      UPDATE lanes SET due_at = now() + make_interval(secs => ${wait.afterMs / 1_000}), due_reason = ${wait.reason},
                       failures = ${wait.failures}, settling_relay = NULL, settle_until = NULL, updated_at = now()
       WHERE device_id = ${deviceId}`;
  }

  async beginSettle(deviceId: string, afterMs: number, reason: string): Promise<void> {
    await this.prisma.$executeRaw`
      UPDATE lanes SET due_at = now() + make_interval(secs => ${afterMs / 1_000}), due_reason = ${reason},
                       settling_relay = ${this.relayId}, settle_until = now() + make_interval(secs => ${afterMs / 1_000}),
                       updated_at = now()
       WHERE device_id = ${deviceId}`;
  }

  async endSettle(deviceId: string, baseline: Baseline, grip: LaneGrip): Promise<void> {
    await this.prisma.$executeRaw`
      UPDATE lanes SET baseline = ${JSON.stringify(baseline)}::jsonb, last_known = NULL, must_settle = false,
                       settling_relay = NULL, settle_until = NULL, due_at = NULL, due_reason = NULL, updated_at = now()
       WHERE device_id = ${deviceId} AND ${isHeld(grip)}`;
  }

  async saveReading(deviceId: string, baseline: Baseline, calibration: Calibration | null): Promise<void> {
    await this.prisma.$executeRaw`
      UPDATE lanes SET baseline = ${JSON.stringify(baseline)}::jsonb, last_known = NULL,
                       calibration = ${jsonOrNull(calibration)}::jsonb, updated_at = now()
       WHERE device_id = ${deviceId}`;
  }

  async markShared(deviceId: string, reason: string): Promise<void> {
    await this.prisma.$executeRaw`
      WITH moved AS (
        UPDATE devices SET profile = profile || '{"sharing": "shared"}'::jsonb
         WHERE id = ${deviceId} AND profile ->> 'sharing' = 'exclusive'
        RETURNING id, merchant_id
      )
      INSERT INTO events (id, merchant_id, type, subject_id, data)
      SELECT ${newId('evt')}, merchant_id, 'device.shared', id, jsonb_build_object('device_id', id, 'reason', ${reason}::text)
        FROM moved`;
  }

  async setDeviceState(deviceId: string, state: DeviceStateName, reason: string | null): Promise<void> {
    await this.prisma.$executeRaw`
      WITH moved AS (
        UPDATE devices SET state = ${state}::device_state, state_reason = ${reason}, state_since = now(),
                           last_seen_at = CASE WHEN ${state} = 'unreachable' THEN last_seen_at ELSE now() END
         WHERE id = ${deviceId} AND state <> ${state}::device_state AND state NOT IN ('disabled', 'replaced', 'claimed_elsewhere')
           AND NOT (state = 'degraded' AND ${state} = 'online')
        RETURNING id, merchant_id
      )
      INSERT INTO events (id, merchant_id, type, subject_id, data)
      SELECT ${newId('evt')}, merchant_id, 'device.' || ${state}, id, jsonb_build_object('device_id', id, 'reason', ${reason}::text)
        FROM moved`;
  }

  async saveIdentity(deviceId: string, baseline: Baseline, capabilities: readonly string[]): Promise<IdentitySaved> {
    const { terminalId } = baseline;
    if (terminalId !== null && (await this.claim(deviceId, terminalId)) === 'elsewhere') return 'claimed_elsewhere';
    try {
      await this.prisma.$executeRaw`
        WITH lane AS (
          UPDATE lanes SET baseline = ${JSON.stringify(baseline)}::jsonb, updated_at = now()
           WHERE device_id = ${deviceId} AND ${baseline.journalId}::text IS NOT NULL
        )
        UPDATE devices SET terminal_id = ${baseline.terminalId}, journal_id = ${baseline.journalId},
                           capabilities = ${[...capabilities]}::text[], last_seen_at = now()
         WHERE id = ${deviceId}`;
      return 'saved';
    } catch (error) {
      // devices_one_live_per_terminal_of_merchant
      if (isUniqueViolation(error)) return 'terminal_taken';
      throw error;
    }
  }

  /** A device that is claimed elsewhere keeps the terminal that it says it is: that is what has to be proven. */
  private async claim(deviceId: string, terminalId: string): Promise<TerminalClaim> {
    const [device] = await this.prisma.$queryRaw<{ merchant_id: string }[]>`
      SELECT merchant_id FROM devices WHERE id = ${deviceId}`;
    if (!device) return 'held';
    const claim = await claimTerminal(this.prisma, terminalId, device.merchant_id);
    if (claim === 'held') return claim;
    await contestTerminal(this.prisma, terminalId, newId('evt'));
    await this.prisma.$executeRaw`
      UPDATE devices d SET terminal_id = ${terminalId}
       WHERE id = ${deviceId} AND terminal_id IS NULL
         AND NOT EXISTS (SELECT FROM devices other WHERE other.terminal_id = ${terminalId} AND other.deleted_at IS NULL
                            AND other.merchant_id = d.merchant_id)`;
    return claim;
  }
}
