import { Prisma } from '#database';
import { answeredStatus, leftUntil } from '#ledger';

/** Whose entries are read. */
export interface TimelineOf {
  merchantId: string;
  receiptId: string;
  /** Null: no money was collected for it. */
  paymentId: string | null;
  /** What events and deliveries may be about: the receipt, its payment, its refunds. */
  subjects: readonly string[];
}

/** What an attempt has come to is shown whole up to so many characters. */
const MAX_OUTCOME = 8_192;

/**
 * Every place from which entries come: each is read by an index that begins with the receipt, its payment or the subject, and gives
 * `at, rank, id, kind, subject_id, status, data`. What belongs to the timeline and has a table of its own is one more here.
 */
export const TIMELINE_SOURCES: readonly ((of: TimelineOf) => Prisma.Sql)[] = [
  accepted,
  left,
  refunds,
  payment,
  attemptsOpened,
  attemptsClosed,
  attemptsArchived,
  paymentCalls,
  paymentRefunds,
  providerCalls,
  events,
  deliveries,
  deliveryAttempts,
];

function accepted({ merchantId, receiptId }: TimelineOf): Prisma.Sql {
  return Prisma.sql`
    SELECT created_at AS at, 0 AS rank, id || ':accepted' AS id, 'accepted' AS kind, id AS subject_id, status::text AS status,
           jsonb_build_object('type', type, 'device_id', device_id, 'external_id', external_id, 'client_id', client_id,
                              'total', total_tiyin, 'refund_of', refund_of) AS data
      FROM receipts WHERE id = ${receiptId} AND merchant_id = ${merchantId}`;
}

/**
 * That months of events, deliveries or calls have left the database since it was accepted, and those of this receipt with them, but for what is
 * needed still. A month leaves when it is over: of receipts of this one it is not asked.
 */
function left({ merchantId, receiptId, paymentId }: TimelineOf): Prisma.Sql {
  return Prisma.sql`
    SELECT r.created_at, 0, r.id || ':left:' || t.kind, 'left', r.id, NULL::text, jsonb_build_object('of', t.kind, 'until', l.until)
      FROM receipts r
     CROSS JOIN (VALUES ('event', 'events'), ('delivery', 'webhook_deliveries'), ('payment_call', 'payment_calls'),
                        ('provider_call', 'provider_callbacks')) AS t(kind, of_table)
     CROSS JOIN LATERAL (SELECT ${leftUntil(Prisma.sql`t.of_table`)} AS until) l
     WHERE r.id = ${receiptId} AND r.merchant_id = ${merchantId}
       AND r.created_at < date_trunc('month', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC' AND l.until > r.created_at
       AND (${paymentId}::text IS NOT NULL OR t.kind NOT IN ('payment_call', 'provider_call'))`;
}

function refunds({ merchantId, receiptId }: TimelineOf): Prisma.Sql {
  return Prisma.sql`
    SELECT created_at, 1, id || ':refund', 'refund', id, status::text, jsonb_build_object('receipt_id', id, 'total', total_tiyin)
      FROM receipts WHERE refund_of = ${receiptId} AND merchant_id = ${merchantId}`;
}

function payment({ merchantId, paymentId }: TimelineOf): Prisma.Sql {
  return Prisma.sql`
    SELECT created_at, 2, id || ':payment', 'payment', id, state::text,
           jsonb_build_object('payment_id', id, 'provider', provider, 'flow', flow, 'amount', amount_tiyin, 'reason', reason)
      FROM payments WHERE id = ${paymentId} AND merchant_id = ${merchantId}`;
}

function attemptsOpened(of: TimelineOf): Prisma.Sql {
  return Prisma.sql`
    SELECT a.created_at, 3, a.id || ':opened', 'attempt_opened', a.receipt_id, a.state::text,
           jsonb_build_object('attempt_id', a.id, 'number', a.number, 'device_id', a.device_id)
      FROM attempts a WHERE ${isAttemptOf(of)}`;
}

function attemptsClosed(of: TimelineOf): Prisma.Sql {
  return Prisma.sql`
    SELECT a.closed_at, 4, a.id || ':closed', 'attempt_closed', a.receipt_id, a.state::text,
           jsonb_build_object('attempt_id', a.id, 'number', a.number, 'device_id', a.device_id, 'http_status', ${answeredStatus(Prisma.sql`a`)},
             'duration_ms', round(extract(epoch FROM a.closed_at - a.created_at) * 1000),
             'outcome', CASE WHEN length(a.outcome::text) <= ${MAX_OUTCOME}::int4 THEN a.outcome
                             WHEN a.outcome IS NOT NULL THEN jsonb_build_object('kind', a.outcome -> 'kind', 'truncated', true) END)
      FROM attempts a WHERE a.closed_at IS NOT NULL AND ${isAttemptOf(of)}`;
}

/** Those that have left the database (docs/archive.md), and have not been brought back. */
function attemptsArchived({ merchantId, receiptId }: TimelineOf): Prisma.Sql {
  return Prisma.sql`
    SELECT k.created_at, 3, k.id || ':archived', 'attempt_archived', k.receipt_id, NULL,
           jsonb_build_object('attempt_id', k.id, 'number', k.number, 'archive', k.archive)
      FROM archived_attempts k
     WHERE k.receipt_id = ${receiptId} AND NOT EXISTS (SELECT FROM attempts a WHERE a.receipt_id = ${receiptId} AND a.id = k.id)
       AND EXISTS (SELECT FROM receipts r WHERE r.id = k.receipt_id AND r.merchant_id = ${merchantId})`;
}

function isAttemptOf({ merchantId, receiptId }: TimelineOf): Prisma.Sql {
  return Prisma.sql`a.receipt_id = ${receiptId}
    AND EXISTS (SELECT FROM receipts r WHERE r.id = a.receipt_id AND r.merchant_id = ${merchantId})`;
}

function paymentCalls(of: TimelineOf): Prisma.Sql {
  return Prisma.sql`
    SELECT c.started_at, 5, 'payment_call:' || c.id, 'payment_call', c.payment_id, coalesce(c.outcome ->> 'kind', 'open'),
           jsonb_build_object('payment_id', c.payment_id, 'call', c.call, 'finished_at', c.finished_at,
                              'outcome', c.outcome ->> 'kind', 'code', c.outcome ->> 'code',
                              'detail', left(c.outcome ->> 'detail', 500))
      FROM payment_calls c
     WHERE c.payment_id = ${of.paymentId} AND c.started_at >= ${dayBeforePayment(of)} AND ${isOwnPayment(of)}`;
}

/** Of a sale all of its money's ways back; of a refund its own. */
function paymentRefunds(of: TimelineOf): Prisma.Sql {
  const columns = Prisma.sql`
    f.created_at, 6, 'payment_refund:' || f.id, 'payment_refund', f.payment_id, f.state::text,
    jsonb_build_object('payment_id', f.payment_id, 'receipt_id', f.receipt_id, 'amount', f.amount_tiyin, 'reason', f.reason,
                       'finished_at', f.finished_at)`;
  return Prisma.sql`
    SELECT ${columns} FROM payment_refunds f WHERE f.payment_id = ${of.paymentId} AND ${isOwnPayment(of)}
    UNION
    SELECT ${columns} FROM payment_refunds f
     WHERE f.receipt_id = ${of.receiptId}
       AND EXISTS (SELECT FROM payments p WHERE p.id = f.payment_id AND p.merchant_id = ${of.merchantId})`;
}

/** What the provider called here for; its bodies stay sealed. */
function providerCalls(of: TimelineOf): Prisma.Sql {
  return Prisma.sql`
    SELECT c.received_at, 7, 'provider_call:' || c.id, 'provider_call', c.payment_id, NULL::text,
           jsonb_build_object('payment_id', c.payment_id, 'operation', c.operation, 'amount', c.amount_tiyin)
      FROM provider_callbacks c
     WHERE c.payment_id = ${of.paymentId} AND c.received_at >= ${dayBeforePayment(of)} AND ${isOwnPayment(of)}`;
}

/** Its calls are in no month before: those are not read. */
function dayBeforePayment({ paymentId }: TimelineOf): Prisma.Sql {
  return Prisma.sql`(SELECT created_at - interval '1 day' FROM payments WHERE id = ${paymentId})`;
}

function isOwnPayment({ merchantId, paymentId }: TimelineOf): Prisma.Sql {
  return Prisma.sql`EXISTS (SELECT FROM payments p WHERE p.id = ${paymentId} AND p.merchant_id = ${merchantId})`;
}

function events({ merchantId, subjects }: TimelineOf): Prisma.Sql {
  return Prisma.sql`
    SELECT e.created_at, 8, e.id, CASE e.type WHEN 'receipt.moved' THEN 'moved' ELSE 'event' END, e.subject_id, NULL::text,
           CASE e.type WHEN 'receipt.moved'
             THEN jsonb_build_object('from_device_id', e.data -> 'from_device_id', 'to_device_id', e.data -> 'device_id')
             ELSE jsonb_build_object('event_id', e.id, 'type', e.type, 'payload', e.data) END
      FROM events e WHERE e.subject_id = ANY(${[...subjects]}::text[]) AND e.merchant_id = ${merchantId}`;
}

function deliveries(of: TimelineOf): Prisma.Sql {
  return Prisma.sql`
    SELECT d.created_at, 9, d.id, 'delivery', d.subject_id, d.state::text,
           jsonb_build_object('delivery_id', d.id, 'webhook_id', CASE w.kind WHEN 'endpoint' THEN w.id END,
                              'event_id', d.event_id, 'type', d.type, 'origin', ${ORIGIN})
      FROM webhook_deliveries d JOIN webhook_endpoints w ON w.id = d.endpoint_id
     WHERE ${isDeliveryOf(of)}`;
}

function deliveryAttempts(of: TimelineOf): Prisma.Sql {
  return Prisma.sql`
    SELECT t.at, 10, d.id || ':' || lpad(t.number::text, 4, '0'), 'delivery_attempt', d.subject_id, t.outcome,
           jsonb_build_object('delivery_id', d.id, 'number', t.number, 'duration_ms', t.duration_ms, 'outcome', t.outcome,
                              'http_status', t.http_status)
      FROM webhook_deliveries d JOIN webhook_attempts t ON t.delivery_id = d.id
     WHERE ${isDeliveryOf(of)}`;
}

/** The rest of an address may be a secret of its receiver. */
const ORIGIN = Prisma.sql`substring(d.url FROM '^[a-zA-Z]+://[^/?#]+')`;

function isDeliveryOf({ merchantId, subjects }: TimelineOf): Prisma.Sql {
  return Prisma.sql`d.subject_id = ANY(${[...subjects]}::text[]) AND d.merchant_id = ${merchantId}`;
}
