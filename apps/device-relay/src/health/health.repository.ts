import { Prisma, type DeviceBusiness, type DeviceReading, type PrismaService } from '#database';
import { OFD_FUSE_MS, storableJson, type Baseline } from '#fiscal-domain';
import { firstOfdDeadline, insertEvents, wakeLanes } from '#ledger';
import { newId } from '#runtime';
import { databaseNow, type SqlNow } from '../database-now.js';
import { laneDeviceOf, linkKeyInForce, type LaneDeviceRow } from '../devices/lane-device.js';
import type { DeviceStateName, LaneDevice } from '../devices/register.js';
import type { KnownState } from './device-state.js';

/** A device that this relay polls now. */
export interface ClaimedPoll {
  device: LaneDevice;
  known: KnownState;
  /** As read with the claim: what was decided is written only while they stand. */
  stateSince: string;
  terminalId: string | null;
  journalId: string | null;
  baseline: Baseline | null;
  reading: DeviceReading | null;
  hasBusiness: boolean;
  failures: number;
  closeAt: string | null;
  merchantSettings: unknown;
  /** When the oldest receipt of the gateway that waits for the OFD there was registered. */
  oldestPendingMs: number | null;
  /** By the database's clock. */
  claimedAt: Date;
}

export interface PollOutcome {
  claimed: ClaimedPoll;
  decided: KnownState;
  /** It gave an answer, be it a refusal. */
  hasAnswered: boolean;
  /** It answers over its link, and it is not known who it is: that is asked before it counts as well. */
  isToBeAdmitted: boolean;
  /** Why there was no answer. */
  silence: string | null;
  /** Null: it reported no counters; what was known stands. */
  reading: DeviceReading | null;
  business: DeviceBusiness | null;
  /** What it announces; null: it was not seen. */
  capabilities: readonly string[] | null;
  subscriptionExpiresAt: Date | null;
  closeDueMs: number | null;
  failures: number;
  nextMs: number;
}

export interface PollWritten {
  deviceId: string;
  state: DeviceStateName;
  reason: string | null;
  /** It can take receipts again: its lane is due at once. */
  isBack: boolean;
}

interface ClaimRow extends LaneDeviceRow {
  id: string;
  state_reason: string | null;
  state_since: string;
  terminal_id: string | null;
  journal_id: string | null;
  baseline: Baseline | null;
  reading: DeviceReading | null;
  has_business: boolean;
  poll_failures: number;
  close_at: string | null;
  settings: unknown;
  oldest_deadline_at: Date | null;
  claimed_at: Date;
}

/**
 * By CASE: behind a policy the planner may not use statistics for a comparison of states, and would take a fleet that is all online for
 * one of which nearly none is not disabled (docs/adr/0193-rare-values.md).
 */
const POLLED = Prisma.sql`
  deleted_at IS NULL AND registered_at IS NOT NULL AND CASE state WHEN 'disabled' THEN false ELSE true END`;

/** From so many due polls on none comes early. */
const FEW = 10;
/** In the text and not a value: a kept plan takes a value for a tenth of the table. */
const MANY_FROM = Prisma.raw(String(FEW - 1));

const WOKEN = wakeLanes(Prisma.raw('written'));
const NOTED = insertEvents(Prisma.sql`
        SELECT event_id, merchant_id, 'device.' || state::text, id,
               jsonb_build_object('device_id', id, 'from', before::text, 'reason', state_reason)
          FROM written WHERE state <> before
        UNION ALL
        SELECT classifier_event_id, merchant_id,
               CASE WHEN is_old THEN 'device.classifier_old' ELSE 'device.classifier_current' END, id,
               jsonb_build_object('device_id', id, 'classifier_version', reading->'classifierVersion',
                                  'newest_version', (SELECT version FROM newest))
          FROM written WHERE is_old IS DISTINCT FROM coalesce(was_old, false) AND is_old IS NOT NULL`);

/** The rows of the health polls. Due times and leases are on the database's clock: `devices.poll_due_at`. */
export class HealthRepository {
  constructor(
    private readonly prisma: PrismaService,
    private readonly now: SqlNow = databaseNow,
  ) {}

  /**
   * Takes devices whose poll is due: those that were never polled, or else the longest due. Where these are few, others come along that
   * would be due soon, so that a small fleet is not taken and written one by one. Two relays never take the same one; a relay that dies
   * gives its devices back when the lease is over.
   * @param leaseMs a lease is a due time: it has to be longer by `earlyMs` than the work, and all relays say the same
   */
  async claimDue(limit: number, leaseMs: number, earlyMs = 0): Promise<ClaimedPoll[]> {
    const isNew = Prisma.sql`${POLLED} AND poll_due_at IS NULL`;
    const isDue = Prisma.sql`${POLLED} AND poll_due_at <= ${this.now()}`;
    // By the index, however many are due.
    const which = await this.prisma.ask<'new' | 'many' | 'few' | null>(Prisma.sql`
      SELECT CASE WHEN EXISTS (SELECT FROM devices WHERE ${isNew}) THEN 'new'
                  WHEN EXISTS (SELECT FROM devices WHERE ${isDue} ORDER BY poll_due_at OFFSET ${MANY_FROM}) THEN 'many'
                  WHEN EXISTS (SELECT FROM devices WHERE ${isDue}) THEN 'few' END`);
    if (which === null) return [];
    // By itself: in one statement, what is due would all be sorted to begin with those that have no due time.
    if (which === 'new') {
      const unknown = await this.claim(
        Prisma.sql`SELECT id FROM devices WHERE ${isNew} LIMIT ${limit} FOR NO KEY UPDATE SKIP LOCKED`,
        leaseMs,
      );
      if (unknown.length > 0) return unknown;
    }
    const isFew = which === 'few';
    // A register that did not answer the last time has the whole pause to answer again: none of them comes early.
    const isMeant = isFew
      ? Prisma.sql`${POLLED} AND poll_due_at <= ${this.now()} + make_interval(secs => ${earlyMs / 1_000})
                   AND (poll_failures = 0 OR poll_due_at <= ${this.now()})`
      : isDue;
    return this.claim(
      Prisma.sql`
        SELECT id FROM devices WHERE ${isMeant} ORDER BY poll_due_at
         LIMIT ${isFew ? Math.min(FEW, limit) : limit} FOR NO KEY UPDATE SKIP LOCKED`,
      leaseMs,
    );
  }

  /** One device, due or not; null = there is none. */
  async claimOne(deviceId: string, leaseMs: number): Promise<ClaimedPoll | null> {
    const [claimed] = await this.claim(
      Prisma.sql`SELECT id FROM devices WHERE id = ${deviceId} AND deleted_at IS NULL FOR NO KEY UPDATE`,
      leaseMs,
    );
    return claimed ?? null;
  }

  private async claim(due: Prisma.Sql, leaseMs: number): Promise<ClaimedPoll[]> {
    const rows = await this.prisma.$queryRaw<ClaimRow[]>`
      WITH due AS (${due}), claimed AS (
        UPDATE devices d SET poll_due_at = ${this.now()} + make_interval(secs => ${leaseMs / 1_000})
          FROM due WHERE d.id = due.id
        RETURNING d.*
      )
      SELECT c.id, c.merchant_id, c.state, c.state_reason, c.state_since::text, c.base_url, c.api_key_sealed, c.profile,
             ${linkKeyInForce('c')},
             c.terminal_id, c.journal_id, l.baseline, c.reading, c.business IS NOT NULL AS has_business, c.poll_failures,
             c.close_at, m.settings,
             ${firstOfdDeadline(Prisma.sql`c.id`)} AS oldest_deadline_at,
             ${this.now()}::timestamptz AS claimed_at
        FROM claimed c JOIN merchants m ON m.id = c.merchant_id LEFT JOIN lanes l ON l.device_id = c.id`;
    return rows.map(claimedOf);
  }

  /**
   * Writes what polls found, all in one statement, with the event of each change of state. A state that another writer has
   * moved since the claim (the lane, an operator, another terminal taken over) is left as it was set. A register whose
   * classification is older than the gateway's is reported once, and once more when it has caught up.
   */
  async record(outcomes: readonly PollOutcome[]): Promise<PollWritten[]> {
    const rows = await this.prisma.$queryRaw<
      { id: string; state: DeviceStateName; state_reason: string | null; is_back: boolean }[]
    >`
      WITH seen AS (
        SELECT * FROM jsonb_to_recordset(${storableJson(JSON.stringify(outcomes.map(seenOf)))}::jsonb) AS r(
          id text, was text, was_since text, terminal_was text, journal_was text, state text, reason text, has_answered boolean,
          reading jsonb, business jsonb, capabilities text[], subscription_expires_at timestamptz, close_due_at timestamptz, owes boolean,
          failures int, next_ms float8, event_id text, classifier_event_id text)
      ), newest AS MATERIALIZED (
        SELECT max(version) AS version FROM classifier_entries
      ), found AS (
        SELECT d.id, d.state AS before, d.classifier_is_old AS was_old,
               (r.reading->>'classifierVersion')::bigint < (SELECT version FROM newest) AS is_old,
               d.state::text = r.was AND d.state_since::text = r.was_since
                 AND d.terminal_id IS NOT DISTINCT FROM r.terminal_was
                 AND d.journal_id IS NOT DISTINCT FROM r.journal_was AS is_as_claimed
          FROM devices d JOIN seen r ON r.id = d.id ORDER BY d.id FOR NO KEY UPDATE OF d
      ), written AS (
        UPDATE devices d
           SET state = CASE WHEN f.is_as_claimed THEN r.state::device_state ELSE d.state END,
               state_reason = CASE WHEN f.is_as_claimed THEN r.reason ELSE d.state_reason END,
               state_since = CASE WHEN f.is_as_claimed AND r.state <> r.was THEN ${this.now()} ELSE d.state_since END,
               reading = coalesce(r.reading, d.reading),
               reading_at = CASE WHEN r.reading IS NULL THEN d.reading_at ELSE ${this.now()} END,
               classifier_is_old = CASE WHEN r.reading IS NULL THEN d.classifier_is_old ELSE f.is_old END,
               business = coalesce(r.business, d.business),
               capabilities = CASE WHEN f.is_as_claimed THEN coalesce(r.capabilities, d.capabilities) ELSE d.capabilities END,
               last_seen_at = CASE WHEN r.has_answered THEN ${this.now()} ELSE d.last_seen_at END,
               subscription_expires_at = coalesce(r.subscription_expires_at, d.subscription_expires_at),
               poll_failures = r.failures,
               poll_due_at = ${this.now()} + make_interval(secs => r.next_ms / 1000),
               close_due_at = CASE WHEN r.reading IS NULL THEN d.close_due_at ELSE r.close_due_at END,
               resend_due_at = CASE WHEN r.reading IS NULL THEN d.resend_due_at
                                    WHEN r.owes THEN coalesce(d.resend_due_at, ${this.now()}) END
          FROM found f JOIN seen r ON r.id = f.id WHERE d.id = f.id
        RETURNING d.id, d.merchant_id, d.state, d.state_reason, f.before, r.event_id, r.classifier_event_id, r.reading,
                  f.was_old, f.is_old,
                  f.before IN ('unreachable', 'blocked', 'expired') AND d.state IN ('online', 'degraded') AS is_back
      ), woken AS (${WOKEN}), noted AS (${NOTED})
      SELECT id, state, state_reason, is_back FROM written`;
    return rows.map((row) => ({
      deviceId: row.id,
      state: row.state,
      reason: row.state_reason,
      isBack: row.is_back,
    }));
  }
}

function claimedOf(row: ClaimRow): ClaimedPoll {
  return {
    device: laneDeviceOf(row.id, row),
    known: { state: row.state, reason: row.state_reason },
    stateSince: row.state_since,
    terminalId: row.terminal_id,
    journalId: row.journal_id,
    baseline: row.baseline,
    reading: row.reading,
    hasBusiness: row.has_business,
    failures: row.poll_failures,
    closeAt: row.close_at,
    merchantSettings: row.settings,
    oldestPendingMs: row.oldest_deadline_at && row.oldest_deadline_at.getTime() - OFD_FUSE_MS,
    claimedAt: row.claimed_at,
  };
}

function seenOf({ claimed, decided, reading, ...rest }: PollOutcome): Record<string, unknown> {
  return {
    id: claimed.device.id,
    was: claimed.known.state,
    was_since: claimed.stateSince,
    terminal_was: claimed.terminalId,
    journal_was: claimed.journalId,
    state: decided.state,
    reason: decided.reason,
    has_answered: rest.hasAnswered,
    reading,
    business: rest.business,
    capabilities: rest.capabilities,
    subscription_expires_at: rest.subscriptionExpiresAt,
    close_due_at: rest.closeDueMs === null ? null : new Date(rest.closeDueMs),
    owes: reading !== null && (reading.unsentReceipts > 0 || reading.unsentZReports > 0),
    failures: rest.failures,
    next_ms: rest.nextMs,
    event_id: newId('evt'),
    classifier_event_id: newId('evt'),
  };
}
