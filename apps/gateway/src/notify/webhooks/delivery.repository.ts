import { Injectable } from '@nestjs/common';
import { Prisma, PrismaService, StatementGroup } from '#database';
import { storableJson } from '#fiscal-domain';
import { isTracing } from '#runtime';
import { MAY_BE_CLAIMED } from '../may-be-claimed.js';
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
  batch_size: number;
  concurrency: number;
}

export interface DueDelivery extends EventRow {
  delivery_id: string;
  /** Of a callback; an endpoint's own may have changed since. */
  url: string;
  attempt_count: number;
  /** Of the receipt that the event is about, where its request was sampled. */
  trace_parent: string | null;
}

/** Read while this program traces only. */
const TRACE_PARENT = Prisma.sql`(SELECT r.trace_parent FROM receipts r WHERE r.id = e.subject_id)`;
const NO_TRACE_PARENT = Prisma.sql`NULL`;

/** What one try came to, as it is kept. */
export interface AttemptRecord {
  deliveryId: string;
  endpointId: string;
  /** Where it was sent; null: nowhere. */
  url: string | null;
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

/** A process that dies, or whose host is lost, holds an endpoint no longer than this; one that works renews its lease. */
export const LEASE_SECONDS = 8;

/** Deliveries and their endpoints; everything that is due is due on the database's clock. */
@Injectable()
export class DeliveryRepository {
  private readonly records = new StatementGroup((group: readonly Tried[]) => this.recordGroup(group));

  constructor(private readonly prisma: PrismaService) {}

  /** Whether there is an endpoint to be claimed. */
  isAnyDue(): Promise<boolean> {
    return this.prisma.ask<boolean>(Prisma.sql`SELECT EXISTS (SELECT FROM webhook_endpoints WHERE ${MAY_BE_CLAIMED})`);
  }

  /** Of these endpoints those that may still be claimed: another gateway may have been first. */
  claimEndpoints(ids: readonly string[]): Promise<ClaimedEndpoint[]> {
    return this.prisma.$queryRaw<ClaimedEndpoint[]>`
      UPDATE webhook_endpoints SET lease_until = now() + make_interval(secs => ${LEASE_SECONDS}::int4)
       WHERE id IN (SELECT id FROM webhook_endpoints
                     WHERE id = ANY (${[...ids]}::text[]) AND ${MAY_BE_CLAIMED} FOR NO KEY UPDATE SKIP LOCKED)
      RETURNING id, merchant_id, kind::text, url, failures, failing_since IS NOT NULL AS is_failing, wakes, lease_until,
                batch_size, concurrency`;
  }

  /**
   * The next ones that may go: of each subject only the first that is undelivered. None once the endpoint was moved: the next one that
   * claims it sends to the new address.
   * @param except subjects of which one is under way
   */
  due(
    { id: endpointId, url }: Pick<ClaimedEndpoint, 'id' | 'url'>,
    limit: number,
    except: readonly string[] = [],
  ): Promise<DueDelivery[]> {
    return this.prisma.$queryRaw<DueDelivery[]>`
      SELECT d.id AS delivery_id, d.url, d.attempt_count, e.position, e.id, e.merchant_id, e.type, e.subject_id, e.data,
             e.created_at, ${isTracing() ? TRACE_PARENT : NO_TRACE_PARENT} AS trace_parent
        FROM webhook_deliveries d JOIN events e ON e.position = d.event_position AND e.id = d.event_id
       WHERE EXISTS (SELECT FROM webhook_endpoints WHERE id = ${endpointId} AND url = ${url})
         AND d.endpoint_id = ${endpointId} AND d.state = 'pending' AND d.due_at <= now()
         AND d.subject_id <> ALL(${[...except]}::text[])
         AND NOT EXISTS (SELECT FROM webhook_deliveries before
                          WHERE before.endpoint_id = ${endpointId} AND before.subject_id = d.subject_id
                            AND before.state = 'pending' AND before.sequence < d.sequence)
       ORDER BY d.due_at, d.sequence LIMIT ${limit}`;
  }

  /**
   * The try and what follows from it, together; tries that end at the same moment share their statement. What the receiver before has
   * answered after its endpoint was moved is kept as a try, and nothing follows from it: the new one has not been asked.
   */
  async record(attempt: AttemptRecord, after: AfterAttempt): Promise<void> {
    await this.records.one({ attempt, after });
  }

  private async recordGroup(group: readonly Tried[]): Promise<null[]> {
    // Each delivery once, and in one order: two gateways that record the same ones must not wait for each other.
    const rows = group.map(rowOf).sort((one, other) => (one.delivery_id < other.delivery_id ? -1 : 1));
    await this.prisma.$executeRaw`
      WITH given AS (
        SELECT g.*, coalesce((SELECT e.kind = 'callback' OR e.url = g.url FROM webhook_endpoints e WHERE e.id = g.endpoint_id), true)
                    AS counts
          FROM json_to_recordset(${storableJson(JSON.stringify(rows))}::json) AS g(
          delivery_id text, endpoint_id text, url text, number int, duration_ms int, outcome text, http_status int, answer text,
          state delivery_state, is_retry boolean, delay_seconds float8)
      ), tried AS (
        INSERT INTO webhook_attempts (delivery_id, number, duration_ms, outcome, http_status, answer)
        SELECT delivery_id, number, duration_ms, outcome, http_status, answer FROM given
        ON CONFLICT DO NOTHING
      ), moved AS (
        UPDATE webhook_deliveries d
           SET state = CASE WHEN g.counts THEN g.state ELSE d.state END, attempt_count = greatest(d.attempt_count, g.number),
               last_http_status = g.http_status, url = coalesce(g.url, d.url),
               finished_at = CASE WHEN g.counts AND g.state <> 'pending' THEN now() END,
               due_at = CASE WHEN g.counts THEN now() + make_interval(secs => g.delay_seconds) ELSE d.due_at END
          FROM given g
         WHERE d.id = g.delivery_id AND d.state = 'pending'
        RETURNING d.endpoint_id, d.subject_id, d.sequence, d.due_at, g.is_retry AND g.counts AS is_retry
      )
      UPDATE webhook_deliveries d SET due_at = greatest(d.due_at, moved.due_at) FROM moved
       WHERE moved.is_retry AND d.endpoint_id = moved.endpoint_id AND d.subject_id = moved.subject_id
         AND d.state = 'pending' AND d.sequence > moved.sequence`;
    return group.map(() => null);
  }

  /** The lease from now on. @returns false: it had run out, and another process may have the endpoint */
  async renew(endpoint: ClaimedEndpoint): Promise<boolean> {
    const [renewed] = await this.prisma.$queryRaw<{ lease_until: Date }[]>`
      UPDATE webhook_endpoints SET lease_until = now() + make_interval(secs => ${LEASE_SECONDS}::int4)
       WHERE id = ${endpoint.id} AND lease_until = ${endpoint.lease_until}::timestamptz RETURNING lease_until`;
    if (renewed) endpoint.lease_until = renewed.lease_until;
    return renewed !== undefined;
  }

  /**
   * Releases an endpoint and says when it is due next: now, when more is due or has come since it was claimed, and so behind the
   * others that wait; one with a long backlog would else be the first again and again.
   * @returns whether nothing has succeeded there for so long that it is to be disabled
   */
  async release(
    endpoint: ClaimedEndpoint,
    result: 'succeeded' | 'failed' | 'nothing',
    { pauseMs, concurrency }: { pauseMs: number; concurrency: number },
  ): Promise<boolean> {
    const health = {
      succeeded: Prisma.sql`failing_since = NULL, failures = 0, blocked_until = NULL,`,
      failed: Prisma.sql`failing_since = coalesce(failing_since, now()), failures = failures + 1,
                         blocked_until = now() + make_interval(secs => ${pauseMs / 1_000}::float8),`,
      nothing: Prisma.empty,
    }[result];
    const rows = await this.prisma.$queryRaw<{ is_given_up: boolean | null }[]>`
      UPDATE webhook_endpoints e
         SET ${health} lease_until = NULL, concurrency = ${concurrency}::int4,
             due_at = CASE WHEN wakes <> ${endpoint.wakes} THEN now()
                           ELSE (SELECT CASE WHEN min(d.due_at) IS NOT NULL THEN greatest(min(d.due_at), now()) END
                                   FROM webhook_deliveries d
                                  WHERE d.endpoint_id = ${endpoint.id} AND d.state = 'pending') END
       WHERE id = ${endpoint.id} AND lease_until = ${endpoint.lease_until}::timestamptz
      RETURNING failing_since <= now() - make_interval(secs => ${GIVE_UP_AFTER_SECONDS}::int4) AS is_given_up`;
    return rows[0]?.is_given_up ?? false;
  }
}

interface Tried {
  attempt: AttemptRecord;
  after: AfterAttempt;
}

/** As json_to_recordset of `recordGroup` names its columns. */
function rowOf({ attempt, after }: Tried): { delivery_id: string } & Record<string, unknown> {
  return {
    delivery_id: attempt.deliveryId,
    endpoint_id: attempt.endpointId,
    url: attempt.url,
    number: attempt.number,
    duration_ms: attempt.durationMs,
    outcome: attempt.outcome,
    http_status: attempt.httpStatus,
    answer: attempt.answer,
    state: { delivered: 'delivered', retry: 'pending', given_up: 'failed', kept: 'pending' }[after.kind],
    is_retry: after.kind === 'retry',
    delay_seconds: after.kind === 'retry' ? after.delayMs / 1_000 : 0,
  };
}
