import { Injectable } from '@nestjs/common';
import { IsIn, IsOptional } from 'class-validator';
import { ListReads, Prisma, type PrismaService } from '#database';
import { prefixOf } from '#fiscal-domain';
import { findArchiveOfPaid, findArchiveOfProviderRef } from '#ledger';
import { PAYMENT_STATES, PROVIDERS, type PaymentState, type ProviderCode } from '#payments';
import { idAt } from '../http/id-times.js';
import { pageOf, PageQuery, pageRequest, type Page, type PageRequest } from '../http/paging.js';
import { IsPlainText, IsTimestamp, IsTiyinText, readTimestamp } from '../http/query-rules.js';
import { paymentArchived, readWholeTime } from './missing-payment.js';
import { PAYMENT_COLUMNS, PaymentRows } from './repository/payment-rows.repository.js';
import { paymentFacts, type PaymentRow, type PaymentView } from './payment-view.js';

/** A page reads no documents: whose goods the money is for stands at the payment itself. */
export type PaymentSummary = Omit<PaymentView, 'receipt' | 'further_receipts' | 'sellers'> & {
  receipt_id: string;
  /** Of a payment for several receipts: the others. */
  further_receipt_ids: string[];
};

/** Everything that is given must hold. `from` is within, `to` is not. */
export class PaymentsQuery extends PageQuery {
  @IsOptional()
  @IsIn(PAYMENT_STATES)
  status?: PaymentState;

  @IsOptional()
  @IsIn(PROVIDERS)
  provider?: ProviderCode;

  @IsOptional()
  @IsPlainText(64)
  receipt_id?: string;

  /** The provider's id of it. */
  @IsOptional()
  @IsPlainText(255)
  provider_ref?: string;

  /** Tiyin, both ends within. */
  @IsOptional()
  @IsTiyinText()
  amount_min?: string;

  @IsOptional()
  @IsTiyinText()
  amount_max?: string;

  @IsOptional()
  @IsTimestamp()
  created_from?: string;

  @IsOptional()
  @IsTimestamp()
  created_to?: string;
}

/** What a page's search came to. */
interface Found {
  /** Newest first; at most one more than the page holds. */
  ids: string[];
  walked: number;
  /** The oldest that was read. */
  walked_to: string | null;
}

/** What is only read off the rows is searched in so many for one page. */
const WALKED = 5_000;
/** The others have an index: few payments stand in them (`payments_under_way`). */
const ENDED: ReadonlySet<PaymentState> = new Set([
  'captured',
  'voided',
  'refunded',
  'declined',
  'expired',
  'cancelled',
]);
/** The words stand in the statement itself: PostgreSQL proves that a partial index fits from constants. */
const STATE_IS: ReadonlyMap<PaymentState, Prisma.Sql> = new Map(
  PAYMENT_STATES.map((state) => [state, Prisma.raw(`state = '${state}'`)]),
);

/** GET /v1/payments: the merchant's own, newest first. */
@Injectable()
export class SearchPayments {
  constructor(
    private readonly reads: ListReads,
    private readonly rows: PaymentRows,
  ) {}

  /** One of them. @throws Problem 404; 410 */
  async find(merchantId: string, id: string): Promise<PaymentRow> {
    const row = await this.rows.find(merchantId, id);
    if (!row) throw await this.rows.missing(merchantId, id);
    return row;
  }

  /** @throws Problem 422 for a cursor that is none of this list; 410 */
  async page(merchantId: string, query: PaymentsQuery): Promise<Page<PaymentSummary>> {
    const request = pageRequest(query, 'pay');
    return this.reads.read((database) => readPage(database, merchantId, { query, request }));
  }
}

async function readPage(
  database: PrismaService,
  merchantId: string,
  { query, request }: { query: PaymentsQuery; request: PageRequest },
): Promise<Page<PaymentSummary>> {
  const [from, to] = [timeOf(query.created_from), timeOf(query.created_to)];
  const search = (): Promise<Page<PaymentSummary>> => searchPage(database, merchantId, { query, request });
  const page =
    from || to
      ? await readWholeTime(database, { of: 'merchant_id', id: merchantId, by: 'created_at', from, to }, search)
      : await search();
  if (page.data.length === 0) await refuseArchived(database, merchantId, query);
  return page;
}

/** What is asked for by its name must not pass for what never was. @throws Problem 410 */
async function refuseArchived(
  database: PrismaService,
  merchantId: string,
  { receipt_id: receiptId, provider_ref: providerRef }: PaymentsQuery,
): Promise<void> {
  const archive =
    (receiptId !== undefined && (await findArchiveOfPaid(database, merchantId, receiptId))) ||
    (providerRef !== undefined && (await findArchiveOfProviderRef(database, merchantId, providerRef)));
  if (archive) throw paymentArchived(archive);
}

async function searchPage(
  database: PrismaService,
  merchantId: string,
  { query, request }: { query: PaymentsQuery; request: PageRequest },
): Promise<Page<PaymentSummary>> {
  const [found] = await database.queryPlanned<Found>(paymentSearch(merchantId, query, request));
  const { ids = [], walked = 0, walked_to: walkedTo = null } = found ?? {};
  const page = pageOf(await readRows(database, merchantId, ids), request.limit, summaryOf);
  if (page.next_cursor !== null || !isWalked(query) || walked < WALKED || walkedTo === null) return page;
  return { ...page, next_cursor: Buffer.from(walkedTo).toString('base64url') };
}

function readRows(database: PrismaService, merchantId: string, ids: readonly string[]): Promise<PaymentRow[]> {
  if (ids.length === 0) return Promise.resolve([]);
  return database.queryHot<PaymentRow>(Prisma.sql`
    SELECT ${PAYMENT_COLUMNS} FROM payments
     WHERE id = ANY(${[...ids]}::text[]) AND merchant_id = ${merchantId} ORDER BY id DESC`);
}

/** The ids of one page: what indexes answer first, the rest over no more than {@link WALKED} of those. */
export function paymentSearch(merchantId: string, query: PaymentsQuery, { limit, afterId }: PageRequest): Prisma.Sql {
  const walked = isWalked(query) ? WALKED : limit + 1;
  return Prisma.sql`
    WITH walked AS MATERIALIZED (
      SELECT id, state, provider, amount_tiyin FROM payments
       WHERE ${Prisma.join(indexed(merchantId, query, afterId), ' AND ')} ORDER BY id DESC LIMIT ${walked}
    )
    SELECT ARRAY(SELECT id FROM walked WHERE ${Prisma.join(readOff(query), ' AND ')} ORDER BY id DESC LIMIT ${limit + 1}) AS ids,
           (SELECT count(*)::int4 FROM walked) AS walked, (SELECT min(id) FROM walked) AS walked_to`;
}

function isWalked({ status, provider, amount_min: min, amount_max: max }: PaymentsQuery): boolean {
  return (status !== undefined && ENDED.has(status)) || [provider, min, max].some((given) => given !== undefined);
}

function indexed(merchantId: string, query: PaymentsQuery, afterId: string | null): Prisma.Sql[] {
  const conditions = [Prisma.sql`merchant_id = ${merchantId}`];
  const [from, to] = [timeOf(query.created_from), timeOf(query.created_to)];
  if (afterId !== null) conditions.push(Prisma.sql`id < ${afterId}`);
  if (query.receipt_id !== undefined) {
    // The first receipt of a payment, or a further one, which names it.
    conditions.push(Prisma.sql`id IN (
      SELECT p.id FROM payments p WHERE p.receipt_id = ${query.receipt_id}
      UNION ALL
      SELECT r.payment_id FROM receipts r WHERE r.id = ${query.receipt_id} AND r.merchant_id = ${merchantId} AND r.refund_of IS NULL)`);
  }
  if (query.provider_ref !== undefined) {
    // By the index that keeps a provider's ids unique, account by account.
    conditions.push(Prisma.sql`id IN (
      SELECT p.id FROM provider_accounts a JOIN payments p ON p.account_id = a.id AND p.provider_ref = ${query.provider_ref}
       WHERE a.merchant_id = ${merchantId})`);
  }
  if (query.status !== undefined && !ENDED.has(query.status)) conditions.push(stateIs(query.status));
  if (from)
    conditions.push(
      Prisma.sql`created_at >= ${from}::timestamptz AND id >= ${idAt(prefixOf('pay', merchantId), from, -1)}`,
    );
  if (to)
    conditions.push(Prisma.sql`created_at < ${to}::timestamptz AND id < ${idAt(prefixOf('pay', merchantId), to, 1)}`);
  return conditions;
}

function readOff({ status, provider, amount_min: min, amount_max: max }: PaymentsQuery): Prisma.Sql[] {
  const conditions = [Prisma.sql`true`];
  if (status !== undefined) conditions.push(stateIs(status));
  if (provider !== undefined) conditions.push(Prisma.sql`provider = ${provider}`);
  if (min !== undefined) conditions.push(Prisma.sql`amount_tiyin >= ${min}::text::bigint`);
  if (max !== undefined) conditions.push(Prisma.sql`amount_tiyin <= ${max}::text::bigint`);
  return conditions;
}

function stateIs(state: PaymentState): Prisma.Sql {
  return STATE_IS.get(state) ?? Prisma.sql`false`;
}

function timeOf(text: string | undefined): Date | null {
  return text === undefined ? null : readTimestamp(text);
}

function summaryOf(row: PaymentRow): PaymentSummary {
  return { ...paymentFacts(row), receipt_id: row.receipt_id, further_receipt_ids: row.further_receipts };
}
