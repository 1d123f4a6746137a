import { tashkentCompact } from '#fiscal-domain';
import type { ProviderCode } from '#payments';
import type { Faults } from './faults.js';

/** What really happened to a customer's money, for tests to compare with. */
export interface SimPayment {
  provider: ProviderCode;
  id: string;
  ourRef: string;
  amountTiyin: number;
  status: 'pending' | 'reserved' | 'held' | 'captured' | 'voided' | 'refunded' | 'declined';
  /** How often money was taken and given back; more than once is a double charge. */
  captures: number;
  refunds: number;
  refundedTiyin: number;
  link: string | null;
  /** The provider no longer knows it. */
  isForgotten: boolean;
  /** Where it was changed. */
  currency?: string;
  /** The customer's bank has taken the money back. */
  isDisputed?: boolean;
  /** What the provider itself had registered: its receipt, or the refund of it. */
  documents: SimDocument[];
}

/** What people do at a provider, in its cabinet or by mistake. */
export interface SimMoneyEdit {
  status?: SimPayment['status'];
  amount?: number;
  forget?: boolean;
  currency?: string;
  /** All that was given back there so far. */
  refunded?: number;
  disputed?: boolean;
}

export interface SimDocument {
  type: 'sale' | 'refund';
  url: string;
}

/** What the merchant wants registered: tiyin, with the sum that all of it makes. */
export interface SimLines {
  count: number;
  totalTiyin: number;
}

const TERMINALS: Readonly<Record<ProviderCode, string>> = {
  ...{ payme: 'EP000000000141', click: 'EP000000000064', multicard: 'EP000000000187', uzum: 'EZ000000000161' },
  octo: 'EP000000000001',
  atmos: 'EP000000000002',
  paynet: 'EP000000000003',
  stripe: 'EP000000000004',
};

export class Money {
  private lastDocument = 0;
  private readonly payments: SimPayment[] = [];

  open(payment: Pick<SimPayment, 'provider' | 'id' | 'ourRef' | 'amountTiyin'>): SimPayment {
    const made: SimPayment = {
      ...{ ...payment, status: 'pending', captures: 0, refunds: 0, refundedTiyin: 0 },
      ...{ link: null, documents: [], isForgotten: false },
    };
    this.payments.push(made);
    return made;
  }

  find(id: string): SimPayment | undefined {
    return this.payments.find((payment) => payment.id === id);
  }

  /** @returns whether there is such a payment */
  edit(id: string, { status, amount, forget, currency, refunded, disputed }: SimMoneyEdit): boolean {
    const payment = this.find(id);
    if (!payment) return false;
    if (status === 'captured' && payment.captures === 0) payment.captures = 1;
    if (status === 'refunded' && payment.status === 'captured') payment.refunds += 1;
    payment.amountTiyin = amount ?? payment.amountTiyin;
    if (status === 'refunded') payment.refundedTiyin = payment.amountTiyin;
    if (status === 'captured' && payment.status === 'refunded') payment.refundedTiyin = 0;
    payment.refundedTiyin = refunded ?? payment.refundedTiyin;
    payment.status = status ?? payment.status;
    payment.isDisputed = disputed ?? payment.isDisputed ?? false;
    payment.isForgotten = forget ?? payment.isForgotten;
    if (currency !== undefined) payment.currency = currency;
    return true;
  }

  /** The provider's own register. @throws when the lines do not add up: no real one would take them */
  register(payment: SimPayment, type: SimDocument['type'], lines: SimLines | null): SimDocument {
    if (lines && (lines.count === 0 || lines.totalTiyin !== payment.amountTiyin))
      throw new Error(`the lines make ${String(lines.totalTiyin)}, the payment is ${String(payment.amountTiyin)}`);
    this.lastDocument += 1;
    const time = tashkentCompact(Date.now());
    const sign = String(this.lastDocument).padStart(12, '7');
    const terminal = TERMINALS[payment.provider];
    const url = `https://ofd.soliq.uz/check?t=${terminal}&r=${String(this.lastDocument)}&c=${time}&s=${sign}`;
    const document = { type, url };
    payment.documents.push(document);
    return document;
  }

  list(): { data: unknown[] } {
    return {
      data: this.payments.map(({ ourRef, amountTiyin, refundedTiyin, ...rest }) => ({
        ...rest,
        refunded: refundedTiyin,
        our_ref: ourRef,
        amount: amountTiyin,
      })),
    };
  }
}

export function capture(payment: SimPayment): void {
  payment.status = 'captured';
  payment.captures += 1;
}

/** Until it is captured, given back, or ends by itself. */
export function hold(payment: SimPayment, faults: Faults): void {
  payment.status = 'held';
  const rule = faults.draw(['expire_hold']);
  if (!rule) return;
  const release = (): void => {
    if (payment.status === 'held') payment.status = 'voided';
  };
  faults.later(release, rule.delay_ms ?? 0);
}

export function giveBack(payment: SimPayment): void {
  payment.status = payment.status === 'captured' ? 'refunded' : 'voided';
  if (payment.status !== 'refunded') return;
  payment.refunds += 1;
  payment.refundedTiyin = payment.amountTiyin;
}

/** @returns false: it is more than is left, or not paid */
export function giveBackPart(payment: SimPayment, amountTiyin: number): boolean {
  const isPossible = payment.status === 'captured' && Number.isSafeInteger(amountTiyin) && amountTiyin > 0;
  if (!isPossible || payment.refundedTiyin + amountTiyin > payment.amountTiyin) return false;
  payment.refunds += 1;
  payment.refundedTiyin += amountTiyin;
  if (payment.refundedTiyin === payment.amountTiyin) payment.status = 'refunded';
  return true;
}
