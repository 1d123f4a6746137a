import { Injectable } from '@nestjs/common';
import { IsOptional, IsString, Matches, MaxLength } from 'class-validator';
import { Prisma, PrismaService } from '#database';
import { snakeCased } from '../../http/snake-cased.js';
import { readCursor, writeCursor } from '../../goods/catalog/cursors.js';
import { pageBy } from '../../http/paging.js';
import { readTimestamp } from '../../http/query-rules.js';
import { missingReceipt } from '../../receipts/missing-receipt.js';
import { TIMELINE_SOURCES, type TimelineOf } from './timeline-sources.js';

export class TimelineQuery {
  /** 1–500, default 200. */
  @IsOptional()
  @Matches(/^([1-9]\d?|[1-4]\d\d|500)$/, { message: 'limit must be a number from 1 to 500' })
  limit?: string;

  /** `next_cursor` of the page before. */
  @IsOptional()
  @IsString()
  @MaxLength(300)
  cursor?: string;
}

/** Something that has happened to a receipt, its money or its messengers. */
export interface TimelineEntry {
  /** The same at every reading. */
  id: string;
  at: string;
  kind: TimelineKind;
  /** The receipt, refund or payment that it is about. */
  subject_id: string;
  /** As it is now; null where there is none. */
  status: string | null;
  /** By `kind`: docs/timeline.md. */
  data: Record<string, unknown>;
}

export type TimelineKind =
  | 'accepted'
  | 'left'
  | 'moved'
  | 'attempt_opened'
  | 'attempt_closed'
  | 'attempt_archived'
  | 'event'
  | 'refund'
  | 'payment'
  | 'payment_call'
  | 'payment_refund'
  | 'provider_call'
  | 'delivery'
  | 'delivery_attempt';

export interface Timeline {
  /** Oldest first. */
  data: TimelineEntry[];
  next_cursor: string | null;
}

interface Row extends Omit<TimelineEntry, 'at'> {
  at: Date;
  rank: number;
}

type Place = readonly [at: string, rank: number, id: string];

const DEFAULT_LIMIT = 200;
/** Refunds of one receipt whose own events and deliveries are shown with it; each has a timeline of its own. */
const MAX_REFUNDS = 50;
const FIRST: Place = ['0001-01-01T00:00:00.000Z', -1, ''];

/** GET /v1/receipts/{id}/timeline: what has happened to it, wherever that is written down, in one order. */
@Injectable()
export class ReadTimeline {
  constructor(private readonly prisma: PrismaService) {}

  /** @throws Problem 404; 410; 422 for a cursor that is none of this list */
  async execute(merchantId: string, receiptId: string, query: TimelineQuery): Promise<Timeline> {
    const limit = query.limit === undefined ? DEFAULT_LIMIT : Number(query.limit);
    const after = query.cursor === undefined ? FIRST : readCursor<Place>(query.cursor, isPlace);
    const of = await this.find(merchantId, receiptId);
    if (!of) throw await missingReceipt(this.prisma, merchantId, receiptId);
    const rows = await this.prisma.queryPlanned<Row>(timelinePage(of, after, limit + 1));
    return pageBy(rows, limit, entryOf, ({ at, rank, id }) => writeCursor([at.toISOString(), rank, id]));
  }

  private async find(merchantId: string, receiptId: string): Promise<TimelineOf | null> {
    const [row] = await this.prisma.$queryRaw<{ payment_id: string | null; refunds: string[] }[]>`
      SELECT coalesce((SELECT p.id FROM payments p WHERE p.receipt_id = r.id AND p.merchant_id = ${merchantId}),
                      -- A further receipt of a payment names it.
                      (SELECT p.id FROM payments p WHERE p.id = r.payment_id AND r.id = ANY(p.further_receipts)
                                                     AND p.merchant_id = ${merchantId})) AS payment_id,
             ARRAY(SELECT f.id FROM receipts f WHERE f.refund_of = r.id AND f.merchant_id = ${merchantId}
                    ORDER BY f.id LIMIT ${MAX_REFUNDS}) AS refunds
        FROM receipts r WHERE r.id = ${receiptId} AND r.merchant_id = ${merchantId}`;
    if (!row) return null;
    const subjects = [receiptId, ...(row.payment_id === null ? [] : [row.payment_id]), ...row.refunds];
    return { merchantId, receiptId, paymentId: row.payment_id, subjects };
  }
}

/** Of each source no more than the page can hold. */
export function timelinePage(of: TimelineOf, [at, rank, id]: Place, limit: number): Prisma.Sql {
  const order = Prisma.sql`at, rank, id COLLATE "C"`;
  const pieces = TIMELINE_SOURCES.map(
    (source) => Prisma.sql`
      (SELECT * FROM (${source(of)}) AS s(at, rank, id, kind, subject_id, status, data)
        WHERE (at, rank, id COLLATE "C") > (${at}::text::timestamptz, ${rank}::int4, ${id}) ORDER BY ${order} LIMIT ${limit})`,
  );
  return Prisma.sql`
    SELECT at, rank, id, kind, subject_id, status, data FROM (${Prisma.join(pieces, ' UNION ALL ')}) AS entries
     ORDER BY ${order} LIMIT ${limit}`;
}

function entryOf({ id, at, kind, subject_id, status, data }: Row): TimelineEntry {
  return { id, at: at.toISOString(), kind, subject_id, status, data: snakeCased(data) };
}

function isPlace(parts: readonly unknown[]): boolean {
  const [at, rank, id] = parts;
  return (
    parts.length === 3 &&
    typeof at === 'string' &&
    readTimestamp(at) !== null &&
    typeof rank === 'number' &&
    Number.isInteger(rank) &&
    Math.abs(rank) < 100 &&
    typeof id === 'string' &&
    /^[\x21-\x7e]{1,100}$/.test(id)
  );
}
