import type { Api } from '../api.js';
import type { FiltersOf, PageOf, Schema } from '../api-types.js';
import type { PagedList } from '../pages.js';
import { asReceipt, type Receipt } from '../receipt-states.js';
import type { CallOptions } from '../transport.js';
import { assertNamed, waiting, type Keyed, type Named, type SaleBody, type SaleOptions } from './receipts.js';

/** Money that the gateway collects, and the receipt that follows it. */
export type Payment = Omit<Schema<'PaymentView'>, 'receipt'> & { receipt: Receipt };

export class Payments {
  constructor(private readonly api: Api) {}

  /** Begins a payment with `payment.method: 'online'`; `next_action` says what the customer does now. */
  create(sale: SaleBody, options: SaleOptions & Keyed): Promise<Payment>;
  create(sale: SaleBody & Named, options?: SaleOptions): Promise<Payment>;
  async create(sale: SaleBody, options: SaleOptions = {}): Promise<Payment> {
    assertNamed(sale, options);
    return asPayment(await this.api.repeat('POST', '/v1/payments', { body: sale }, waiting(options)));
  }

  async get(id: string, options?: CallOptions): Promise<Payment> {
    return asPayment(await this.api.request('GET', '/v1/payments/{id}', { path: { id } }, options));
  }

  list(filters: FiltersOf<'/v1/payments'> = {}, options?: CallOptions): PagedList<PageOf<'/v1/payments'>> {
    return this.api.list('/v1/payments', { query: filters }, options);
  }

  async cancel(id: string, options?: CallOptions): Promise<Payment> {
    return asPayment(await this.api.request('POST', '/v1/payments/{id}/cancel', { path: { id } }, options));
  }

  /** Takes money that is reserved; the receipt follows. */
  async capture(id: string, options?: CallOptions): Promise<Payment> {
    return asPayment(await this.api.request('POST', '/v1/payments/{id}/capture', { path: { id } }, options));
  }

  /** The one-time code that the provider sent to the customer. */
  async confirm(id: string, body: Schema<'ConfirmBody'>, options?: CallOptions): Promise<Payment> {
    return asPayment(await this.api.request('POST', '/v1/payments/{id}/confirm', { path: { id }, body }, options));
  }
}

function asPayment(view: Schema<'PaymentView'>): Payment {
  return { ...view, receipt: asReceipt(view.receipt) };
}
