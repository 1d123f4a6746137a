import type { PaymentState } from '#payments';
import type { RegisterEntry } from './register-rows.js';

export const DIFFERENCE_KINDS = [
  /** We have the money, and the register does not name it. */
  'missing',
  /** The register has money that we do not count as taken. */
  'extra',
  /** More than one charge of one payment, under one id of the provider's or under several. */
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

/** All entries of a register that name one payment: by the provider's id of it, by ours, and by other ids of the provider's. */
export interface NamedPayment {
  payment: KnownPayment;
  entries: RegisterEntry[];
}

/** Rows of days that the register is not about. */
export function judgeDays(entry: RegisterEntry, payment: KnownPayment | null, { from, to }: Period): Difference[] {
  const outside = entry.rows.filter(({ day }) => day < from || day > to);
  return outside.map((row) => ({
    ...about(entry, payment),
    ...{ kind: 'day', day: row.day, row: row.number, oursTiyin: null, theirsTiyin: row.paidTiyin },
    detail: 'The day is outside of the register’s.',
  }));
}

export function judgeUnknown(entry: RegisterEntry): Difference {
  const theirsTiyin = entry.paidTiyin - entry.refundedTiyin;
  const detail = 'No payment of this account has this reference.';
  return { kind: 'extra', ...about(entry, null), oursTiyin: null, theirsTiyin, detail };
}

/** What of a payment's rows disagrees with what we have. @param expected what the provider keeps by the merchant's rule; null: no rule */
export function judgePayment(named: NamedPayment, expected: bigint | null): Difference[] {
  const { payment } = named;
  const sums = sumsOf(named);
  if (payment.extra_ref === null && TAKEN.has(payment.state)) return judgeTaken(sums, payment, expected);
  // What was taken and given back is even.
  const left = sums.paid - sums.refunded;
  if (left === 0) return [];
  const why = payment.extra_ref === null ? `is ${payment.state} here` : 'was taken under another id of the provider’s';
  return [
    {
      ...{ kind: 'extra', ...about(sums.main, payment), oursTiyin: null, theirsTiyin: left },
      detail: `The payment ${why}.`,
    },
  ];
}

interface Sums {
  /** The payment itself, where the register has more than one charge of it. */
  main: RegisterEntry;
  /** Charges of the same order under other ids of the provider's. */
  others: RegisterEntry[];
  payments: number;
  paid: number;
  refunded: number;
}

function sumsOf({ payment, entries }: NamedPayment): Sums {
  const charged = entries.filter(({ payments }) => payments > 0);
  const main = charged.find(({ providerRef }) => providerRef === payment.provider_ref) ?? charged[0] ?? entries[0];
  if (!main) throw new Error('a payment that no row names');
  const sum = (of: (entry: RegisterEntry) => number): number => entries.reduce((all, entry) => all + of(entry), 0);
  return {
    main,
    others: charged.filter((entry) => entry !== main),
    payments: sum(({ payments }) => payments),
    paid: sum(({ paidTiyin }) => paidTiyin),
    refunded: sum(({ refundedTiyin }) => refundedTiyin),
  };
}

function judgeTaken(sums: Sums, payment: KnownPayment, expected: bigint | null): Difference[] {
  const { amount_tiyin: amount, refunded_tiyin: refunded } = payment;
  const { main, payments } = sums;
  const found: Difference[] = [];
  const add = (kind: DifferenceKind, ours: bigint, theirs: number, detail: string): void => {
    found.push({ kind, ...about(main, payment), oursTiyin: Number(ours), theirsTiyin: theirs, detail });
  };
  if (payments > 1) found.push(...judgeCharges(sums, payment));
  // A register of the day on which the money went back may name that alone.
  else if (payments === 1 && BigInt(main.paidTiyin) !== amount)
    add('amount', amount, main.paidTiyin, 'The sums differ.');
  if (payments <= 1 && BigInt(sums.refunded) > refunded)
    add('refund', refunded, sums.refunded, 'More went back at the provider than here.');
  const { commissionTiyin: commission } = main;
  if (expected !== null && commission !== null && payments === 1) {
    const apart = BigInt(commission) - expected;
    if (apart > COMMISSION_TOLERANCE_TIYIN || apart < -COMMISSION_TOLERANCE_TIYIN)
      add('commission', expected, commission, 'The commission is not what the merchant’s rule says.');
  }
  if (payment.state === 'captured' && payment.receipt_status !== 'registered')
    add('receipt', amount, sums.paid, `The receipt is ${payment.receipt_status}.`);
  return found;
}

/** More than one charge; where what is left of them all is what we have left, what was too much has gone back. */
function judgeCharges({ main, others, paid, refunded }: Sums, payment: KnownPayment): Difference[] {
  const { amount_tiyin: amount, refunded_tiyin: back } = payment;
  if (BigInt(paid - refunded) === amount - back) return [];
  const duplicate = (of: RegisterEntry, detail: string): Difference => ({
    ...{ kind: 'duplicate', ...about(of, payment), oursTiyin: Number(amount), theirsTiyin: of.paidTiyin },
    detail,
  });
  const again = main.payments > 1 ? [duplicate(main, `The register has it ${String(main.payments)} times.`)] : [];
  const under = 'The register has a second charge of the order under this id.';
  return [...again, ...others.map((other) => duplicate(other, under))];
}

type About = Pick<Difference, 'day' | 'paymentId' | 'receiptId' | 'providerRef' | 'row'>;

function about(entry: RegisterEntry, payment: KnownPayment | null): About {
  const first = entry.rows[0];
  return {
    ...{ day: first?.day ?? null, row: first?.number ?? null },
    ...{ paymentId: payment?.id ?? null, receiptId: payment?.receipt_id ?? null },
    providerRef: entry.providerRef ?? payment?.provider_ref ?? null,
  };
}
