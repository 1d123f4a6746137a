/** What really happened to a customer's money, for tests to compare with. */
export interface SimPayment {
  provider: 'payme' | 'click' | 'multicard';
  id: string;
  ourRef: string;
  amountTiyin: number;
  status: 'pending' | 'reserved' | 'held' | 'captured' | 'voided' | 'refunded' | 'declined';
  /** How often money was taken and given back; more than once is a double charge. */
  captures: number;
  refunds: number;
  refundedTiyin: number;
  link: string | null;
}

export class Money {
  private readonly payments: SimPayment[] = [];

  open(payment: Pick<SimPayment, 'provider' | 'id' | 'ourRef' | 'amountTiyin'>): SimPayment {
    const made: SimPayment = { ...payment, status: 'pending', captures: 0, refunds: 0, refundedTiyin: 0, link: null };
    this.payments.push(made);
    return made;
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
