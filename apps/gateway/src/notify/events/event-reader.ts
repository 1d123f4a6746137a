import { Injectable } from '@nestjs/common';
import { Prisma, PrismaService } from '#database';
import { BEGINNING, type EventPlace } from './event-cursor.js';
import { EventHorizon } from './event-horizon.js';
import type { EventRow } from './event-row.js';

type Reader = Pick<Prisma.TransactionClient, '$queryRaw'>;

/** Where one reader of a merchant's feed stands. */
export interface FeedPlace {
  merchantId: string;
  after: bigint;
}

/** What follows a place; `isLost`: its event does not exist any more. */
export interface FeedPiece extends FeedPlace {
  rows: EventRow[];
  isLost: boolean;
}

type FeedRow = { place: number } & { [Name in keyof EventRow]: EventRow[Name] | null };

/**
 * A merchant's events without gaps. They are read in the order of the transactions that wrote them, and only before the
 * oldest one still in flight that may write some: whatever commits later stands behind everything that has been read
 * (docs/adr/0026-order-of-events.md).
 */
@Injectable()
export class EventReader {
  constructor(
    private readonly prisma: PrismaService,
    private readonly horizon: EventHorizon,
  ) {}

  /**
   * @param after position of the event after which to go on; 0 = from the beginning. It must be one of the merchant's: its
   * transaction is looked up, because putting back a dump changes those numbers.
   */
  readAfter(merchantId: string, after: bigint, limit: number, reader: Reader = this.prisma): Promise<EventRow[]> {
    return reader.$queryRaw<EventRow[]>`
      SELECT e.position, e.id, e.merchant_id, e.type, e.subject_id, e.data, e.created_at
        FROM events e
       WHERE e.merchant_id = ${merchantId}
         AND (e.transaction_id, e.position)
             > (${transactionOf(after)}, ${after}::bigint)
         AND e.transaction_id < ${this.horizon.limit}
       ORDER BY e.transaction_id, e.position LIMIT ${limit}`;
  }

  /** The same of one receipt, payment, device …, by an index of its own, as far as `upTo`: a position of the same merchant's. */
  readOfSubject(
    { merchantId, subjectId }: { merchantId: string; subjectId: string },
    { after, upTo }: { after: bigint; upTo: bigint },
    limit: number,
  ): Promise<EventRow[]> {
    return this.prisma.$queryRaw<EventRow[]>`
      SELECT e.position, e.id, e.merchant_id, e.type, e.subject_id, e.data, e.created_at
        FROM events e
       WHERE e.subject_id = ${subjectId} AND e.merchant_id = ${merchantId}
         AND (e.transaction_id, e.position)
             > (${transactionOf(after)}, ${after}::bigint)
         AND (e.transaction_id, e.position)
             <= ((SELECT b.transaction_id FROM events b WHERE b.position = ${upTo}::bigint), ${upTo}::bigint)
       ORDER BY e.transaction_id, e.position LIMIT ${limit}`;
  }

  /** The last event that readers may see now; what comes later stands behind it. */
  async end(merchantId: string): Promise<EventPlace> {
    const [row] = await this.prisma.$queryRaw<EventPlace[]>`
      SELECT e.position, e.id FROM events e
       WHERE e.merchant_id = ${merchantId} AND e.transaction_id < ${this.horizon.limit}
       ORDER BY e.transaction_id DESC, e.position DESC LIMIT 1`;
    return row ?? BEGINNING;
  }

  /** The last event that readers may see now, of those at a place or behind it; null: there is none. */
  async endBehind(merchantId: string, after: bigint): Promise<EventPlace | null> {
    const [row] = await this.prisma.$queryRaw<EventPlace[]>`
      SELECT e.position, e.id FROM events e
       WHERE e.merchant_id = ${merchantId} AND e.transaction_id < ${this.horizon.limit}
         AND (e.transaction_id, e.position)
             >= (${transactionOf(after)}, ${after}::bigint)
       ORDER BY e.transaction_id DESC, e.position DESC LIMIT 1`;
    return row ?? null;
  }

  /** What follows each of these places, of any merchants, in one statement: for readers that wait for what comes. */
  async readFeeds(places: readonly FeedPlace[], limit: number): Promise<FeedPiece[]> {
    const rows = await this.prisma.$queryRaw<FeedRow[]>`
      SELECT f.place::int4 AS place, e.position, e.id, e.merchant_id, e.type, e.subject_id, e.data, e.created_at
        FROM unnest(${places.map(({ merchantId }) => merchantId)}::text[], ${places.map(({ after }) => String(after))}::bigint[])
             WITH ORDINALITY AS f(merchant_id, after, place)
        LEFT JOIN events b ON b.position = f.after AND b.merchant_id = f.merchant_id
        LEFT JOIN LATERAL (
          SELECT n.position, n.id, n.merchant_id, n.type, n.subject_id, n.data, n.created_at, n.transaction_id
            FROM events n
           WHERE n.merchant_id = f.merchant_id AND (f.after = 0 OR b.position IS NOT NULL)
             AND (n.transaction_id, n.position) > (coalesce(b.transaction_id, '0'::xid8), f.after)
             AND n.transaction_id < ${this.horizon.limit}
           ORDER BY n.transaction_id, n.position LIMIT ${limit}
        ) e ON true
       WHERE e.position IS NOT NULL OR (f.after > 0 AND b.position IS NULL)
       ORDER BY f.place, e.transaction_id, e.position`;
    const pieces = places.map((place): FeedPiece => ({ ...place, rows: [], isLost: false }));
    for (const { place, ...event } of rows) {
      const piece = pieces[place - 1];
      if (!piece) continue;
      if (event.position === null) piece.isLost = true;
      else piece.rows.push(event as EventRow);
    }
    return pieces;
  }

  /** Whether this is an event of the merchant, at this position. */
  async isAt(merchantId: string, { position, id }: EventPlace): Promise<boolean> {
    const rows = await this.prisma.$queryRaw<unknown[]>`
      SELECT 1 FROM events WHERE position = ${position}::bigint AND id = ${id} AND merchant_id = ${merchantId}`;
    return rows.length === 1;
  }
}

/** Of an event that has left meanwhile there is none, and nothing follows it: its reader asks again, and learns that its place is lost. */
function transactionOf(position: bigint): Prisma.Sql {
  if (position === 0n) return Prisma.sql`'0'::xid8`;
  return Prisma.sql`(SELECT b.transaction_id FROM events b WHERE b.position = ${position}::bigint)`;
}
