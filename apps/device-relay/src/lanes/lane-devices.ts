import { isUniqueViolation, Prisma, type PrismaService } from '#database';
import type { Baseline } from '#fiscal-domain';
import {
  baselineOf,
  claimTerminal,
  contestTerminal,
  deviceEvents,
  holdBackUnproven,
  isMetBy,
  knowsRegister,
  lockLane,
  noteMet,
  type Statements,
  type TerminalClaim,
} from '#ledger';
import { newId } from '#runtime';
import type { DeviceStateName } from '../devices/register.js';
import type { IdentitySaved } from './ports.js';

/** Decided while nothing was known of the register: its keys are not those that the decision relies on. */
const HELD_BACK =
  'its lane has met its register only now: whether the one before has it cannot be asked there, please decide once more';

/** For how long a lane may meet its register, with all that waits in it. */
const MEETING_MS = 30_000;

interface Identity {
  deviceId: string;
  baseline: Baseline;
  capabilities: readonly string[];
}

/** What a lane's work finds out about its device. */
export class LaneDevices {
  /** @param meeting where a lane meets its register, which reads all that waits there: longer than a sale may take */
  constructor(
    private readonly prisma: PrismaService,
    private readonly meeting: PrismaService,
  ) {}

  async markShared(deviceId: string, reason: string): Promise<void> {
    await this.prisma.$executeRaw`
      WITH moved AS (
        UPDATE devices SET profile = profile || '{"sharing": "shared"}'::jsonb
         WHERE id = ${deviceId} AND profile ->> 'sharing' = 'exclusive'
        RETURNING id, merchant_id
      )
      ${deviceEvents('shared', reason)}`;
  }

  async setState(deviceId: string, state: DeviceStateName, reason: string | null): Promise<void> {
    await this.prisma.$executeRaw`
      WITH moved AS (
        UPDATE devices SET state = ${state}::device_state, state_reason = ${reason}, state_since = now(),
                           last_seen_at = CASE WHEN ${state} = 'unreachable' THEN last_seen_at ELSE now() END
         WHERE id = ${deviceId} AND state <> ${state}::device_state AND state NOT IN ('disabled', 'replaced', 'claimed_elsewhere')
           AND NOT (state = 'degraded' AND ${state} = 'online')
        RETURNING id, merchant_id
      )
      ${deviceEvents(state, reason)}`;
  }

  async saveIdentity(deviceId: string, baseline: Baseline, capabilities: readonly string[]): Promise<IdentitySaved> {
    const { terminalId } = baseline;
    if (terminalId !== null && (await this.claim(deviceId, terminalId)) === 'elsewhere') return 'claimed_elsewhere';
    const identity = { deviceId, baseline, capabilities };
    try {
      if ((await writeIdentity(this.prisma, identity, knowsRegister(deviceId))) === 0) await this.meetFirst(identity);
      return 'saved';
    } catch (error) {
      // devices_one_live_per_terminal_of_merchant
      if (isUniqueViolation(error)) return 'terminal_taken';
      throw error;
    }
  }

  /** Mostly one without keys, of which nothing is known but who it is. */
  private async meetFirst(identity: Identity): Promise<void> {
    const { deviceId, baseline } = identity;
    if ((await writeIdentity(this.meeting, identity, isMetBy(deviceId, baseline))) === 0) await this.meet(identity);
  }

  /**
   * A register of which the lane knows nothing: the first one, or a module that was adopted. Between the adoption and this moment a person may have
   * had a receipt sent again, relying on keys, and the register may have been exchanged once more.
   */
  private async meet(identity: Identity): Promise<void> {
    const { deviceId, baseline } = identity;
    const meet = async (tx: Prisma.TransactionClient): Promise<void> => {
      await lockLane(tx, deviceId);
      const isNew = (await writeIdentity(tx, identity, isMetBy(deviceId, baseline))) === 0;
      if (!isNew) return;
      await writeIdentity(tx, identity, Prisma.sql`true`);
      const keyedOnly = baseline.journalId === null;
      await holdBackUnproven(tx, deviceId, HELD_BACK, { keyedOnly });
      // One without keys is not known by what it says of itself: what is decided from now on would be held back again.
      if (keyedOnly) await noteMet(tx, deviceId, baseline);
    };
    await this.meeting.$transaction(meet, { timeout: MEETING_MS });
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

/** @returns 0: not under this condition, or there is no such device */
function writeIdentity(
  database: Statements,
  { deviceId, baseline, capabilities }: Identity,
  isMet: Prisma.Sql,
): Promise<number> {
  return database.$executeRaw`
    WITH met AS MATERIALIZED (SELECT ${isMet} AS is_met),
         lane AS (${baselineOf(deviceId, baseline, Prisma.sql`(SELECT is_met FROM met)`)})
    UPDATE devices SET terminal_id = ${baseline.terminalId}, journal_id = ${baseline.journalId},
                       capabilities = ${[...capabilities]}::text[], last_seen_at = now()
     WHERE id = ${deviceId} AND (SELECT is_met FROM met)`;
}
