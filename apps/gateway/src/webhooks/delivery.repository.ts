import { Injectable } from '@nestjs/common';
import { Prisma, PrismaService } from '#database';
import type { EventRow } from '../events/event-row.js';
import { GIVE_UP_AFTER_SECONDS } from './delivery-schedule.js';

/** An endpoint that this process sends to until `leaseUntil`. */
export interface ClaimedEndpoint {
  id: string;
  merchant_id: string;
  kind: 'endpoint' | 'callback';
  url: string;
  failures: number;
  is_failing: boolean;
  wakes: bigint;
  lease_until: Date;
}

export interface DueDelivery extends EventRow {
  delivery_id: string;
  /** Of a callback; an endpoint's own may have changed since. */
  url: string;
  attempt_count: number;
}

/** What one try came to, as it is kept. */
export interface AttemptRecord {
  deliveryId: string;
  number: number;
  durationMs: number;
  outcome: string;
  httpStatus: number | null;
  answer: string | null;
}

export type AfterAttempt =
  | { kind: 'delivered' }
  | { kind: 'retry'; delayMs: number }
  | { kind: 'given_up' }
  /** The endpoint is gone: the delivery waits for its being enabled again. */
  | { kind: 'kept' };

/** Longer than a round of sending and all its deadlines; a process that dies holds an endpoint no longer than this. */
export const LEASE_SECONDS = 20;

/** Deliveries and their endpoints; everything that is due is due on the database's clock. */
@Injectable()
export class DeliveryRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** Endpoints with something due. Those that fail are claimed apart: they must not take the places of the others. */
  claimEndpoints(limit: number, failing: boolean): Promise<ClaimedEndpoint[]> {
    return this.prisma.$queryRaw<ClaimedEndpoint[]>`
      UPDATE webhook_endpoints SET lease_until = now() + make_interval(secs => ${LEASE_SECONDS}::int4)
       WHERE id IN (SELECT id FROM webhook_endpoints
                     WHERE due_at <= now() AND (lease_until IS NULL OR lease_until <= now())
                       AND (blocked_until IS NULL OR blocked_until <= now())
                       AND disabled_at IS NULL AND deleted_at IS NULL AND (failing_since IS NOT NULL) = ${failing}
                     ORDER BY due_at LIMIT ${limit} FOR NO KEY UPDATE SKIP LOCKED)
      RETURNING id, merchant_id, kind::text, url, failures, failing_since IS NOT NULL AS is_failing, wakes, lease_until`;
  }

  /** The next ones that may go: of each subject only the first that is undelivered. */
  due(endpointId: string, limit: number): Promise<DueDelivery[]> {
    return this.prisma.$queryRaw<DueDelivery[]>`
      SELECT d.id AS delivery_id, d.url, d.attempt_count, e.position, e.id, e.merchant_id, e.type, e.subject_id, e.data,
             e.created_at
        FROM webhook_deliveries d JOIN events e ON e.position = d.event_position
       WHERE d.endpoint_id = ${endpointId} AND d.state = 'pending' AND d.due_at <= now()
         AND NOT EXISTS (SELECT FROM webhook_deliveries before
                          WHERE before.endpoint_id = ${endpointId} AND before.subject_id = d.subject_id
                            AND before.state = 'pending' AND before.sequence < d.sequence)
       ORDER BY d.due_at, d.sequence LIMIT ${limit}`;
  }

  /** The try and what follows from it, together. */
  async record(attempt: AttemptRecord, after: AfterAttempt): Promise<void> {
    const state = { delivered: 'delivered', retry: 'pending', given_up: 'failed', kept: 'pending' }[after.kind];
    const delaySeconds = after.kind === 'retry' ? after.delayMs / 1_000 : 0;
    await this.prisma.$executeRaw`
      WITH tried AS (
        INSERT INTO webhook_attempts (delivery_id, number, duration_ms, outcome, http_status, answer)
        VALUES (${attempt.deliveryId}, ${attempt.number}::int4, ${attempt.durationMs}::int4, ${attempt.outcome},
                ${attempt.httpStatus}::int4, ${attempt.answer})
        ON CONFLICT DO NOTHING
      ), moved AS (
        UPDATE webhook_deliveries
           SET state = ${state}::delivery_state, attempt_count = greatest(attempt_count, ${attempt.number}::int4),
               finished_at = CASE WHEN ${state} <> 'pending' THEN now() END,
               due_at = now() + make_interval(secs => ${delaySeconds}::float8)
         WHERE id = ${attempt.deliveryId} AND state = 'pending' RETURNING endpoint_id, subject_id, sequence, due_at
      )
      UPDATE webhook_deliveries d SET due_at = greatest(d.due_at, moved.due_at) FROM moved
       WHERE ${after.kind} = 'retry' AND d.endpoint_id = moved.endpoint_id AND d.subject_id = moved.subject_id
         AND d.state = 'pending' AND d.sequence > moved.sequence`;
  }

  /**
   * Lets an endpoint go and says when it is due next: now, when more has come since it was claimed.
   * @returns whether nothing has succeeded there for so long that it is to be disabled
   */
  async release(
    endpoint: ClaimedEndpoint,
    result: 'succeeded' | 'failed' | 'nothing',
    pauseMs: number,
  ): Promise<boolean> {
    const health = {
      succeeded: Prisma.sql`failing_since = NULL, failures = 0, blocked_until = NULL,`,
      failed: Prisma.sql`failing_since = coalesce(failing_since, now()), failures = failures + 1,
                         blocked_until = now() + make_interval(secs => ${pauseMs / 1_000}::float8),`,
      nothing: Prisma.empty,
    }[result];
    const rows = await this.prisma.$queryRaw<{ is_given_up: boolean | null }[]>`
      UPDATE webhook_endpoints e
         SET ${health} lease_until = NULL,
             due_at = CASE WHEN wakes <> ${endpoint.wakes} THEN now()
                           ELSE (SELECT min(d.due_at) FROM webhook_deliveries d
                                  WHERE d.endpoint_id = ${endpoint.id} AND d.state = 'pending') END
       WHERE id = ${endpoint.id} AND lease_until = ${endpoint.lease_until}::timestamptz
      RETURNING failing_since <= now() - make_interval(secs => ${GIVE_UP_AFTER_SECONDS}::int4) AS is_given_up`;
    return rows[0]?.is_given_up ?? false;
  }
}
