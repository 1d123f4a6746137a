import { Prisma } from '#database';
import { prefixOf, type ReceiptStatus, type ReceiptType } from '#fiscal-domain';
import { idAt } from '../../http/id-times.js';

/** What receipts are searched by, read and resolved; null = whatever it is. Sums in tiyin. */
export interface ReceiptFilter {
  merchantId: string;
  externalId: string | null;
  /** The fiscal document: one terminal's number. */
  registration: { terminalId: string; receiptSeq: bigint } | null;
  status: ReceiptStatus | null;
  type: ReceiptType | null;
  deviceId: string | null;
  branchId: string | null;
  cashierId: string | null;
  totalMin: bigint | null;
  totalMax: bigint | null;
  createdFrom: Date | null;
  createdTo: Date | null;
  registeredFrom: Date | null;
  registeredTo: Date | null;
}

/**
 * The words stand in the statement itself: PostgreSQL proves that a partial index fits from constants, not from parameters. What most receipts
 * are is said as what they are not: behind row-level security it guesses by the form alone how many there are (docs/adr/0193-rare-values.md).
 */
const STATUS_IS: Readonly<Record<ReceiptStatus, Prisma.Sql>> = {
  awaiting_payment: Prisma.sql`status = 'awaiting_payment'`,
  accepted: Prisma.sql`status = 'accepted'`,
  sending: Prisma.sql`status = 'sending'`,
  registered: Prisma.sql`status NOT IN ('awaiting_payment', 'accepted', 'sending', 'unknown', 'rejected', 'cancelled')`,
  rejected: Prisma.sql`status = 'rejected'`,
  unknown: Prisma.sql`status = 'unknown'`,
  cancelled: Prisma.sql`status = 'cancelled'`,
};
/** Most are sales. */
const IS_SALE = Prisma.sql`type NOT IN ('refund', 'advance', 'credit')`;
const TYPE_IS: Readonly<Record<Exclude<ReceiptType, 'sale'>, Prisma.Sql>> = {
  refund: Prisma.sql`type = 'refund'`,
  advance: Prisma.sql`type = 'advance'`,
  credit: Prisma.sql`type = 'credit'`,
};
const UNDER_WAY = Prisma.sql`status IN ('awaiting_payment', 'accepted', 'sending', 'unknown')`;
/** Of the index by registration. */
const REGISTERED = Prisma.sql`status = 'registered'`;
const AT_REST = Prisma.sql`status NOT IN ('awaiting_payment', 'accepted', 'sending', 'unknown')`;

/** Receipts found by their registration come in its order, all others in that of their ids, which is that of their making. */
export function isByRegistration(filter: ReceiptFilter): boolean {
  return filter.registeredFrom !== null || filter.registeredTo !== null;
}

/** All receipts of the merchant, or all of one of its places. */
export function isOfWholePlace({ merchantId: _merchantId, ...conditions }: ReceiptFilter): boolean {
  const { deviceId, branchId, cashierId, ...others } = conditions;
  const places = [deviceId, branchId, cashierId].filter((place) => place !== null);
  return places.length <= 1 && Object.values(others).every((condition) => condition === null);
}

/** For filters that at most one receipt fits: statements that say which. */
export function claimsOf({ merchantId, externalId, registration }: ReceiptFilter): Prisma.Sql[] {
  const claims: Prisma.Sql[] = [];
  if (externalId !== null)
    claims.push(
      Prisma.sql`SELECT c.receipt_id FROM external_id_claims c WHERE c.merchant_id = ${merchantId} AND c.external_id = ${externalId}`,
    );
  if (registration !== null)
    claims.push(Prisma.sql`SELECT c.receipt_id FROM registration_claims c
      WHERE c.terminal_id = ${registration.terminalId} AND c.receipt_seq = ${registration.receiptSeq}::bigint AND c.merchant_id = ${merchantId}`);
  return claims;
}

/**
 * The conditions of the filter, once for each kind of index that its receipts stand in: a receipt under way is in one small
 * index, one at rest in those of the filters. Each receipt fits exactly one of them.
 */
export function conditionsOf(filter: ReceiptFilter): Prisma.Sql[] {
  const common = commonConditions(filter);
  const kinds = kindsOf(filter);
  return kinds.map((kind) => Prisma.join([kind, ...common], ' AND '));
}

function kindsOf(filter: ReceiptFilter): Prisma.Sql[] {
  const { status } = filter;
  if (isByType(filter)) {
    const wanted = status ?? (isByRegistration(filter) ? 'registered' : null);
    return [wanted === null ? Prisma.sql`true` : Prisma.sql`status::text = ${wanted}`];
  }
  if (isByRegistration(filter)) return [status === null || status === 'registered' ? REGISTERED : STATUS_IS[status]];
  if (status !== null) return [STATUS_IS[status]];
  // Its claim says it all: at most one receipt.
  if (filter.externalId !== null || filter.registration !== null) return [Prisma.sql`true`];
  return [AT_REST, UNDER_WAY];
}

/**
 * Receipts other than sales, which are few, stand in indexes of their own, under way or at rest. These are read alone, with the status compared as
 * text: of two partial indexes that fit PostgreSQL would read both from end to end. A rare status has an index that is as small; with a place PostgreSQL
 * knows which of the two has fewer.
 */
function isByType(filter: ReceiptFilter): boolean {
  if (filter.type === null || filter.type === 'sale') return false;
  return isByRegistration(filter) || !(hasPlace(filter) || isRare(filter.status));
}

function hasPlace({ deviceId, branchId, cashierId }: ReceiptFilter): boolean {
  return [deviceId, branchId, cashierId].some((place) => place !== null);
}

function isRare(status: ReceiptStatus | null): boolean {
  return status !== null && status !== 'registered';
}

function typeCondition(type: ReceiptType, filter: ReceiptFilter): Prisma.Sql {
  if (type === 'sale') return IS_SALE;
  return isRare(filter.status) && !isByType(filter) ? Prisma.sql`type::text = ${type}` : TYPE_IS[type];
}

/** Ids are compared by the order of the indexes, and by that of the partitions (docs/adr/0200-half-years-as-words-of-a-statement.md). */
function commonConditions(filter: ReceiptFilter): Prisma.Sql[] {
  const conditions = [Prisma.sql`merchant_id = ${filter.merchantId}`];
  const add = <T>(value: T | null, condition: (value: T) => Prisma.Sql): void => {
    if (value !== null) conditions.push(condition(value));
  };
  for (const claim of claimsOf(filter)) conditions.push(Prisma.sql`id = (${claim})`);
  add(filter.type, (value) => typeCondition(value, filter));
  add(filter.deviceId, (value) => Prisma.sql`device_id = ${value}`);
  add(filter.branchId, (value) => Prisma.sql`branch_id = ${value}`);
  add(filter.cashierId, (value) => Prisma.sql`cashier_id = ${value}`);
  add(filter.totalMin, (value) => Prisma.sql`total_tiyin >= ${value}::bigint`);
  add(filter.totalMax, (value) => Prisma.sql`total_tiyin <= ${value}::bigint`);
  add(filter.createdFrom, (value) => {
    const first = idAt(prefixOf('rcp', filter.merchantId), value, -1);
    return Prisma.sql`created_at >= ${value}::timestamptz AND id >= ${first} AND id ~>=~ ${first}`;
  });
  add(filter.createdTo, (value) => {
    const behind = idAt(prefixOf('rcp', filter.merchantId), value, 1);
    return Prisma.sql`created_at < ${value}::timestamptz AND id < ${behind} AND id ~<~ ${behind}`;
  });
  add(filter.registeredFrom, (value) => Prisma.sql`registered_at >= ${value}::timestamptz`);
  add(filter.registeredTo, (value) => Prisma.sql`registered_at < ${value}::timestamptz`);
  return conditions;
}
