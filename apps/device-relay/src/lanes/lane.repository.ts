import { Injectable } from '@nestjs/common';
import { Prisma, PrismaService, UNPROVEN_ATTEMPT, type StoredReceiptDocument } from '#database';
import type { Baseline, Calibration, Registration, Rejection } from '#fiscal-domain';
import { newId } from '#runtime';
import { readProfile } from '../devices/device-profile.js';
import type {
  AttemptEvidence,
  CloseRegistered,
  DeviceStateName,
  Intent,
  LaneGrip,
  LaneSnapshot,
  LaneStore,
  LastKnown,
  LateAnswer,
  OpenAttempt,
  WaitingReceipt,
} from './ports.js';
import { LANE_LOCK_SPACE } from './advisory-lane-locks.js';

/** How long others keep off after the settle time of a relay that may only be late. */
const SETTLE_GRACE_SECONDS = 10;
/** Registration + 48 h: the fuse after which a fiscal module refuses to go on (facts: fiscal.md, delivery). */
const OFD_FUSE_HOURS = 48;

interface SnapshotRow {
  merchant_id: string;
  state: DeviceStateName;
  base_url: string | null;
  api_key_sealed: Uint8Array;
  profile: unknown;
  baseline: Baseline | null;
  last_known: LastKnown | null;
  calibration: Calibration | null;
  must_settle: boolean;
  failures: number;
  wait_ms: number;
  attempt: AttemptRow | null;
  waiting: WaitingReceipt[] | null;
}

interface AttemptRow {
  id: string;
  receipt_id: string;
  baseline: Baseline;
  request_hex: string;
  document: StoredReceiptDocument;
  created_ms: number;
  age_ms: number;
  refused_ago_ms: number | null;
}

/** The lane's rows. Every move is one conditional statement: it happens from the expected state or not at all. */
@Injectable()
export class LaneRepository implements LaneStore {
  private readonly lockNumbers = new Map<string, number>();

  constructor(
    private readonly prisma: PrismaService,
    private readonly relayId: string,
  ) {}

  /** Kept in memory: a lane's number never changes. */
  async lockNumberOf(deviceId: string): Promise<number | null> {
    const known = this.lockNumbers.get(deviceId);
    if (known !== undefined) return known;
    const [row] = await this.prisma.$queryRaw<{ lock_number: number }[]>`
      SELECT lock_number FROM lanes WHERE device_id = ${deviceId}`;
    if (!row) return null;
    this.lockNumbers.set(deviceId, row.lock_number);
    return row.lock_number;
  }

  async read(deviceId: string, receipts: number): Promise<LaneSnapshot | null> {
    const [row] = await this.prisma.$queryRaw<SnapshotRow[]>`
      SELECT d.merchant_id, d.state, d.base_url, d.api_key_sealed, d.profile, l.baseline, l.last_known, l.calibration,
             l.must_settle, l.failures,
             extract(epoch FROM greatest(
               coalesce(l.due_at - now(), interval '0'), interval '0',
               CASE WHEN l.settling_relay <> ${this.relayId}
                    THEN l.settle_until - now() + make_interval(secs => ${SETTLE_GRACE_SECONDS}) END
             ))::float8 * 1000 AS wait_ms,
             (SELECT jsonb_build_object(
                       'id', a.id, 'receipt_id', a.receipt_id, 'baseline', a.baseline,
                       'request_hex', encode(a.request, 'hex'), 'document', r.document,
                       'created_ms', extract(epoch FROM a.created_at) * 1000,
                       'age_ms', extract(epoch FROM now() - a.created_at) * 1000,
                       'refused_ago_ms', CASE WHEN a.outcome ->> 'refused_to' = ${this.relayId} THEN
                         extract(epoch FROM now() - (a.outcome ->> 'refused_at')::timestamptz) * 1000 END)
                FROM attempts a JOIN receipts r ON r.id = a.receipt_id
               WHERE a.device_id = d.id AND a.state = 'open') AS attempt,
             (SELECT jsonb_agg(jsonb_build_object('id', w.id, 'document', w.document, 'mayBeRegistered', EXISTS (
                                SELECT FROM attempts a WHERE a.receipt_id = w.id AND ${UNPROVEN_ATTEMPT})) ORDER BY w.lane_place)
                FROM (SELECT id, document, lane_place FROM receipts
                       WHERE device_id = d.id AND status = 'accepted'
                       ORDER BY lane_place LIMIT ${receipts}) w) AS waiting
        FROM devices d JOIN lanes l ON l.device_id = d.id
       WHERE d.id = ${deviceId}`;
    if (!row) return null;
    return {
      device: {
        id: deviceId,
        merchantId: row.merchant_id,
        state: row.state,
        baseUrl: row.base_url,
        apiKeySealed: Buffer.from(row.api_key_sealed),
        profile: readProfile(row.profile),
      },
      baseline: row.baseline,
      lastKnown: row.last_known,
      calibration: row.calibration,
      mustSettle: row.must_settle,
      failures: row.failures,
      waitMs: Math.ceil(row.wait_ms),
      openAttempt: row.attempt && openAttemptOf(row.attempt),
      waiting: row.waiting ?? [],
    };
  }

  async openAttempt(intent: Intent): Promise<'opened' | 'withdrawn' | 'lane_occupied'> {
    try {
      const opened = await this.prisma.$executeRaw`
        WITH moved AS (
          UPDATE receipts r SET status = 'sending', updated_at = now()
           WHERE id = ${intent.receiptId} AND device_id = ${intent.deviceId} AND status = 'accepted'
             AND (dispatch_before IS NULL OR dispatch_before > now())
             AND NOT EXISTS (SELECT FROM receipts before WHERE before.device_id = ${intent.deviceId}
                                AND before.status = 'accepted' AND before.lane_place < r.lane_place)
          RETURNING id
        ), held AS (
          UPDATE receipts SET status = 'cancelled', updated_at = now()
           WHERE id = ${intent.receiptId} AND device_id = ${intent.deviceId} AND status = 'accepted'
             AND dispatch_before <= now()
          RETURNING id, merchant_id, type
        ), told AS (
          INSERT INTO events (id, merchant_id, type, subject_id, data)
          SELECT ${newId('evt')}, merchant_id, CASE type WHEN 'refund' THEN 'refund' ELSE 'receipt' END || '.cancelled', id,
                 jsonb_build_object('receipt_id', id, 'reason', 'the payment hold ran out')
            FROM held
        )
        INSERT INTO attempts (id, receipt_id, device_id, number, state, baseline, request, relay_id)
        SELECT ${intent.attemptId}, id, ${intent.deviceId},
               1 + (SELECT coalesce(max(number), 0) FROM attempts a WHERE a.receipt_id = moved.id),
               'open', ${JSON.stringify(intent.baseline)}::jsonb, ${intent.request}, ${this.relayId}
          FROM moved`;
      return opened === 1 ? 'opened' : 'withdrawn';
    } catch (error) {
      // attempts_one_open_per_device: the statement was rolled back whole, the receipt is still accepted.
      if (isUniqueViolation(error)) return 'lane_occupied';
      throw error;
    }
  }

  async closeRegistered(close: CloseRegistered): Promise<'closed' | 'already_closed' | 'sequence_taken'> {
    try {
      return (await this.moveToRegistered(close)) ? 'closed' : 'already_closed';
    } catch (error) {
      // receipts_one_per_registration: rolled back whole, the attempt is still open.
      if (isUniqueViolation(error)) return 'sequence_taken';
      throw error;
    }
  }

  private async moveToRegistered(close: CloseRegistered): Promise<boolean> {
    const { attemptId, deviceId, registration, evidence, baseline, lastKnown } = close;
    const { terminalId, receiptSeq, fiscalSign, verificationUrl, ofdSent, ofdError } = registration;
    const registeredAt = new Date(registration.transactionTimeMs);
    const closed = await this.prisma.$queryRaw<{ id: string }[]>`
      WITH closed AS (
        UPDATE attempts SET state = 'registered', closed_at = now(), outcome = ${JSON.stringify({ registration, evidence })}::jsonb
         WHERE id = ${attemptId} AND state = 'open' RETURNING receipt_id
      ), moved AS (
        UPDATE receipts r
           SET status = 'registered', updated_at = now(), terminal_id = ${terminalId}, receipt_seq = ${receiptSeq},
               fiscal_sign = ${fiscalSign}, verification_url = ${verificationUrl}, registered_at = ${registeredAt},
               evidence = ${evidence}::evidence,
               ofd_status = CASE WHEN ${ofdSent} THEN 'sent' ELSE 'pending' END::ofd_status,
               ofd_deadline_at = ${registeredAt}::timestamptz + make_interval(hours => ${OFD_FUSE_HOURS}),
               ofd_sent_at = CASE WHEN ${ofdSent} THEN now() END, ofd_error = ${ofdError}
          FROM closed WHERE r.id = closed.receipt_id AND r.status = 'sending'
        RETURNING r.id, r.merchant_id, r.type
      ), lane AS (
        UPDATE lanes SET baseline = ${JSON.stringify(baseline)}::jsonb, last_known = ${jsonOrNull(lastKnown)}::jsonb,
                         failures = 0, due_at = NULL, due_reason = NULL, updated_at = now()
         WHERE device_id = ${deviceId} AND EXISTS (SELECT FROM moved)
      ), told AS (
        INSERT INTO events (id, merchant_id, type, subject_id, data)
        SELECT ${newId('evt')}, merchant_id, CASE type WHEN 'refund' THEN 'refund' ELSE 'receipt' END || '.registered', id,
               jsonb_build_object('receipt_id', id, 'terminal_id', ${terminalId}::text, 'receipt_seq', ${receiptSeq}::bigint,
                                  'fiscal_sign', ${fiscalSign}::text, 'evidence', ${evidence}::text)
          FROM moved
      )
      SELECT id FROM moved`;
    return closed.length === 1;
  }

  async closeRejected(
    attemptId: string,
    rejection: Rejection,
    evidence: AttemptEvidence,
    grip: LaneGrip,
  ): Promise<boolean> {
    const closed = await this.prisma.$queryRaw<{ id: string }[]>`
      WITH closed AS (
        UPDATE attempts SET state = 'rejected', closed_at = now(), outcome = ${JSON.stringify({ rejection, ...evidence })}::jsonb
         WHERE id = ${attemptId} AND state = 'open' AND ${isHeld(grip)} RETURNING receipt_id
      ), moved AS (
        UPDATE receipts r SET status = 'rejected', updated_at = now(), rejection = ${JSON.stringify(rejection)}::jsonb
          FROM closed WHERE r.id = closed.receipt_id AND r.status = 'sending'
        RETURNING r.id, r.merchant_id, r.type
      ), told AS (${this.receiptEvent('rejected', { rejection })})
      SELECT id FROM moved`;
    return closed.length === 1;
  }

  async closeNotRegistered(attemptId: string, evidence: AttemptEvidence, grip: LaneGrip): Promise<boolean> {
    const closed = await this.prisma.$queryRaw<{ id: string }[]>`
      WITH closed AS (
        UPDATE attempts SET state = 'not_registered', closed_at = now(), outcome = ${JSON.stringify(evidence)}::jsonb
         WHERE id = ${attemptId} AND state = 'open'
           AND ${isHeld(grip)}
        RETURNING receipt_id
      )
      UPDATE receipts r SET status = 'accepted', updated_at = now()
        FROM closed WHERE r.id = closed.receipt_id AND r.status = 'sending'
      RETURNING r.id`;
    return closed.length === 1;
  }

  async closeUnknown(attemptId: string, evidence: AttemptEvidence, options: { mustSettle: boolean }): Promise<boolean> {
    const closed = await this.prisma.$queryRaw<{ id: string }[]>`
      WITH closed AS (
        UPDATE attempts SET state = 'unknown', closed_at = now(), outcome = ${JSON.stringify(evidence)}::jsonb
         WHERE id = ${attemptId} AND state = 'open' RETURNING receipt_id, device_id
      ), lane AS (
        UPDATE lanes l SET must_settle = l.must_settle OR ${options.mustSettle}, updated_at = now()
          FROM closed WHERE l.device_id = closed.device_id
      ), moved AS (
        UPDATE receipts r SET status = 'unknown', updated_at = now()
          FROM closed WHERE r.id = closed.receipt_id AND r.status = 'sending'
        RETURNING r.id, r.merchant_id, r.type
      ), told AS (${this.receiptEvent('unknown', { attempt_id: attemptId, ...evidence })})
      SELECT id FROM moved`;
    return closed.length === 1;
  }

  async noteRefusal(attemptId: string, evidence: AttemptEvidence): Promise<void> {
    await this.prisma.$executeRaw`
      UPDATE attempts SET outcome = ${JSON.stringify(evidence)}::jsonb || jsonb_build_object('refused_at', now(), 'refused_to', ${this.relayId}::text)
       WHERE id = ${attemptId} AND state = 'open'`;
  }

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

  async recordLateAnswer(attemptId: string, registration: Registration): Promise<LateAnswer> {
    const { terminalId, receiptSeq, fiscalSign, verificationUrl } = registration;
    const [row] = await this.prisma.$queryRaw<{ late: LateAnswer }[]>`
      WITH attempt AS (
        SELECT receipt_id FROM attempts WHERE id = ${attemptId}
      ), completed AS (
        UPDATE receipts r SET fiscal_sign = coalesce(r.fiscal_sign, ${fiscalSign}),
                              verification_url = coalesce(r.verification_url, ${verificationUrl}), updated_at = now()
          FROM attempt WHERE r.id = attempt.receipt_id AND r.status = 'registered'
           AND r.terminal_id = ${terminalId} AND r.receipt_seq = ${receiptSeq}
        RETURNING r.id
      ), proved AS (
        UPDATE receipts r
           SET status = 'registered', updated_at = now(), terminal_id = ${terminalId}, receipt_seq = ${receiptSeq},
               fiscal_sign = ${fiscalSign}, verification_url = ${verificationUrl},
               registered_at = ${new Date(registration.transactionTimeMs)}, evidence = 'answer', ofd_status = 'pending',
               ofd_deadline_at = ${new Date(registration.transactionTimeMs)}::timestamptz + make_interval(hours => ${OFD_FUSE_HOURS})
          FROM attempt WHERE r.id = attempt.receipt_id AND r.status IN ('unknown', 'accepted')
        RETURNING r.id
      ), told AS (
        INSERT INTO events (id, merchant_id, type, subject_id, data)
        SELECT ${newId('evt')}, r.merchant_id,
               CASE WHEN EXISTS (SELECT FROM proved) THEN 'receipt.registered' ELSE 'receipt.duplicate_suspected' END, r.id,
               jsonb_build_object('receipt_id', r.id, 'terminal_id', ${terminalId}::text, 'receipt_seq', ${receiptSeq}::bigint,
                                  'fiscal_sign', ${fiscalSign}::text, 'evidence', 'answer')
          FROM receipts r JOIN attempt ON r.id = attempt.receipt_id WHERE NOT EXISTS (SELECT FROM completed)
      )
      SELECT CASE WHEN EXISTS (SELECT FROM completed) THEN 'same' WHEN EXISTS (SELECT FROM proved) THEN 'proved'
                  ELSE 'duplicate_suspected' END AS late`;
    return row?.late ?? 'duplicate_suspected';
  }

  async setDeviceState(deviceId: string, state: DeviceStateName, reason: string | null): Promise<void> {
    await this.prisma.$executeRaw`
      WITH moved AS (
        UPDATE devices SET state = ${state}::device_state, state_reason = ${reason},
                           last_seen_at = CASE WHEN ${state} = 'unreachable' THEN last_seen_at ELSE now() END
         WHERE id = ${deviceId} AND state <> ${state}::device_state AND state NOT IN ('disabled', 'replaced')
        RETURNING id, merchant_id
      )
      INSERT INTO events (id, merchant_id, type, subject_id, data)
      SELECT ${newId('evt')}, merchant_id, 'device.' || ${state}, id, jsonb_build_object('device_id', id, 'reason', ${reason}::text)
        FROM moved`;
  }

  async saveIdentity(
    deviceId: string,
    baseline: Baseline,
    capabilities: readonly string[],
  ): Promise<'saved' | 'terminal_taken'> {
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
      // devices_one_live_per_terminal
      if (isUniqueViolation(error)) return 'terminal_taken';
      throw error;
    }
  }

  /** Lanes that have work, have been due for a while and are in nobody's hands: the sweeper's question. */
  async overdueLanes(overdueMs: number, limit: number): Promise<string[]> {
    const rows = await this.prisma.$queryRaw<{ device_id: string }[]>`
      WITH RECURSIVE waiting AS (
        (SELECT device_id FROM receipts WHERE status = 'accepted' ORDER BY device_id LIMIT 1)
        UNION ALL
        SELECT (SELECT r.device_id FROM receipts r WHERE r.status = 'accepted' AND r.device_id > w.device_id
                 ORDER BY r.device_id LIMIT 1)
          FROM waiting w WHERE w.device_id IS NOT NULL
      ), candidates AS (
        SELECT w.device_id, (SELECT r.updated_at FROM receipts r WHERE r.status = 'accepted' AND r.device_id = w.device_id
                              ORDER BY r.lane_place LIMIT 1) AS since
          FROM waiting w WHERE w.device_id IS NOT NULL
        UNION ALL SELECT device_id, created_at FROM attempts WHERE state = 'open'
      )
      SELECT DISTINCT c.device_id
        FROM candidates c JOIN lanes l USING (device_id) JOIN devices d ON d.id = c.device_id
       WHERE d.state NOT IN ('disabled', 'replaced')
         AND (l.settling_relay IS NULL OR l.settling_relay = ${this.relayId}
              OR l.settle_until < now() - make_interval(secs => ${SETTLE_GRACE_SECONDS}))
         AND (l.due_at IS NULL OR l.due_at < now() - make_interval(secs => ${overdueMs / 1_000}))
         AND greatest(c.since, l.updated_at) < now() - make_interval(secs => ${overdueMs / 1_000})
         AND NOT EXISTS (SELECT FROM pg_locks k WHERE k.locktype = 'advisory' AND k.classid = ${LANE_LOCK_SPACE}
                          AND k.objid = l.lock_number AND k.objsubid = 2
                          AND k.database = (SELECT oid FROM pg_database WHERE datname = current_database()))
       LIMIT ${limit}`;
    return rows.map((row) => row.device_id);
  }

  /** The event of a receipt that a statement's `moved` has just moved. */
  private receiptEvent(name: string, data: Record<string, unknown>): Prisma.Sql {
    return Prisma.sql`
      INSERT INTO events (id, merchant_id, type, subject_id, data)
      SELECT ${newId('evt')}, merchant_id, CASE type WHEN 'refund' THEN 'refund' ELSE 'receipt' END || '.' || ${name}, id,
             jsonb_build_object('receipt_id', id) || ${JSON.stringify(data)}::jsonb
        FROM moved`;
  }
}

function openAttemptOf(row: AttemptRow): OpenAttempt {
  return {
    id: row.id,
    receiptId: row.receipt_id,
    baseline: row.baseline,
    request: Buffer.from(row.request_hex, 'hex'),
    document: row.document,
    createdAt: new Date(row.created_ms),
    ageMs: row.age_ms,
    refusedAgoMs: row.refused_ago_ms,
  };
}

function jsonOrNull(value: unknown): string | null {
  return value === null ? null : JSON.stringify(value);
}

/** The lane lock is still this session's, by the database's own word. */
function isHeld({ backendPid, lockNumber }: LaneGrip): Prisma.Sql {
  return Prisma.sql`
    EXISTS (SELECT FROM pg_locks
             WHERE locktype = 'advisory' AND granted AND pid = ${backendPid}
               AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
               AND classid = ${LANE_LOCK_SPACE} AND objid = ${lockNumber} AND objsubid = 2)`;
}

/** SQLSTATE 23505. */
function isUniqueViolation(error: unknown): boolean {
  return error instanceof Prisma.PrismaClientKnownRequestError
    ? /23505|Unique constraint/.test(`${error.message} ${JSON.stringify(error.meta ?? {})}`)
    : false;
}
