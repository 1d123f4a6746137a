import type { HttpExchange } from '../http-exchange.js';
import { operationId } from '../operation-id.js';
import {
  statusOf,
  unclearIfRefused,
  type CallOutcome,
  type Instrument,
  type PaymentOrder,
  type PaymentFlow,
  type PaymentProvider,
  type PaymentRef,
  type RefundOrder,
} from '../port.js';
import { isObject, textAt, type WireObject } from '../wire.js';
import {
  hasStripeRefunds,
  NO_STRIPE_REFUNDS,
  STRIPE_CURRENCY,
  stripeAnswer,
  stripePaymentStatus,
  stripeRefunds,
  type StripeAnswer,
  type StripeRefunds,
} from './stripe.transform.js';

/** Of the description that the schema file was written from. Without it the account's own version decides what an answer looks like. */
export const STRIPE_VERSION = '2026-10-28.endive';

/** Pages of a hundred refunds: a payment has a few. */
const REFUND_PAGES = 10;

export interface StripeClientOptions {
  /** `https://api.stripe.com` */
  apiUrl: string;
  secretKey: string;
}

/**
 * Stripe's PaymentIntents: made, then confirmed with a saved card (`pm_…`), captured when the receipt is registered. What could be done
 * twice (making, confirming, refunding) has an idempotency key; capturing and cancelling can be done once by the payment's own states, and
 * have none: with a key, a failure of Stripe's would be answered for a day.
 */
export class StripeClient implements PaymentProvider {
  constructor(
    private readonly options: StripeClientOptions,
    private readonly exchange: HttpExchange,
  ) {}

  /** Without a card and a confirmation no money can come of it. */
  async prepare(
    { ourRef, amountTiyin, description }: PaymentOrder,
    flow: PaymentFlow,
    { token }: Instrument,
  ): Promise<CallOutcome> {
    const { customer } = cardOf(token);
    const fields = {
      // A card that was saved for a customer can be used for payments of that customer alone.
      ...(customer !== null && { customer }),
      ...{ amount: String(amountTiyin), currency: STRIPE_CURRENCY, description },
      capture_method: flow === 'hold' ? 'manual' : 'automatic',
      ...{ 'payment_method_types[0]': 'card', 'metadata[our_ref]': ourRef },
    };
    // An answer is kept with its key, also one of a failure: a minute later it is asked for anew.
    const minute = String(Math.floor(Date.now() / 60_000));
    const answer = await this.post('/v1/payment_intents', fields, operationId(ourRef, 'stripe', 'create', minute));
    if (answer.kind !== 'object') return answer;
    const providerRef = textAt(answer.object, 'id');
    return providerRef === null
      ? { kind: 'unknown', detail: 'the payment has no id' }
      : statusOf('pending', { providerRef });
  }

  async authorize(order: PaymentOrder, { token }: Instrument, ref: PaymentRef): Promise<CallOutcome> {
    const { returnUrl } = order;
    const fields = {
      payment_method: cardOf(token).card,
      // Without a page to come back to the customer's bank cannot ask: then what it would ask for is declined.
      ...(returnUrl === null ? { error_on_requires_action: 'true' } : { return_url: returnUrl }),
      'expand[0]': 'latest_charge',
    };
    const answer = await this.post(`${pathOf(ref)}/confirm`, fields, operationId(ref.ourRef, 'stripe', 'confirm'));
    if (answer.kind !== 'object') return answer;
    const status = stripePaymentStatus(answer.object);
    // Without a page of the bank's nothing waits for the customer.
    return status.status === 'pending' && status.nextAction === null ? inFlight(status.providerRef) : status;
  }

  async capture(ref: PaymentRef): Promise<CallOutcome> {
    const fields = { amount_to_capture: String(ref.amountTiyin), 'expand[0]': 'latest_charge' };
    return this.change(ref, 'capture', fields);
  }

  async void(ref: PaymentRef): Promise<CallOutcome> {
    if (ref.providerRef === null) return statusOf('voided');
    return this.change(ref, 'cancel', { 'expand[0]': 'latest_charge' });
  }

  async refund(ref: PaymentRef, { amountTiyin, key }: RefundOrder): Promise<CallOutcome> {
    const fields = { payment_intent: ref.providerRef ?? '', amount: String(amountTiyin), 'metadata[our_refund]': key };
    const id = operationId(ref.ourRef, ref.providerRef ?? '', 'stripe refund', key);
    const answer = await this.post('/v1/refunds', fields, id);
    if (answer.kind !== 'object') return unclearIfRefused(answer);
    const status = textAt(answer.object, 'status');
    if (status === 'succeeded') return statusOf('refunded', { providerRef: ref.providerRef });
    return { kind: 'unknown', detail: `the refund is ${String(status)}` };
  }

  async fetchStatus(ref: PaymentRef): Promise<CallOutcome> {
    // What was never answered has never been confirmed either.
    if (ref.providerRef === null) return statusOf('not_found');
    const answer = await this.call('GET', `${pathOf(ref)}?expand[]=latest_charge`);
    if (answer.kind === 'object') {
      const refunds = ref.isRefunding === true || hasStripeRefunds(answer.object) ? await this.refundsOf(ref) : null;
      return refunds !== null && 'kind' in refunds ? refunds : stripePaymentStatus(answer.object, refunds ?? undefined);
    }
    return answer.kind === 'refused' && answer.code === 'resource_missing'
      ? statusOf('not_found')
      : unclearIfRefused(answer);
  }

  /** The charge counts a refund that is pending, and may fail days later: what has gone back only the refunds say. */
  private async refundsOf({ providerRef }: PaymentRef): Promise<StripeRefunds | CallOutcome> {
    let refunds = NO_STRIPE_REFUNDS;
    let after = '';
    for (let page = 0; page < REFUND_PAGES; page += 1) {
      const query = new URLSearchParams({
        payment_intent: providerRef ?? '',
        limit: '100',
        ...(after && { starting_after: after }),
      });
      const answer = await this.call('GET', `/v1/refunds?${query.toString()}`);
      if (answer.kind !== 'object') return unclearIfRefused(answer);
      if (!Array.isArray(answer.object['data'])) return { kind: 'unknown', detail: 'no list of refunds' };
      refunds = stripeRefunds(answer.object, refunds);
      after = lastIdOf(answer.object);
      if (answer.object['has_more'] !== true || after === '') return refunds;
    }
    return { kind: 'unknown', detail: `more than ${String(REFUND_PAGES * 100)} refunds` };
  }

  /** What cannot be done any more may have been done before: the status shows it. */
  private async change(
    ref: PaymentRef,
    operation: 'capture' | 'cancel',
    fields: Readonly<Record<string, string>>,
  ): Promise<CallOutcome> {
    const answer = await this.post(`${pathOf(ref)}/${operation}`, fields, null);
    if (answer.kind === 'object') return stripePaymentStatus(answer.object);
    if (answer.kind === 'unsent') return answer;
    const status = await this.fetchStatus(ref);
    const wanted = operation === 'capture' ? 'captured' : 'voided';
    return status.kind === 'status' && status.status === wanted ? status : unclearIfRefused(answer);
  }

  private post(path: string, fields: Readonly<Record<string, string>>, key: string | null): Promise<StripeAnswer> {
    return this.call('POST', path, { form: new URLSearchParams(fields).toString(), key });
  }

  private async call(
    method: 'GET' | 'POST',
    path: string,
    sent?: { form: string; key: string | null },
  ): Promise<StripeAnswer> {
    const { apiUrl, secretKey } = this.options;
    return stripeAnswer(
      await this.exchange({
        ...{ method, url: `${apiUrl}${path}` },
        headers: {
          ...{ authorization: `Bearer ${secretKey}`, 'stripe-version': STRIPE_VERSION },
          ...keyOf(sent?.key ?? null),
        },
        ...(sent && { form: sent.form }),
      }),
    );
  }
}

function keyOf(key: string | null): Record<string, string> {
  return key === null ? {} : { 'idempotency-key': key };
}

/** `pm_…`, or `cus_…:pm_…` where the card was saved for a customer of the shop's. */
function cardOf(token: string | null): { customer: string | null; card: string } {
  const [, customer, card] = /^(cus_[^:]+):(.+)$/.exec(token ?? '') ?? [];
  return customer === undefined ? { customer: null, card: token ?? '' } : { customer, card: card ?? '' };
}

function lastIdOf(page: WireObject): string {
  const data = page['data'];
  const last: unknown = Array.isArray(data) ? data.at(-1) : null;
  return isObject(last) ? (textAt(last, 'id') ?? '') : '';
}

function pathOf(ref: PaymentRef): string {
  return `/v1/payment_intents/${encodeURIComponent(ref.providerRef ?? '')}`;
}

function inFlight(providerRef: string | null): CallOutcome {
  return { kind: 'unknown', detail: `the payment ${String(providerRef)} is still being confirmed` };
}
