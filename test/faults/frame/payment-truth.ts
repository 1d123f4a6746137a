import { sql } from '../../system/database.js';
import { documentsAtOfd } from '../../system/outside-world.js';
import type { PaymentsRig, RigPayment } from '../../system/payments-rig.js';
import { until } from '../../../libs/runtime/src/testing/until.js';
import type { Outcome } from './case.js';
import type { SoldOnline } from './payment-load.js';
import { deliverUnsent } from './truth.js';

interface LedgerRow {
  id: string;
  state: string;
  sales: SaleRow[];
  /** Sums that have still to go back. */
  open_refunds: number;
  reason: string | null;
  /** For people who read a failure: how often it was tried, and in how many seconds the next try is. */
  failures: number;
  due_in: number | null;
}

/** One receipt of a payment. */
interface SaleRow {
  status: string;
  /** Of the sale's refund. */
  refund: string | null;
}

/** What really happened to the money of one order, over all that the provider knows of it. */
interface Money {
  captures: number;
  refunds: number;
  held: number;
}

const SAMPLES = 5;
const DRAIN_MS = 240_000;
const WITHOUT_MONEY = ['voided', 'refunded', 'declined', 'expired', 'cancelled'];

/** Holds the providers' books and the OFD's documents against each other; the ledger is asked whether it has finished. */
export async function judgePayments(
  rig: PaymentsRig,
  sold: readonly SoldOnline[],
  { prefix, complaints }: { prefix: string; complaints: readonly string[] },
): Promise<Omit<Outcome, 'kills'>> {
  const read = (): Promise<LedgerRow[]> => readLedger(rig, prefix);
  // Whatever has not ended by then is counted below.
  await until('every payment has ended', async () => (await read()).every(isEnded), Boolean, DRAIN_MS).catch(
    () => null,
  );
  const rows = await read();
  const money = moneyByOrder(await rig.simulated());
  const failures = [...complaints.slice(0, SAMPLES)];
  await deliverUnsent(rig.system, rig.system.merchant.tills, failures);
  const documents = await documentsByMarker(rig, prefix);
  const markers = new Map(sold.map(({ paymentId, markers: each }) => [paymentId, each]));
  const judged = rows.map((row) => {
    const { captures, refunds, held } = money.get(row.id) ?? { captures: 0, refunds: 0, held: 0 };
    const papers = (markers.get(row.id) ?? ['']).map((each) => documents.get(each) ?? { sales: 0, refunds: 0 });
    const isPaid = captures > refunds;
    const made = papers.filter((paper) => paper.sales > paper.refunds).length;
    return {
      row,
      stuck: !isEnded(row),
      moneyWithoutReceipt: isPaid && made < papers.length,
      receiptWithoutMoney: !isPaid && made > 0,
      doubleCharge: captures > 1 || refunds > 1 || captures - refunds > 1,
      doubleReceipt: papers.some((paper) => paper.sales > 1 || paper.refunds > 1),
      stillHeld: held > 0,
    };
  });
  const listed = (what: Exclude<keyof (typeof judged)[number], 'row'>): string[] =>
    judged
      .filter((one) => one[what])
      .map(({ row }) => `${row.id} (${row.state}, ${salesOf(row)}, ${String(row.reason)}, ${dueOf(row)})`);
  const counted = (what: Parameters<typeof listed>[0]): number => {
    const found = listed(what);
    if (found.length > 0) failures.push(`${String(found.length)} × ${what}: ${found.slice(0, SAMPLES).join(', ')}`);
    return found.length;
  };
  const unknown = rows.filter(({ id }) => !markers.has(id)).length;
  if (rows.length !== sold.length || unknown > 0)
    failures.push(`${String(rows.length)} payments are stored, ${String(sold.length)} were answered`);
  counted('stillHeld');
  return {
    ...{ receipts: sold.length, wrongOrder: 0, parked: counted('stuck') },
    lost: counted('moneyWithoutReceipt') + counted('receiptWithoutMoney'),
    doubled: counted('doubleCharge') + counted('doubleReceipt'),
    failures,
    figures: [endings(rows)],
  };
}

function readLedger(rig: PaymentsRig, prefix: string): Promise<LedgerRow[]> {
  return sql<LedgerRow>(
    rig.system.database,
    `SELECT p.id, p.state::text AS state, p.reason, p.failures,
            extract(epoch FROM p.due_at - now())::int AS due_in,
            (SELECT jsonb_agg(jsonb_build_object('status', s.status::text, 'refund',
                              (SELECT min(b.status::text) FROM receipts b WHERE b.refund_of = s.id)) ORDER BY s.id)
               FROM receipts s WHERE s.id = ANY(array_prepend(p.receipt_id, p.further_receipts))) AS sales,
            (SELECT count(*)::int FROM payment_refunds f WHERE f.payment_id = p.id AND f.state IN ('waiting', 'requested'))
              AS open_refunds
       FROM payments p JOIN receipts r ON r.id = p.receipt_id WHERE r.idempotency_key LIKE $1`,
    [`${prefix}-%`],
  );
}

function dueOf({ failures, due_in: dueIn }: LedgerRow): string {
  return `${String(failures)} × in vain, due in ${String(dueIn)} s`;
}

function isEnded({ state, sales, open_refunds: openRefunds }: LedgerRow): boolean {
  if (openRefunds > 0) return false;
  if (state === 'captured') return sales.every(({ status, refund }) => status === 'registered' && refund === null);
  return WITHOUT_MONEY.includes(state) && sales.every(isUndone);
}

function isUndone({ status, refund }: SaleRow): boolean {
  return status === 'cancelled' || status === 'rejected' || (status === 'registered' && refund === 'registered');
}

function salesOf({ sales }: LedgerRow): string {
  return sales.map(({ status, refund }) => `${status}${refund === null ? '' : ` and refund ${refund}`}`).join(' + ');
}

function moneyByOrder(payments: readonly RigPayment[]): Map<string, Money> {
  const money = new Map<string, Money>();
  for (const { our_ref: id, captures, refunds, status } of payments) {
    const sum = money.get(id) ?? { captures: 0, refunds: 0, held: 0 };
    const held = sum.held + (status === 'held' || status === 'reserved' ? 1 : 0);
    money.set(id, { captures: sum.captures + captures, refunds: sum.refunds + refunds, held });
  }
  return money;
}

async function documentsByMarker(
  rig: PaymentsRig,
  prefix: string,
): Promise<Map<string, { sales: number; refunds: number }>> {
  const documents = (await documentsAtOfd(rig.system)).filter(({ items }) => items[0]?.name.startsWith(`${prefix}-`));
  const byMarker = new Map<string, { sales: number; refunds: number }>();
  for (const { items, type } of documents) {
    const marker = items[0]?.name ?? '';
    const papers = byMarker.get(marker) ?? { sales: 0, refunds: 0 };
    papers[type === 'refund' ? 'refunds' : 'sales'] += 1;
    byMarker.set(marker, papers);
  }
  return byMarker;
}

function endings(rows: readonly LedgerRow[]): string {
  const counts = new Map<string, number>();
  for (const row of rows) {
    const end = `${row.state}, ${salesOf(row)}`;
    counts.set(end, (counts.get(end) ?? 0) + 1);
  }
  const sorted = [...counts].sort(([, left], [, right]) => right - left);
  return sorted.map(([end, count]) => `${String(count)} ${end}`).join('; ');
}
