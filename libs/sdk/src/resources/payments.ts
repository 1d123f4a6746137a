import type { Api } from '../api.js';
import type { Schema } from '../api-types.js';
import { type Receipt } from '../receipt-states.js';
import { assertNamed, waiting, type Keyed, type Named, type SaleBody, type SaleOptions } from './receipts.js';
import { resourceOf, type Resource } from './resource.js';

type View = Schema<'PaymentView'>;

/** Money that the gateway collects, and the receipt that follows it. */
export type Payment = Omit<View, 'receipt'> & { receipt: Receipt };

type Methods = Resource<'payments'>;

/** The same methods, with the receipt in its states. */
type WithStates<Method> = Method extends (...given: infer Given) => Promise<View>
  ? (...given: Given) => Promise<Payment>
  : Method;

export type Payments = { readonly [Name in keyof Methods]: WithStates<Methods[Name]> } & {
  /** Begins a payment with `payment.method: 'online'`; `next_action` says what the customer does now. */
  create(sale: SaleBody, options: SaleOptions & Keyed): Promise<Payment>;
  create(sale: SaleBody & Named, options?: SaleOptions): Promise<Payment>;
};

export function paymentsOf(api: Api): Payments {
  const create = async (sale: SaleBody, options: SaleOptions = {}): Promise<View> => {
    assertNamed(sale, options);
    return api.repeat('/v1/payments', { body: sale }, waiting(options));
  };
  return { ...resourceOf(api, 'payments'), create } as Payments;
}
