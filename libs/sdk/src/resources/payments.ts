import type { Api } from '../api.js';
import type { BodyOf, Schema } from '../api-types.js';
import { type Receipt } from '../receipt-states.js';
import { assertNamed, waiting, type Keyed, type Named, type SaleOptions } from './receipts.js';
import { resourceOf, type Resource } from './resource.js';

type View = Schema<'PaymentView'>;

export type PaymentBody = BodyOf<'POST', '/v1/payments'>;

/** Money that the gateway collects, and the receipts that follow it. */
export type Payment = Omit<View, 'receipt' | 'further_receipts'> & { receipt: Receipt; further_receipts: Receipt[] };

type Methods = Resource<'payments'>;

/** The same methods, with the receipt in its states. */
type WithStates<Method> = Method extends (...given: infer Given) => Promise<View>
  ? (...given: Given) => Promise<Payment>
  : Method;

export type Payments = { readonly [Name in keyof Methods]: WithStates<Methods[Name]> } & {
  /** Begins a payment with `payment.method: 'online'`; `next_action` says what the customer does now. */
  create(sale: PaymentBody, options: SaleOptions & Keyed): Promise<Payment>;
  create(sale: PaymentBody & Named, options?: SaleOptions): Promise<Payment>;
};

export function paymentsOf(api: Api): Payments {
  const create = async (sale: PaymentBody, options: SaleOptions = {}): Promise<View> => {
    assertNamed(sale, options);
    return api.repeat('/v1/payments', { body: sale }, waiting(options));
  };
  return { ...resourceOf(api, 'payments'), create } as Payments;
}
