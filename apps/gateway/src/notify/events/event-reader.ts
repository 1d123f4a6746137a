import { Injectable } from '@nestjs/common';
import { PrismaService, type Prisma } from '#database';
import { EventHorizon } from './event-horizon.js';
import type { EventRow } from './event-row.js';

type Reader = Pick<Prisma.TransactionClient, '$queryRaw'>;

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
             > (coalesce((SELECT b.transaction_id FROM events b WHERE b.position = ${after}::bigint), '0'::xid8), ${after}::bigint)
         AND e.transaction_id < ${this.horizon.limit}
       ORDER BY e.transaction_id, e.position LIMIT ${limit}`;
  }

  /** Whether this is an event of the merchant, at this position. */
  async isAt(merchantId: string, position: bigint, id: string): Promise<boolean> {
    const rows = await this.prisma.$queryRaw<unknown[]>`
      SELECT 1 FROM events WHERE position = ${position}::bigint AND id = ${id} AND merchant_id = ${merchantId}`;
    return rows.length === 1;
  }
}
