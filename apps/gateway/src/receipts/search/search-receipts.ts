import { Injectable } from '@nestjs/common';
import { ListReads, Prisma, type PrismaService } from '#database';
import { isId, normaliseText, prefixOf } from '#fiscal-domain';
import {
  findArchiveOf,
  receiptColumns,
  receiptsWithin,
  twoHalfYearsBefore,
  type ReceiptRow,
  type ReceiptsSince,
  type ReceiptsWithin,
  type Span,
} from '#ledger';
import { Problem } from '#problems';
import { limitOf, pageBy, pageRequest, strangeCursor, type Page } from '../../http/paging.js';
import { idAt } from '../../http/id-times.js';
import { readTimestamp } from '../../http/query-rules.js';
import { expectWhole, readWhole, receiptArchived } from '../missing-receipt.js';
import { receiptView, type ReceiptView } from '../receipt-view.js';
import { ReceiptUrls } from '../receipt-url.js';
import { claimsOf, conditionsOf, isByRegistration, isOfWholePlace, type ReceiptFilter } from './receipt-filter.js';
import type { ReceiptFilterQuery, ReceiptQuery } from './receipt-query.js';

/** Behind the ids of all receipts. */
const BEHIND_ALL = 'rcq';

/** Where the page before ended. */
export interface PageEnd {
  id: string;
  registeredAt: Date | null;
}

/** GET /v1/receipts: the merchant's own, newest first. */
@Injectable()
export class SearchReceipts {
  constructor(
    private readonly reads: ListReads,
    private readonly urls: ReceiptUrls,
  ) {}

  /** @throws Problem 422 for a cursor that is none of this list; 410 */
  async page(merchantId: string, query: ReceiptQuery): Promise<Page<ReceiptView>> {
    return this.reads.read((database) => this.readPage(database, merchantId, query));
  }

  /** Codes become ids. What is not the merchant's own simply finds nothing. @throws Problem 410 */
  filterOf(merchantId: string, query: ReceiptFilterQuery): Promise<ReceiptFilter> {
    return this.reads.read(async (database) => {
      const filter = await filterOf(database, merchantId, query);
      await expectAllHere(database, filter);
      return filter;
    });
  }

  private async readPage(database: PrismaService, merchantId: string, query: ReceiptQuery): Promise<Page<ReceiptView>> {
    const filter = await filterOf(database, merchantId, query);
    const { limit, after } = pageOf(query, isByRegistration(filter));
    const rows = await readWhole(database, { merchantId, spans: spansOf(filter) }, () =>
      readNewest(database, { filter, after }, limit),
    );
    if (rows.length === 0) await refuseArchived(database, filter);
    const view = (row: ReceiptRow): ReceiptView => receiptView(row, this.urls.urlOf(row.id));
    return pageBy(rows, limit, view, (last) => cursorOf(last, isByRegistration(filter)));
  }
}

/**
 * One more than the page has. First from two half-years, which are enough for most pages: all others, and the sums of refunds in them, are not asked
 * then. Where the page is not full, and there may be older ones, it is read from all of them.
 */
async function readNewest(
  database: PrismaService,
  { filter, after }: { filter: ReceiptFilter; after: PageEnd | null },
  limit: number,
): Promise<ReceiptRow[]> {
  // A plan made once for all values would choose the same index for a rare sum and for a common one.
  const readPlanned = (since: ReceiptsWithin | null): Promise<ReceiptRow[]> =>
    database.queryPlanned<ReceiptRow>(pageStatement(filter, { after, since }, limit + 1));
  const [claim] = claimsOf(filter);
  if (claim !== undefined) {
    const id = await claimedBy(database, claim);
    return id === null ? [] : readPlanned(receiptsWithin([id]));
  }
  const read = isOfWholePlace(filter)
    ? (since: ReceiptsSince | null) => database.queryHot<ReceiptRow>(keptPage(filter, { after, since }, limit + 1))
    : readPlanned;
  const since = newestOf(filter, after);
  if (since !== null) {
    const rows = await read(since);
    if (rows.length > limit || isWithin(filter, since)) return rows;
  }
  return read(null);
}

/** The one receipt that a claim is of, whose id says in which half-year it is; of two claims the statement of the page compares the other. */
async function claimedBy(database: PrismaService, claim: Prisma.Sql): Promise<string | null> {
  const [row] = await database.queryHot<{ receipt_id: string }>(claim);
  return row?.receipt_id ?? null;
}

/** Null: a list in another order than that of the ids, or of a sandbox, whose ids stand behind all times. */
function newestOf(filter: ReceiptFilter, after: PageEnd | null): ReceiptsSince | null {
  const { merchantId, createdTo } = filter;
  if (isByRegistration(filter) || prefixOf('rcp', merchantId) !== 'rcp') return null;
  const now = new Date();
  return twoHalfYearsBefore(after?.id ?? null, createdTo !== null && createdTo < now ? createdTo : now);
}

/** The filter finds nothing older. */
function isWithin({ createdFrom }: ReceiptFilter, { from }: ReceiptsSince): boolean {
  return createdFrom !== null && idAt('rcp', createdFrom, -1) >= from;
}

/** The times that a filter names: what it finds is to be all of them. */
function spansOf({ createdFrom, createdTo, registeredFrom, registeredTo }: ReceiptFilter): Span[] {
  const spans: Span[] = [
    { of: 'created_at', from: createdFrom, to: createdTo },
    { of: 'registered_at', from: registeredFrom, to: registeredTo },
  ];
  return spans.filter(({ from, to }) => from !== null || to !== null);
}

/** For a file, which does not show what is missing in it. @throws Problem 410 */
export async function expectAllHere(database: PrismaService, filter: ReceiptFilter): Promise<void> {
  await expectWhole(database, filter.merchantId, spansOf(filter));
  await refuseArchived(database, filter);
}

/** What was sold under an external id, or has a fiscal number, must not pass for what never was. @throws Problem 410 */
async function refuseArchived(database: PrismaService, filter: ReceiptFilter): Promise<void> {
  const [claim] = claimsOf(filter);
  const id = claim === undefined ? null : await claimedBy(database, claim);
  const archive = id === null ? null : await findArchiveOf(database, filter.merchantId, id);
  if (archive !== null) throw receiptArchived(archive);
}

async function filterOf(
  database: PrismaService,
  merchantId: string,
  query: ReceiptFilterQuery,
): Promise<ReceiptFilter> {
  const { branch_id: branch, cashier_id: cashier } = query;
  const timeOf = (text: string | undefined): Date | null => (text === undefined ? null : readTimestamp(text));
  const sumOf = (text: string | undefined): bigint | null => (text === undefined ? null : BigInt(text));
  return {
    merchantId,
    externalId: query.external_id === undefined ? null : normaliseText(query.external_id),
    registration: registrationOf(query),
    status: query.status ?? null,
    type: query.type ?? null,
    deviceId: query.device_id ?? null,
    branchId:
      branch === undefined ? null : await placeId(database, Prisma.sql`branches`, { merchantId, named: branch }),
    cashierId:
      cashier === undefined ? null : await placeId(database, Prisma.sql`cashiers`, { merchantId, named: cashier }),
    totalMin: sumOf(query.total_min),
    totalMax: sumOf(query.total_max),
    createdFrom: timeOf(query.created_from),
    createdTo: timeOf(query.created_to),
    registeredFrom: timeOf(query.registered_from),
    registeredTo: timeOf(query.registered_to),
  };
}

/** @throws Problem 422 for half of it: a number alone is one of every terminal. */
function registrationOf({
  terminal_id: terminalId,
  receipt_seq: receiptSeq,
}: ReceiptFilterQuery): ReceiptFilter['registration'] {
  if (terminalId !== undefined && receiptSeq !== undefined) return { terminalId, receiptSeq: BigInt(receiptSeq) };
  if (terminalId === undefined && receiptSeq === undefined) return null;
  const missing = terminalId === undefined ? 'terminal_id' : 'receipt_seq';
  throw Problem.at(`/${missing}`, 'required', 'a fiscal document is found by terminal_id and receipt_seq together');
}

/** Archived ones too: their receipts are still there. */
async function placeId(
  database: PrismaService,
  table: Prisma.Sql,
  { merchantId, named }: { merchantId: string; named: string },
): Promise<string> {
  const [row] = await database.$queryRaw<{ id: string }[]>`
    SELECT id FROM ${table} WHERE merchant_id = ${merchantId} AND ${named} IN (id, code) LIMIT 1`;
  return row?.id ?? named;
}

/** Where a page begins, newest first, and which receipts alone it is of; null: the newest, all. */
export interface PageStart {
  after: PageEnd | null;
  since: ReceiptsWithin | null;
}

/** One page, newest first; the ids first, from the indexes, then the few rows. */
export function pageStatement(filter: ReceiptFilter, { after, since }: PageStart, limit: number): Prisma.Sql {
  const order = isByRegistration(filter) ? Prisma.sql`registered_at DESC, id DESC` : Prisma.sql`id DESC`;
  return orderedPage(filter, { order, where: comparison(filter, '<', after), since }, Prisma.sql`${limit}`);
}

/**
 * The same of all receipts, which every screen begins with, or of those of one place: one index fits whatever they have, so its plan is kept
 * (docs/adr/0160-a-page-that-keeps-its-plan.md).
 */
export function keptPage(
  { merchantId, deviceId, branchId, cashierId }: ReceiptFilter,
  { after, since }: { after: PageEnd | null; since: ReceiptsSince | null },
  limit: number,
): Prisma.Sql {
  const [from, before] = [since?.from ?? '', after?.id ?? BEHIND_ALL];
  return rowsOfPage(
    Prisma.sql`
      SELECT n.id FROM newest_receipts(${merchantId}, ${deviceId}, ${branchId}, ${cashierId}, ${from}, ${before}, ${limit}::int4) AS n(id)
       ORDER BY n.id DESC LIMIT ${limit}::int4`,
    { order: Prisma.sql`id DESC`, since },
  );
}

/** The same oldest first, no further than `last`. */
export function ascendingPageStatement(
  filter: ReceiptFilter,
  { after, last }: { after: PageEnd | null; last: PageEnd },
  limit: number,
): Prisma.Sql {
  const order = isByRegistration(filter) ? Prisma.sql`registered_at, id` : Prisma.sql`id`;
  const where = Prisma.sql`${comparison(filter, '>', after)} AND ${comparison(filter, '<=', last)}`;
  return orderedPage(filter, { order, where, since: null }, Prisma.sql`${limit}`);
}

function orderedPage(
  filter: ReceiptFilter,
  { order, where, since }: { order: Prisma.Sql; where: Prisma.Sql; since: ReceiptsWithin | null },
  limit: Prisma.Sql,
): Prisma.Sql {
  const within = since?.receipts ?? Prisma.empty;
  const parts = conditionsOf(filter).map(
    (condition) => Prisma.sql`
      (SELECT id, registered_at FROM receipts WHERE ${condition} AND ${where} ${within} ORDER BY ${order} LIMIT ${limit})`,
  );
  const ids = Prisma.sql`SELECT id FROM (${Prisma.join(parts, ' UNION ALL ')}) AS found ORDER BY ${order} LIMIT ${limit}`;
  return rowsOfPage(ids, { order, since });
}

/** The few rows of these ids. */
function rowsOfPage(
  ids: Prisma.Sql,
  { order, since }: { order: Prisma.Sql; since: ReceiptsWithin | null },
): Prisma.Sql {
  return Prisma.sql`
    WITH page AS MATERIALIZED (${ids})
    SELECT ${receiptColumns(since?.refunds)} FROM receipts
     WHERE id = ANY (ARRAY(SELECT page.id FROM page)) ${since?.receipts ?? Prisma.empty} ORDER BY ${order}`;
}

/** Ids by the order of the indexes and by that of the partitions. */
function comparison(filter: ReceiptFilter, operator: '<' | '>' | '<=', end: PageEnd | null): Prisma.Sql {
  if (end === null) return Prisma.sql`true`;
  const is = Prisma.raw(operator);
  if (!isByRegistration(filter)) return Prisma.sql`id ${is} ${end.id} AND id ${Prisma.raw(`~${operator}~`)} ${end.id}`;
  return Prisma.sql`(registered_at, id) ${is} (${end.registeredAt}::timestamptz, ${end.id})`;
}

function pageOf(query: ReceiptQuery, byRegistration: boolean): { limit: number; after: PageEnd | null } {
  if (!byRegistration) {
    const { limit, afterId } = pageRequest(query, 'rcp');
    return { limit, after: afterId === null ? null : { id: afterId, registeredAt: null } };
  }
  const limit = limitOf(query);
  if (query.cursor === undefined) return { limit, after: null };
  const [time = '', id = ''] = Buffer.from(query.cursor, 'base64url').toString('latin1').split('|');
  const registeredAt = readTimestamp(time);
  if (registeredAt === null || !isId('rcp', id)) throw strangeCursor();
  return { limit, after: { id, registeredAt } };
}

function cursorOf(last: ReceiptRow, byRegistration: boolean): string {
  const text = byRegistration ? `${last.registered_at?.toISOString() ?? ''}|${last.id}` : last.id;
  return Buffer.from(text).toString('base64url');
}
