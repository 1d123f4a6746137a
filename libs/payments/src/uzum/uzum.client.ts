import type { FiscalLines, WantedDocument } from '../fiscal.js';
import type {
  CallOutcome,
  FiscalLink,
  Instrument,
  PaymentFlow,
  PaymentOrder,
  PaymentProvider,
  PaymentRef,
  RefundOrder,
} from '../port.js';
import type { UzumCheckoutClient } from './uzum-checkout.client.js';
import type { UzumFastPayClient } from './uzum-fastpay.client.js';
import type { UzumOfdClient } from './uzum-ofd.client.js';

/** The products of Uzum that an account was given. */
export interface UzumProducts {
  checkout: UzumCheckoutClient | null;
  fastPay: UzumFastPayClient | null;
  ofd: UzumOfdClient | null;
}

const NOTHING: CallOutcome = { kind: 'refused', code: 'not_set_up', detail: 'the account has no such product of Uzum' };

/** By its flow a payment belongs to one product: `charge` to FastPay, `hold` and `invoice` to Checkout, `inbound` to none that we call. */
export class UzumClient implements PaymentProvider {
  readonly submitLines?: (ref: PaymentRef, lines: FiscalLines) => Promise<CallOutcome>;

  constructor(private readonly products: UzumProducts) {
    const { ofd } = products;
    if (ofd) this.submitLines = (ref, lines) => ofd.submitLines(ref, lines);
  }

  async prepare(order: PaymentOrder, flow: PaymentFlow, instrument: Instrument): Promise<CallOutcome> {
    const { checkout, ofd } = this.products;
    // Lines that are handed in later must not be registered with the payment as well.
    const asked = ofd ? { ...order, lines: null } : order;
    return checkout ? checkout.prepare(asked, flow, instrument) : NOTHING;
  }

  async authorize(order: PaymentOrder, instrument: Instrument, ref: PaymentRef): Promise<CallOutcome> {
    const { checkout, fastPay } = this.products;
    if (ref.flow === 'charge') return fastPay ? fastPay.authorize(order, instrument, ref) : NOTHING;
    return checkout ? checkout.authorize(order, instrument, ref) : NOTHING;
  }

  async capture(ref: PaymentRef): Promise<CallOutcome> {
    return this.products.checkout ? this.products.checkout.capture(ref) : NOTHING;
  }

  async void(ref: PaymentRef): Promise<CallOutcome> {
    if (ref.flow === 'charge') return this.fetchStatus(ref);
    return this.products.checkout ? this.products.checkout.void(ref) : NOTHING;
  }

  async refund(ref: PaymentRef, refund: RefundOrder): Promise<CallOutcome> {
    const { checkout, fastPay, ofd } = this.products;
    if (ref.flow === 'charge') return fastPay ? fastPay.refund(ref) : NOTHING;
    const asked = ofd ? { ...refund, lines: null } : refund;
    return checkout ? checkout.refund(ref, asked) : NOTHING;
  }

  async fetchStatus(ref: PaymentRef): Promise<CallOutcome> {
    const { checkout, fastPay } = this.products;
    if (ref.flow === 'charge') return fastPay ? fastPay.fetchStatus(ref) : NOTHING;
    return checkout ? checkout.fetchStatus(ref) : NOTHING;
  }

  async attachLink(ref: PaymentRef, link: FiscalLink): Promise<CallOutcome> {
    return this.products.fastPay ? this.products.fastPay.attachLink(ref, link) : NOTHING;
  }

  async fetchDocument(ref: PaymentRef, wanted: WantedDocument): Promise<CallOutcome> {
    const { checkout, ofd } = this.products;
    if (ofd) return ofd.fetchDocument(ref, wanted);
    return checkout ? checkout.fetchDocument(ref, wanted) : NOTHING;
  }
}
