import { createHmac, randomBytes } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { LATE_MS } from './faults.js';
import { capture, giveBackPart, hold, type SimPayment } from './money.js';
import { addPayPage, idIn, type Paid } from './pages.js';
import type { Parts } from './parts.js';

type Fields = Readonly<Record<string, string>>;
type Body = Record<string, unknown>;

interface Intent {
  payment: SimPayment;
  isManual: boolean;
  currency: string;
  description: string | null;
  metadata: Record<string, string>;
  /** The customer's bank asks on a page of its own. */
  asksCustomer: boolean;
  wasDeclined: boolean;
  createdSeconds: number;
  customer: string | null;
  refunds: SimRefund[];
}

interface SimRefund {
  id: string;
  amount: number;
  status: 'pending' | 'succeeded' | 'failed';
  metadata: Record<string, string>;
}

interface Answer {
  status: number;
  body: Body;
}

/** Of the published description that the schema file names. */
const VERSION = '2026-10-28.endive';
const STATUS = {
  ...{ pending: 'requires_payment_method', reserved: 'requires_action', held: 'requires_capture' },
  ...{ captured: 'succeeded', refunded: 'succeeded', voided: 'canceled', declined: 'requires_payment_method' },
} as const;

/** Stripe's PaymentIntents and refunds, with idempotency keys as the documents have them, and signed events. */
class StripeBook {
  private readonly intents = new Map<string, Intent>();
  /** First answers, by key: an answer is kept whatever it was. */
  private readonly answers = new Map<string, { request: string; answer: Answer }>();

  constructor(private readonly parts: Parts) {}

  find(id: string): Intent | undefined {
    const intent = this.intents.get(id);
    return intent?.payment.isForgotten === true ? undefined : intent;
  }

  /** The same key once more is answered as the first time; with other fields it is an error. */
  keyed(request: FastifyRequest, act: () => Answer): Answer {
    const key = request.headers['idempotency-key'];
    if (typeof key !== 'string') return act();
    const said = `${request.url}\n${JSON.stringify(request.body)}`;
    const known = this.answers.get(key);
    if (known) return known.request === said ? known.answer : failure(400, { type: 'idempotency_error' });
    const answer = act();
    this.answers.set(key, { request: said, answer });
    return answer;
  }

  create(fields: Fields): Answer {
    const amount = fields['amount'] ?? '';
    if (!/^[1-9]\d{0,7}$/.test(amount)) return invalid('parameter_invalid_integer', 'Invalid integer');
    const metadata = metadataOf(fields);
    const ourRef = metadata['our_ref'] ?? '';
    const made = { provider: 'stripe', id: newId('pi'), ourRef, amountTiyin: Number(amount) } as const;
    const intent: Intent = {
      ...{ payment: this.parts.money.open(made), isManual: fields['capture_method'] === 'manual', metadata },
      ...{ currency: fields['currency'] ?? '', description: fields['description'] ?? null },
      ...{ asksCustomer: false, wasDeclined: false, createdSeconds: Math.floor(Date.now() / 1_000) },
      ...{ customer: fields['customer'] ?? null, refunds: [] },
    };
    this.intents.set(made.id, intent);
    return this.shown(intent);
  }

  confirm(intent: Intent, fields: Fields): Answer {
    const { payment } = intent;
    if (payment.status !== 'pending') return this.unexpected(intent);
    const method = fields['payment_method'] ?? '';
    if (method === '') return invalid('parameter_missing', 'payment_method is missing');
    // Saved for this customer, and for no payment without.
    if (method.startsWith('pm_saved') && intent.customer !== 'cus_0001')
      return invalid('resource_missing', 'The customer does not have a payment method with this ID');
    if (this.parts.faults.draw(['decline'])) return this.decline(intent);
    if (method.startsWith('pm_3ds')) {
      if (fields['return_url'] === undefined) return this.decline(intent);
      payment.status = 'reserved';
      intent.asksCustomer = true;
      return this.shown(intent);
    }
    this.parts.faults.perhapsLate(() => this.take(intent));
    return this.shown(intent);
  }

  private decline(intent: Intent): Answer {
    intent.payment.status = 'declined';
    intent.wasDeclined = true;
    void this.notify(intent, 'payment_intent.payment_failed');
    const error = { type: 'card_error', code: 'card_declined', decline_code: 'generic_decline' };
    return failure(402, { ...error, payment_intent: this.view(intent) });
  }

  private take(intent: Intent): void {
    const { payment } = intent;
    if (payment.status !== 'pending' && payment.status !== 'reserved') return;
    if (intent.isManual) hold(payment, this.parts.faults);
    else capture(payment);
    const type = intent.isManual ? 'payment_intent.amount_capturable_updated' : 'payment_intent.succeeded';
    void this.notifyAll(intent, ['payment_intent.created', type]);
  }

  capture(intent: Intent, fields: Fields): Answer {
    const { payment } = intent;
    if (payment.status !== 'held') return this.unexpected(intent);
    const wanted = fields['amount_to_capture'] ?? String(payment.amountTiyin);
    if (Number(wanted) > payment.amountTiyin) return invalid('amount_too_large', 'more than can be captured');
    this.parts.faults.perhapsLate(() => {
      if (payment.status === 'held') capture(payment);
    });
    void this.notify(intent, 'payment_intent.succeeded');
    return this.shown(intent);
  }

  cancel(intent: Intent): Answer {
    const { payment } = intent;
    if (payment.status === 'captured' || payment.status === 'refunded' || payment.status === 'voided')
      return this.unexpected(intent);
    this.parts.faults.perhapsLate(() => {
      payment.status = 'voided';
    });
    void this.notify(intent, 'payment_intent.canceled');
    return this.shown(intent);
  }

  refund(fields: Fields): Answer {
    const intent = this.find(fields['payment_intent'] ?? '');
    if (!intent) return MISSING;
    const { payment } = intent;
    const amount = Number(fields['amount'] ?? payment.amountTiyin);
    if (this.parts.faults.draw(['refuse_refund'])) return invalid('charge_disputed', 'The charge is disputed');
    if (payment.status !== 'captured' || amount > payment.amountTiyin - countedOf(intent))
      return invalid('charge_already_refunded', 'Refund amount is greater than unrefunded amount on charge');
    const late = this.parts.faults.draw(['late', 'refund_fails']);
    const refund: SimRefund = { id: newId('re'), amount, status: 'pending', metadata: metadataOf(fields) };
    intent.refunds.push(refund);
    const act = (): void => {
      const isBack = late?.fault !== 'refund_fails' && giveBackPart(payment, amount);
      refund.status = isBack ? 'succeeded' : 'failed';
      void this.notify(intent, isBack ? 'charge.refunded' : 'refund.failed', isBack ? undefined : refund);
    };
    if (late) this.parts.faults.later(act, late.delay_ms ?? LATE_MS);
    else act();
    return { status: 200, body: refundView(intent, refund) };
  }

  /** The most recent ones first. */
  refundsOf({ payment_intent: id = '', limit = '10', starting_after: after }: Fields): Answer {
    const intent = this.find(id);
    if (!intent) return MISSING;
    settleAtCabinet(intent);
    const all = intent.refunds.toReversed();
    const from = after === undefined ? 0 : all.findIndex((refund) => refund.id === after) + 1;
    const page = all.slice(from, from + Number(limit));
    const data = page.map((refund) => refundView(intent, refund));
    const isMore = from + page.length < all.length;
    return { status: 200, body: { object: 'list', url: '/v1/refunds', has_more: isMore, data } };
  }

  /** The customer on the page of the bank. */
  pay(id: string): Paid {
    const intent = this.find(id);
    if (intent?.payment.status !== 'reserved') return { paid: false, result: 'not payable' };
    const isDeclined = this.parts.faults.draw(['decline']) !== null;
    if (isDeclined) this.decline(intent);
    else this.take(intent);
    return { paid: !isDeclined, result: intent.payment.status };
  }

  shown(intent: Intent): Answer {
    return { status: 200, body: this.view(intent) };
  }

  private unexpected(intent: Intent): Answer {
    const error = { type: 'invalid_request_error', code: 'payment_intent_unexpected_state' };
    return failure(400, {
      ...error,
      message: `it is ${STATUS[intent.payment.status]}`,
      payment_intent: this.view(intent),
    });
  }

  private view(intent: Intent): Body {
    const { payment, currency, description, metadata } = intent;
    const isTaken = payment.captures > 0;
    const url = `${this.parts.ownUrl()}/stripe/3ds/${payment.id}`;
    const hasCharge = isTaken || payment.status === 'held';
    return {
      ...{
        id: payment.id,
        object: 'payment_intent',
        amount: payment.amountTiyin,
        currency: payment.currency ?? currency,
      },
      ...{ status: STATUS[payment.status], capture_method: intent.isManual ? 'manual' : 'automatic', description },
      amount_capturable: payment.status === 'held' ? payment.amountTiyin : 0,
      ...{
        amount_received: isTaken ? payment.amountTiyin : 0,
        created: intent.createdSeconds,
        livemode: false,
        metadata,
      },
      ...{
        cancellation_reason: null,
        payment_method_types: ['card'],
        latest_charge: hasCharge ? chargeOf(intent) : null,
      },
      last_payment_error: intent.wasDeclined ? { type: 'card_error', code: 'card_declined' } : null,
      next_action:
        payment.status === 'reserved' ? { type: 'redirect_to_url', redirect_to_url: { url, return_url: null } } : null,
    };
  }

  private objectOf(intent: Intent, type: string, refund: SimRefund | undefined): Body {
    if (refund) return refundView(intent, refund);
    return type.startsWith('charge.') ? chargeOf(intent) : this.view(intent);
  }

  private async notifyAll(intent: Intent, types: string[]): Promise<void> {
    const { faults } = this.parts;
    if (faults.draw(['stale_webhook'])) types.unshift('payment_intent.requires_action');
    if (faults.draw(['reorder'])) types.reverse();
    if (faults.draw(['duplicate'])) types.push(...types);
    for (const type of types) await this.notify(intent, type);
  }

  private async notify(intent: Intent, type: string, refund?: SimRefund): Promise<void> {
    const { stripe } = this.parts.merchant.accounts();
    if (!stripe) return;
    const created = Math.floor(Date.now() / 1_000);
    const event = {
      ...{ id: newId('evt'), object: 'event', type, created, livemode: false, pending_webhooks: 1 },
      ...{ api_version: null, request: null },
      data: { object: this.objectOf(intent, type, refund) },
    };
    // As Stripe writes it: with line breaks.
    const body = JSON.stringify(event, null, 2);
    const v1 = createHmac('sha256', stripe.webhook_secret)
      .update(`${String(created)}.${body}`)
      .digest('hex');
    const headers = { 'content-type': 'application/json', 'stripe-signature': `t=${String(created)},v1=${v1}` };
    await this.parts.merchant.call('stripe', stripe.url, body, headers);
  }
}

function chargeOf(intent: Intent): Body {
  const { payment, currency } = intent;
  settleAtCabinet(intent);
  return {
    ...{ id: `ch_${payment.id}`, object: 'charge', amount: payment.amountTiyin, currency },
    ...{ disputed: payment.isDisputed === true, amount_refunded: countedOf(intent) },
    ...{ captured: payment.captures > 0, payment_intent: payment.id, refunded: payment.status === 'refunded' },
  };
}

/** What a charge calls refunded: also what is pending. */
function countedOf({ refunds }: Intent): number {
  return refunds.filter(({ status }) => status !== 'failed').reduce((sum, { amount }) => sum + amount, 0);
}

/** What people gave back in the cabinet is a refund as well; what came back from the customer's bank is one that failed later. */
function settleAtCabinet({ payment, refunds }: Intent): void {
  const done = refunds.filter(({ status }) => status === 'succeeded');
  let doneTiyin = done.reduce((sum, { amount }) => sum + amount, 0);
  for (let last = done.pop(); last && doneTiyin > payment.refundedTiyin; last = done.pop()) {
    last.status = 'failed';
    doneTiyin -= last.amount;
  }
  const amount = payment.refundedTiyin - doneTiyin;
  if (amount > 0) refunds.push({ id: newId('re'), amount, status: 'succeeded', metadata: {} });
}

function refundView({ payment, currency, createdSeconds }: Intent, { id, amount, status, metadata }: SimRefund): Body {
  const named = { id, object: 'refund', payment_intent: payment.id, charge: `ch_${payment.id}` };
  return { ...named, amount, currency, created: createdSeconds, metadata, status };
}

function metadataOf(fields: Fields): Record<string, string> {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]) => {
      const [, key] = /^metadata\[([^\]]+)\]$/.exec(name) ?? [];
      return key === undefined ? [] : [[key, value] as const];
    }),
  );
}

function newId(kind: string): string {
  return `${kind}_${randomBytes(12).toString('hex')}`;
}

function failure(status: number, error: Body): Answer {
  return { status, body: { error: { message: String(error['code'] ?? error['type']), ...error } } };
}

function invalid(code: string, message: string): Answer {
  return failure(400, { type: 'invalid_request_error', code, message });
}

const MISSING = failure(404, { type: 'invalid_request_error', code: 'resource_missing' });

export function addStripe(server: FastifyInstance, parts: Parts): void {
  const book = new StripeBook(parts);
  const fieldsOf = (request: FastifyRequest): Fields => request.body as Fields;
  // An account that names none is answered in whatever version it once began with: no caller should depend on that.
  server.addHook('onRequest', async (request, reply) => {
    const isCall = request.url.startsWith('/stripe/v1/');
    if (isCall && request.headers['stripe-version'] !== VERSION)
      await send(reply, invalid('invalid_version', `Stripe-Version has to be ${VERSION} here`));
  });
  server.post(
    '/stripe/v1/payment_intents',
    once((fields) => book.create(fields)),
  );
  const intentPath = '/stripe/v1/payment_intents/:id';
  server.get(
    intentPath,
    withIntent((intent) => book.shown(intent)),
  );
  for (const move of ['confirm', 'capture', 'cancel'] as const)
    server.post(
      `${intentPath}/${move}`,
      withIntent((intent, fields) => book[move](intent, fields)),
    );
  server.post(
    '/stripe/v1/refunds',
    once((fields) => book.refund(fields)),
  );
  server.get(
    '/stripe/v1/refunds',
    answered((request) => book.refundsOf(request.query as Fields)),
  );
  addPayPage(server, '/stripe/3ds/:id', {
    provider: 'The bank',
    find: (request) => book.find(idIn(request))?.payment,
    pay: (request) => book.pay(idIn(request)),
  });

  function once(act: (fields: Fields) => Answer): Route {
    return answered((request) => book.keyed(request, () => act(fieldsOf(request))));
  }

  function withIntent(act: (intent: Intent, fields: Fields) => Answer): Route {
    return answered((request) => {
      const intent = book.find(idIn(request));
      if (!intent) return MISSING;
      const acted = (): Answer => act(intent, fieldsOf(request));
      return request.method === 'GET' ? acted() : book.keyed(request, acted);
    });
  }
}

type Route = (request: FastifyRequest, reply: FastifyReply) => FastifyReply;

/** A caller without a key is answered nothing else. */
function answered(act: (request: FastifyRequest) => Answer): Route {
  return (request, reply) => {
    const isKeyed = /^(Bearer|Basic) ./.test(request.headers.authorization ?? '');
    return send(reply, isKeyed ? act(request) : failure(401, { type: 'invalid_request_error' }));
  };
}

function send(reply: FastifyReply, { status, body }: Answer): FastifyReply {
  return reply.code(status).send(body);
}
