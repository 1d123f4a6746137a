import type { PaymentState } from '#payments';
import type { RegisterEntry } from './register-rows.js';

export const DIFFERENCE_KINDS = [
  /** We have the money, and the register does not name it. */
  'missing',
  /** The register has money that we do not count as taken. */
  'extra',
  /** More than one payment under one id. */
  'duplicate',
  /** Another sum than ours. */
  'amount',
  /** More went back there than here. */
  'refund',
  /** Another commission than the merchant's rule says. */
  'commission',
  /** Money without a registered receipt. */
  'receipt',
  /** A row of a day that the register is not about. */
  'day',
  /** A row that could not be read. */
  'unreadable',
] as const;
export type DifferenceKind = (typeof DIFFERENCE_KINDS)[number];

export interface Difference {
  kind: DifferenceKind;
  /** In Tashkent; null: not known. */
  day: string | null;
  paymentId: string | null;
  receiptId: string | null;
  providerRef: string | null;
  /** Row of the file. */
  row: number | null;
  oursTiyin: number | null;
  theirsTiyin: number | null;
  detail: string;
}

/** A payment of ours that a register may name. */
export interface KnownPayment {
  id: string;
  number: bigint;
  provider_ref: string | null;
  receipt_id: string;
  state: PaymentState;
  receipt_status: string;
  amount_tiyin: bigint;
  refunded_tiyin: bigint;
  /** The provider charged the order a second time under this id; null: it is the payment itself. */
  extra_ref: string | null;
}

export interface Period {
  from: string;
  to: string;
}

/** A register rounds to whole som. */
const COMMISSION_TOLERANCE_TIYIN = 100n;
const TAKEN: ReadonlySet<PaymentState> = new Set(['captured', 'refunding', 'refund_unknown', 'refunded']);

/** What of a payment's rows disagrees with what we have. @param expected what the provider keeps by the merchant's rule; null: no rule */
export function judgeEntry(
  entry: RegisterEntry,
  payment: KnownPayment | null,
  { from, to }: Period,
  expected: bigint | null,
): Difference[] {
  const found: Difference[] = [];
  const add = (kind: DifferenceKind, ours: bigint | null, theirs: number, detail: string): void => {
    found.push({
      ...{ kind, day: entry.day, paymentId: payment?.id ?? null, receiptId: payment?.receipt_id ?? null },
      ...{ providerRef: entry.providerRef ?? payment?.provider_ref ?? null, row: entry.number },
      ...{ oursTiyin: ours === null ? null : Number(ours), theirsTiyin: theirs, detail },
    });
  };
  if (entry.day < from || entry.day > to) add('day', null, entry.paidTiyin, 'The day is outside of the register’s.');
  if (!payment) {
    add('extra', null, entry.paidTiyin - entry.refundedTiyin, 'No payment of this account has this reference.');
    return found;
  }
  if (payment.extra_ref !== null || !TAKEN.has(payment.state)) {
    // What was taken and given back is even.
    const left = entry.paidTiyin - entry.refundedTiyin;
    const why =
      payment.extra_ref === null ? `is ${payment.state} here` : 'was taken under another id of the provider’s';
    if (left !== 0) add('extra', null, left, `The payment ${why}.`);
    return found;
  }
  judgeTaken(entry, payment, expected, add);
  return found;
}

type Add = (kind: DifferenceKind, ours: bigint | null, theirs: number, detail: string) => void;

function judgeTaken(entry: RegisterEntry, payment: KnownPayment, expected: bigint | null, add: Add): void {
  const { amount_tiyin: amount, refunded_tiyin: refunded } = payment;
  if (entry.payments > 1)
    add('duplicate', amount, entry.paidTiyin, `The register has it ${String(entry.payments)} times.`);
  // A register of the day on which the money went back may name that alone.
  else if (entry.payments === 1 && BigInt(entry.paidTiyin) !== amount)
    add('amount', amount, entry.paidTiyin, 'The sums differ.');
  if (BigInt(entry.refundedTiyin) > refunded)
    add('refund', refunded, entry.refundedTiyin, 'More went back at the provider than here.');
  const { commissionTiyin: commission } = entry;
  if (expected !== null && commission !== null && entry.payments === 1) {
    const apart = BigInt(commission) - expected;
    if (apart > COMMISSION_TOLERANCE_TIYIN || apart < -COMMISSION_TOLERANCE_TIYIN)
      add('commission', expected, commission, 'The commission is not what the merchant’s rule says.');
  }
  if (payment.state === 'captured' && payment.receipt_status !== 'registered')
    add('receipt', amount, entry.paidTiyin, `The receipt is ${payment.receipt_status}.`);
}
