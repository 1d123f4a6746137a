import { Prisma } from '#database';
import { ulidOf } from '#fiscal-domain';
import { newId } from '#runtime';
import type { RECEIPT_MOVES } from './moves.js';
import type { Statements } from './statements.js';

/**
 * The only INSERT INTO events. An event is written in the statement, or at least in the transaction, of what it announces
 * (docs/adr/0026-order-of-events.md).
 */
const INTO_EVENTS = Prisma.raw('INSERT INTO events (id, merchant_id, type, subject_id, data)');

/** @param rows a SELECT or VALUES of id, merchant, type, subject and data */
export function insertEvents(rows: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`${INTO_EVENTS} ${rows}`;
}

/** What is announced of a receipt: its moves, and what happens to it while it stays where it is. */
export type ReceiptEvent =
  | NonNullable<(typeof RECEIPT_MOVES)[number]['event']>
  | 'duplicate_suspected'
  | 'ofd_sent'
  | 'ofd_deadline_warning'
  | 'ofd_deadline_alarm';

const TYPES = new Map<string, Prisma.Sql>();

/** Of a row with a `type`: `refund.<event>` for a refund, else `receipt.<event>`. */
export function receiptEventType(event: ReceiptEvent): Prisma.Sql {
  let type = TYPES.get(event);
  if (!type) {
    type = Prisma.raw(`CASE type WHEN 'refund' THEN 'refund' ELSE 'receipt' END || '.${event}'`);
    TYPES.set(event, type);
  }
  return type;
}

const MOVED = Prisma.raw('moved');
/** Of statements over many rows, which bring the ids of their events with them. */
export const EVENT_ID = Prisma.raw('event_id');

/**
 * The event of each receipt that a part of the statement has moved; the part returns id, merchant_id and type.
 * @param from the part's name, and a condition where needed
 */
export function receiptEvents(
  event: ReceiptEvent,
  data: Prisma.Sql,
  { id = newId('evt'), from = MOVED }: { id?: string | Prisma.Sql; from?: Prisma.Sql } = {},
): Prisma.Sql {
  return Prisma.sql`${INTO_EVENTS} SELECT ${id}, merchant_id, ${receiptEventType(event)}, id, ${data} FROM ${from}`;
}

/** `{"receipt_id": …}` and these. */
export function receiptData(more: Record<string, unknown>): Prisma.Sql {
  return Prisma.sql`jsonb_build_object('receipt_id', id) || ${JSON.stringify(more)}::jsonb`;
}

/** The event of a device that a part of the statement has moved; the part returns id and merchant_id. */
export function deviceEvents(
  event: string,
  reason: string | null,
  { id = newId('evt'), from = MOVED }: { id?: string | Prisma.Sql; from?: Prisma.Sql } = {},
): Prisma.Sql {
  return Prisma.sql`${INTO_EVENTS}
    SELECT ${id}, merchant_id, ${`device.${event}`}, id, jsonb_build_object('device_id', id, 'reason', ${reason}::text) FROM ${from}`;
}

/** In the transaction of what has happened to the receipt. */
export async function writeReceiptEvent(
  tx: Statements,
  receiptId: string,
  event: ReceiptEvent,
  data: Record<string, unknown>,
): Promise<void> {
  await tx.$executeRaw(receiptEvents(event, receiptData(data), { from: Prisma.sql`receipts WHERE id = ${receiptId}` }));
}

/** In the transaction of what has happened to the device. */
export async function writeDeviceEvent(
  tx: Statements,
  deviceId: string,
  event: string,
  reason: string | null,
): Promise<void> {
  await tx.$executeRaw(deviceEvents(event, reason, { from: Prisma.sql`devices WHERE id = ${deviceId}` }));
}

/**
 * Of the event that a receipt was accepted, once in its life: it carries the receipt's own number. Never the mark of a sandbox: events stand in
 * months by their ids, and that one is behind all of them.
 */
export function newReceiptEventId(receiptId: string): string {
  return `evt_${ulidOf(receiptId).toLowerCase()}`;
}

export interface NewEvent {
  merchantId: string;
  type: string;
  subjectId: string;
  data: Record<string, unknown>;
}

/** An event of its own. @returns its id */
export async function writeEvent(tx: Statements, { merchantId, type, subjectId, data }: NewEvent): Promise<string> {
  const id = newId('evt');
  await tx.$executeRaw(
    insertEvents(Prisma.sql`VALUES (${id}, ${merchantId}, ${type}, ${subjectId}, ${JSON.stringify(data)}::jsonb)`),
  );
  return id;
}

/**
 * Events of a copy of the database, with numbers of transactions that this server has not reached, get the number `below`: readers
 * wait for nothing that is over (docs/adr/0053-compared-after-restore.md).
 */
export async function renumberEvents(
  tx: Statements,
  { below, after, upTo }: { below: string; after: bigint; upTo: bigint },
): Promise<void> {
  await tx.$executeRaw`
    UPDATE events SET transaction_id = ${below}::text::xid8
     WHERE position > ${after}::bigint AND position <= ${upTo}::bigint AND transaction_id > ${below}::text::xid8`;
}
