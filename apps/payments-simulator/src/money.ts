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
  link: string | null;
  /** Nobody there knows it any more. */
  isForgotten: boolean;
}

/** What people do at a provider, in its cabinet or by mistake. */
export interface SimMoneyEdit {
  status?: SimPayment['status'];
  amount?: number;
  forget?: boolean;
}

export class Money {
  private readonly payments: SimPayment[] = [];

  open(payment: Pick<SimPayment, 'provider' | 'id' | 'ourRef' | 'amountTiyin'>): SimPayment {
    const made: SimPayment = { ...payment, status: 'pending', captures: 0, refunds: 0, link: null, isForgotten: false };
    this.payments.push(made);
    return made;
  }

  /** @returns whether there is such a payment */
  edit(id: string, { status, amount, forget }: SimMoneyEdit): boolean {
    const payment = this.payments.find((each) => each.id === id);
    if (!payment) return false;
    if (status === 'captured' && payment.captures === 0) payment.captures = 1;
    if (status === 'refunded' && payment.status === 'captured') payment.refunds += 1;
    payment.status = status ?? payment.status;
    payment.amountTiyin = amount ?? payment.amountTiyin;
    payment.isForgotten = forget ?? payment.isForgotten;
    return true;
  }

  list(): { data: unknown[] } {
    return {
      data: this.payments.map(({ ourRef, amountTiyin, ...rest }) => ({
        ...rest,
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
  if (payment.status === 'refunded') payment.refunds += 1;
}
