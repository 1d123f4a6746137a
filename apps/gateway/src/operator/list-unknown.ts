import { Injectable } from '@nestjs/common';
import { Prisma, PrismaService } from '#database';
import { isId, type Baseline, type CounterReading } from '#fiscal-domain';
import { answeredStatus, ENDED_AND_FOUND, findReceipts } from '#ledger';
import { limitOf, strangeCursor, type Page, type PageQuery } from '../http/paging.js';
import { receiptView, type ReceiptView } from '../receipts/receipt-view.js';
import { ReceiptUrls } from '../receipts/receipt-url.js';
import { differenceIn, explanationIn, foundLateIn, readingIn } from './attempt-outcome.js';

/** A receipt that a person may have to decide, with everything that is known about it. Money in tiyin, times in UTC. */
export interface UnknownView {
  receipt: ReceiptView;
  device: {
    id: string;
    name: string;
    branch_id: string;
    state: string;
    state_reason: string | null;
    terminal_id: string | null;
    /** Whether the register knows idempotency keys. */
    extensions: boolean;
    sharing: 'exclusive' | 'shared';
  };
  attempt: {
    id: string;
    number: number;
    /** `open`: the relay is still finding out, or cannot reach the register. `unknown`: waits for a decision; of a rejected or cancelled receipt, what its register has of it all the same. */
    state: 'open' | 'unknown';
    created_at: string;
    parked_at: string | null;
    http_status: number | null;
    /** The lost request may still reach the register: `not_registered` needs `confirm_unsettled`. */
    unsettled: boolean;
  };
  /** The register's state before. */
  baseline: {
    terminal_id: string | null;
    journal_id: string | null;
    sequence: number | null;
    reading: ReadingView | null;
  };
  /** Its counters afterwards. */
  reading: ReadingView | null;
  /** Baseline and reading compared, in words. */
  difference: string | null;
  /** Why it is not known, in words. */
  explanation: string | null;
  /** Everything that the relay wrote down about the attempt, as it is; for support. */
  evidence: Record<string, unknown> | null;
  last_registered: {
    receipt_id: string;
    terminal_id: string;
    receipt_seq: number;
    fiscal_sign: string | null;
    verification_url: string | null;
    registered_at: string;
  } | null;
  /** Accepted receipts that wait for this device. */
  queue: number;
  blocked_since: string;
  blocked_seconds: number;
}

interface ReadingView {
  terminal_id: string;
  sequence: number;
  sale_cash: number;
  sale_card: number;
  refund_cash: number;
  refund_card: number;
  sale_vat: number;
  refund_vat: number;
}

interface UnknownRow {
  id: string;
  receipt_id: string;
  device_id: string;
  number: number;
  state: string;
  baseline: Baseline;
  outcome: Record<string, unknown> | null;
  http_status: number | null;
  created_at: Date;
  closed_at: Date | null;
  blocked_seconds: number;
  device_name: string;
  branch_id: string;
  device_state: string;
  state_reason: string | null;
  terminal_id: string | null;
  sharing: string | null;
  must_settle: boolean | null;
  queue: number;
  last_id: string | null;
  last_terminal_id: string;
  last_seq: bigint;
  last_sign: string | null;
  last_url: string | null;
  last_at: Date;
}

/** An open attempt is everyday work for as long as a register may take; after this it counts as blocking its lane. */
const BLOCKED_AFTER_SECONDS = 30;
/** What waits behind it is counted no further than this. */
const MAX_QUEUE = 10_000;

/** Where a page ended. */
interface Place {
  receiptId: string;
  attemptId: string;
}

const BEFORE_ALL: Place = { receiptId: '', attemptId: '' };

/** GET /v1/operator/unknown: the oldest receipt first, so that what has waited longest is seen first. */
@Injectable()
export class ListUnknown {
  constructor(
    private readonly prisma: PrismaService,
    private readonly urls: ReceiptUrls,
  ) {}

  /** @throws Problem 422 for a cursor that is none */
  async execute(merchantId: string, query: PageQuery): Promise<Page<UnknownView>> {
    const limit = limitOf(query);
    const after = query.cursor === undefined ? BEFORE_ALL : await this.placeOf(merchantId, query.cursor);
    const rows = await this.readPage(merchantId, after, limit + 1);
    const page = rows.slice(0, limit);
    const found = await findReceipts(
      this.prisma,
      page.map((row) => row.receipt_id),
    );
    const receipts = new Map(found.map((row) => [row.id, row]));
    const data = page.flatMap((row) => {
      const receipt = receipts.get(row.receipt_id);
      return receipt ? [unknownView(row, receiptView(receipt, this.urls.urlOf(receipt.id)))] : [];
    });
    const last = rows.length > limit ? page.at(-1) : undefined;
    return { data, next_cursor: last ? Buffer.from(last.id).toString('base64url') : null };
  }

  /** The cursor is the last attempt's id. @throws Problem 422 */
  private async placeOf(merchantId: string, cursor: string): Promise<Place> {
    const attemptId = Buffer.from(cursor, 'base64url').toString('latin1');
    if (isId('att', attemptId)) {
      const [row] = await this.prisma.$queryRaw<{ receipt_id: string }[]>`
        SELECT a.receipt_id FROM attempts a JOIN receipts r ON r.id = a.receipt_id
         WHERE a.id = ${attemptId} AND r.merchant_id = ${merchantId}`;
      if (row) return { receiptId: row.receipt_id, attemptId };
    }
    throw strangeCursor();
  }

  /**
   * From the merchant's own receipts and registers: attempts that did not end are one index for all merchants, and after a copy was put back others may
   * have a million of them.
   */
  private readPage(merchantId: string, after: Place, limit: number): Promise<UnknownRow[]> {
    return this.prisma.$queryRaw<UnknownRow[]>`
      WITH unknown AS MATERIALIZED (
        -- One more: that at which the page before ended may have no further attempt.
        SELECT r.id FROM receipts r WHERE r.merchant_id = ${merchantId} AND r.status = 'unknown' AND r.id >= ${after.receiptId}
           AND EXISTS (SELECT FROM attempts a WHERE a.receipt_id = r.id AND a.state::text = 'unknown')
         ORDER BY r.merchant_id, r.id LIMIT ${limit}::int4 + 1
      ), blocked AS MATERIALIZED (
        SELECT c.receipt_id AS id FROM devices d JOIN attempt_claims c ON c.device_id = d.id
         WHERE d.merchant_id = ${merchantId} AND c.receipt_id >= ${after.receiptId}
           AND c.created_at < now() - make_interval(secs => ${BLOCKED_AFTER_SECONDS}::int4)
      ), late AS MATERIALIZED (
        -- Hardly ever any, of whichever merchant.
        SELECT DISTINCT a.receipt_id AS id FROM attempts a JOIN receipts r ON r.id = a.receipt_id
         WHERE ${ENDED_AND_FOUND} AND r.merchant_id = ${merchantId} AND r.id >= ${after.receiptId}
      ), page AS MATERIALIZED (
        SELECT a.* FROM (SELECT id, 'unknown' AS state FROM unknown UNION ALL SELECT id, 'open' FROM blocked UNION ALL SELECT id, 'late' FROM late) w
         CROSS JOIN LATERAL (SELECT * FROM attempts WHERE receipt_id = w.id
                                AND CASE w.state WHEN 'late' THEN outcome ? 'found_late' ELSE state::text = w.state END OFFSET 0) a
         WHERE (a.receipt_id, a.id) > (${after.receiptId}, ${after.attemptId})
         ORDER BY a.receipt_id, a.id LIMIT ${limit}::int4
      ), placed AS MATERIALIZED (
        -- As a column: behind a policy an index is not asked for what a function makes of another row.
        SELECT p.id, coalesce(p.baseline ->> 'terminalId', d.terminal_id) AS terminal_id FROM page p JOIN devices d ON d.id = p.device_id
      )
      SELECT p.id, p.receipt_id, p.device_id, p.number, p.state, p.baseline, p.outcome, p.created_at,
             ${answeredStatus(Prisma.sql`p`)} AS http_status,
             p.closed_at, extract(epoch FROM now() - p.created_at)::float8 AS blocked_seconds,
             d.name AS device_name, d.branch_id, d.state AS device_state, d.state_reason, d.terminal_id,
             d.profile ->> 'sharing' AS sharing, l.must_settle,
             lane_length(d.id, ${MAX_QUEUE}::int) AS queue,
             good.id AS last_id, good.terminal_id AS last_terminal_id, good.receipt_seq AS last_seq,
             good.fiscal_sign AS last_sign, good.verification_url AS last_url, good.registered_at AS last_at
        FROM page p JOIN placed ON placed.id = p.id JOIN devices d ON d.id = p.device_id LEFT JOIN lanes l ON l.device_id = d.id
        LEFT JOIN LATERAL (
          SELECT g.* FROM registration_claims c JOIN receipts g ON g.id = c.receipt_id
           WHERE c.terminal_id = placed.terminal_id AND c.merchant_id = ${merchantId}
           ORDER BY c.receipt_seq DESC LIMIT 1
        ) good ON true
       ORDER BY p.receipt_id, p.id`;
  }
}

function unknownView(row: UnknownRow, receipt: ReceiptView): UnknownView {
  const { baseline, outcome } = row;
  const reading = readingIn(outcome);
  const isOpen = row.state === 'open';
  const isParked = row.state === 'unknown' && foundLateIn(outcome).length === 0;
  return {
    receipt,
    device: {
      id: row.device_id,
      name: row.device_name,
      branch_id: row.branch_id,
      state: row.device_state,
      state_reason: row.state_reason,
      terminal_id: row.terminal_id,
      extensions: baseline.journalId !== null,
      sharing: row.sharing === 'exclusive' ? 'exclusive' : 'shared',
    },
    attempt: {
      id: row.id,
      number: row.number,
      state: isOpen ? 'open' : 'unknown',
      created_at: row.created_at.toISOString(),
      parked_at: row.closed_at?.toISOString() ?? null,
      http_status: row.http_status,
      unsettled: baseline.journalId === null && reading === null && (isOpen || (isParked && row.must_settle === true)),
    },
    baseline: {
      terminal_id: baseline.terminalId,
      journal_id: baseline.journalId,
      sequence: baseline.sequence,
      reading: baseline.reading && readingView(baseline.reading),
    },
    reading: reading && readingView(reading),
    difference: differenceIn(outcome, baseline),
    explanation: explanationIn(outcome),
    evidence: outcome,
    last_registered: lastRegistered(row),
    queue: row.queue,
    blocked_since: row.created_at.toISOString(),
    blocked_seconds: Math.floor(row.blocked_seconds),
  };
}

function lastRegistered(row: UnknownRow): UnknownView['last_registered'] {
  if (row.last_id === null) return null;
  return {
    receipt_id: row.last_id,
    terminal_id: row.last_terminal_id,
    receipt_seq: Number(row.last_seq),
    fiscal_sign: row.last_sign,
    verification_url: row.last_url,
    registered_at: row.last_at.toISOString(),
  };
}

function readingView({ terminalId, sequence, sums }: CounterReading): ReadingView {
  return {
    terminal_id: terminalId,
    sequence,
    sale_cash: sums.saleCash,
    sale_card: sums.saleCard,
    refund_cash: sums.refundCash,
    refund_card: sums.refundCard,
    sale_vat: sums.saleVat,
    refund_vat: sums.refundVat,
  };
}
