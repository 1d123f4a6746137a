import { Injectable } from '@nestjs/common';
import { Prisma, ReportDatabase, PrismaService } from '#database';
import type { ProviderCode } from '#payments';
import type { PageRequest } from '../../http/paging.js';
import { readWholeTime } from '../missing-payment.js';
import type { Difference, DifferenceKind, KnownPayment, Period } from './judge-payment.js';
import type { RegisterForm } from './register-form.js';

const DAY_MS = 86_400_000;
/** Of a day in Tashkent. */
const beginMs = (day: string): number => Date.parse(`${day}T00:00:00+05:00`);

/** How many of each kind; those that are none are left out. */
export type DifferenceCounts = Partial<Record<DifferenceKind, number>>;

/** Sums of one day in Tashkent, tiyin. */
export interface CountedDay {
  day: string;
  /** By the register. */
  theirs: { payments: number; paid: number; refunded: number; commission: number };
  /** By our own books: payments that were taken on this day, and what of them has gone back since. */
  ours: { payments: number; paid: number; refunded: number };
  /** What differs on this day. */
  differences: DifferenceCounts;
}

/** As a report has it. */
export interface SettlementDay extends Omit<CountedDay, 'differences'> {
  /** Absent from reports that were made before it was counted by day. */
  differences?: DifferenceCounts;
}

export interface SettlementReport {
  rows: number;
  left_out: number;
  differences: DifferenceCounts;
  days: SettlementDay[];
}

export interface SettlementRow {
  id: string;
  account_id: string;
  provider: ProviderCode;
  format: 'csv' | 'xlsx';
  day_from: Date;
  day_to: Date;
  report: SettlementReport;
  created_at: Date;
}

export interface DifferenceRow {
  number: number;
  kind: DifferenceKind;
  day: Date | null;
  payment_id: string | null;
  receipt_id: string | null;
  provider_ref: string | null;
  row: number | null;
  ours_tiyin: bigint | null;
  theirs_tiyin: bigint | null;
  detail: string;
}

export interface NewSettlement {
  id: string;
  merchantId: string;
  accountId: string;
  provider: ProviderCode;
  format: 'csv' | 'xlsx';
  period: Period;
  report: SettlementReport;
  differences: readonly Difference[];
}

/** Of one register; how many there are of each kind is counted beyond them. */
export const MAX_DIFFERENCES = 2_000;
/** Of one merchant: older ones go. A year of days. */
const MAX_SETTLEMENTS = 400;
const ROWS_PER_READ = 1_000;
const COLUMNS = Prisma.sql`id, account_id, provider, format, day_from, day_to, report, created_at`;
const PAYMENT = Prisma.sql`
  p.id, p.number, p.provider_ref, p.receipt_id, p.state, p.amount_tiyin, p.refunded_tiyin,
  -- Of several receipts one that is not registered speaks for all.
  coalesce((SELECT min(o.status::text) FROM receipts o WHERE o.id = ANY(p.further_receipts) AND o.status <> 'registered'
             AND r.status = 'registered'), r.status::text) AS receipt_status`;

/** Registers of providers, and what they are compared with. */
@Injectable()
export class SettlementRepository {
  constructor(
    private readonly prisma: PrismaService,
    private readonly reports: ReportDatabase,
  ) {}

  async form(merchantId: string, provider: ProviderCode): Promise<RegisterForm | null> {
    const [row] = await this.prisma.$queryRaw<{ form: RegisterForm }[]>`
      SELECT form FROM settlement_forms WHERE merchant_id = ${merchantId} AND provider = ${provider}`;
    return row?.form ?? null;
  }

  /** Payments of an account by the provider's ids and by ours; one that was charged beyond its payment by that id too. */
  paymentsOf(
    accountId: string,
    { providerRefs, ourRefs }: { providerRefs: readonly string[]; ourRefs: readonly string[] },
  ): Promise<KnownPayment[]> {
    const refs = [...providerRefs];
    const numbers = ourRefs.filter((ref) => /^\d{1,18}$/.test(ref)).map(BigInt);
    return this.prisma.$queryRaw<KnownPayment[]>`
      SELECT ${PAYMENT}, NULL AS extra_ref FROM payments p JOIN receipts r ON r.id = p.receipt_id
       WHERE p.account_id = ${accountId} AND p.provider_ref = ANY(${refs}::text[])
      UNION ALL
      SELECT ${PAYMENT}, NULL FROM payments p JOIN receipts r ON r.id = p.receipt_id
       WHERE p.account_id = ${accountId} AND p.id = ANY(${[...ourRefs]}::text[])
      UNION ALL
      SELECT ${PAYMENT}, NULL FROM payments p JOIN receipts r ON r.id = p.receipt_id
       WHERE p.account_id = ${accountId} AND p.number = ANY(${numbers}::int8[])
      UNION ALL
      SELECT ${PAYMENT}, c.provider_ref FROM extra_charges c JOIN payments p ON p.id = c.payment_id
        JOIN receipts r ON r.id = p.receipt_id
       WHERE c.account_id = ${accountId} AND c.provider_ref = ANY(${refs}::text[]) AND c.state <> 'ours'`;
  }

  /** Taken in the period by our clock, and not wholly given back since; read page by page. */
  async *taken(accountId: string, { from, to }: Period): AsyncGenerator<TakenPayment[], void, undefined> {
    let after = { at: new Date(0), id: '' };
    for (;;) {
      const rows = await this.prisma.$queryRaw<TakenPayment[]>`
        SELECT p.id, p.receipt_id, p.provider_ref, p.amount_tiyin, p.refunded_tiyin, p.captured_at,
               to_char(p.captured_at AT TIME ZONE 'Asia/Tashkent', 'YYYY-MM-DD') AS day
          FROM payments p
         WHERE p.account_id = ${accountId} AND p.captured_at IS NOT NULL
           AND p.captured_at >= (${from}::text::date)::timestamp AT TIME ZONE 'Asia/Tashkent'
           AND p.captured_at < (${to}::text::date + 1)::timestamp AT TIME ZONE 'Asia/Tashkent'
           AND (p.captured_at, p.id) > (${after.at}::timestamptz, ${after.id})
         ORDER BY p.captured_at, p.id LIMIT ${ROWS_PER_READ}::int4`;
      if (rows.length > 0) yield rows;
      const last = rows.at(-1);
      if (!last || rows.length < ROWS_PER_READ) return;
      after = { at: last.captured_at, id: last.id };
    }
  }

  /** What is read of a period, as long as all that was taken in it is here. @throws Problem 410 */
  whileWhole<T>(accountId: string, { from, to }: Period, read: () => Promise<T>): Promise<T> {
    const days = { from: new Date(beginMs(from)), to: new Date(beginMs(to) + DAY_MS) };
    return readWholeTime(this.prisma, { of: 'account_id', id: accountId, by: 'captured_at', ...days }, read);
  }

  async store(made: NewSettlement): Promise<SettlementRow> {
    const { id, merchantId, period } = made;
    const differences = JSON.stringify(made.differences.map((each, index) => ({ number: index + 1, ...rowOf(each) })));
    return this.prisma.$transaction(async (tx) => {
      const [row] = await tx.$queryRaw<SettlementRow[]>`
        INSERT INTO settlements (id, merchant_id, account_id, provider, format, day_from, day_to, report)
        VALUES (${id}, ${merchantId}, ${made.accountId}, ${made.provider}, ${made.format}, ${period.from}::text::date,
                ${period.to}::text::date, ${JSON.stringify(made.report)}::jsonb) RETURNING ${COLUMNS}`;
      if (!row) throw new Error('the settlement was not written');
      await tx.$executeRaw`
        INSERT INTO settlement_differences
        SELECT ${id}, n.* FROM jsonb_to_recordset(${differences}::jsonb) AS n(number int, kind text, day date,
               payment_id text, receipt_id text, provider_ref text, "row" int, ours_tiyin int8, theirs_tiyin int8, detail text)`;
      await tx.$executeRaw`
        WITH old AS (
          DELETE FROM settlements WHERE id IN (SELECT id FROM settlements WHERE merchant_id = ${merchantId}
                                                ORDER BY id DESC OFFSET ${MAX_SETTLEMENTS}::int4) RETURNING id)
        DELETE FROM settlement_differences WHERE settlement_id IN (SELECT id FROM old)`;
      return row;
    });
  }

  /** The newest first. */
  page(merchantId: string, { limit, afterId }: PageRequest): Promise<SettlementRow[]> {
    return this.reports.$queryRaw<SettlementRow[]>`
      SELECT ${COLUMNS} FROM settlements
       WHERE merchant_id = ${merchantId} AND (${afterId}::text IS NULL OR id < ${afterId}::text)
       ORDER BY id DESC LIMIT ${limit + 1}::int4`;
  }

  async find(merchantId: string, id: string): Promise<SettlementRow | null> {
    const [row] = await this.prisma.$queryRaw<SettlementRow[]>`
      SELECT ${COLUMNS} FROM settlements WHERE id = ${id} AND merchant_id = ${merchantId}`;
    return row ?? null;
  }

  differences(id: string, after: number, limit: number): Promise<DifferenceRow[]> {
    return this.prisma.$queryRaw<DifferenceRow[]>`
      SELECT number, kind, day, payment_id, receipt_id, provider_ref, "row", ours_tiyin, theirs_tiyin, detail
        FROM settlement_differences WHERE settlement_id = ${id} AND number > ${after}::int4
       ORDER BY number LIMIT ${limit}::int4`;
  }
}

export interface TakenPayment {
  id: string;
  receipt_id: string;
  provider_ref: string | null;
  amount_tiyin: bigint;
  refunded_tiyin: bigint;
  captured_at: Date;
  /** In Tashkent. */
  day: string;
}

/** What PostgreSQL cannot hold does not stand in a reference. */
const UNSTORABLE = /[\u0000\ud800-\udfff]/gu;

function rowOf(each: Difference): Record<string, unknown> {
  return {
    ...{ kind: each.kind, day: each.day, payment_id: each.paymentId, receipt_id: each.receiptId, row: each.row },
    provider_ref: each.providerRef?.replaceAll(UNSTORABLE, '') ?? null,
    ...{ ours_tiyin: each.oursTiyin, theirs_tiyin: each.theirsTiyin, detail: each.detail.replaceAll(UNSTORABLE, '') },
  };
}
