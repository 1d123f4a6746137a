import { randomUUID } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { tashkentDateTime } from '#fiscal-domain';
import { multicardSuccessSign, multicardWebhookSign } from '#payments';
import type { Faults } from './faults.js';
import { callUntil, type MerchantAnswer } from './merchant-call.js';
import { capture, giveBack, giveBackPart, hold, type SimLines } from './money.js';
import { idIn, type Paid } from './pages.js';
import type { Parts } from './parts.js';
import {
  holdOf,
  invoiceOf,
  MODEL_STATUS,
  paymentOf,
  type MulticardBody,
  type MulticardCard,
} from './multicard-models.js';

/** What every customer is sent, as in Multicard's sandbox. */
const CODE = '112233';

/** Multicard: holds by token, invoices with a callback that decides. */
export class MulticardBook {
  private readonly cards = new Map<string, MulticardCard>();
  private lastNumber = 750_000;

  constructor(private readonly parts: Parts) {}

  open(body: MulticardBody, kind: MulticardCard['kind']): MulticardCard {
    const id = randomUUID();
    const ourRef = String(body['invoice_id']);
    const payment = this.parts.money.open({ provider: 'multicard', id, ourRef, amountTiyin: Number(body['amount']) });
    const { token = null } = (body['card'] ?? {}) as { token?: string };
    this.lastNumber += 1;
    const card: MulticardCard = {
      ...{ payment, kind, number: this.lastNumber, openedMs: Date.now(), token },
      ...{ callbackUrl: textOrNull(body['callback_url']), returnUrl: textOrNull(body['return_url']) },
      ...{ storeId: String(body['store_id']), expiryMinutes: Number(body['expiry'] ?? 0), ofd: body['ofd'] ?? null },
      checkoutUrl: `${this.parts.ownUrl()}/multicard/checkout/${id}`,
      needsCode: /^otp/.test(token ?? ''),
    };
    this.cards.set(id, card);
    return card;
  }

  find(id: string): MulticardCard | undefined {
    const card = this.cards.get(id);
    return card?.payment.isForgotten === true ? undefined : card;
  }

  /** The customer pays the invoice: debit, ask the merchant, keep or give back. */
  async payInvoice(id: string): Promise<Paid> {
    const card = this.cards.get(id);
    if (!card || card.kind !== 'invoice' || card.payment.status !== 'pending')
      return { paid: false, result: 'not payable' };
    card.payment.status = 'reserved';
    if (this.parts.faults.draw(['stale_webhook'])) await this.notify(card, 'webhook');
    if (this.parts.faults.draw(['duplicate'])) await this.notify(card, 'success');
    // No answer and HTTP 500: the money stays frozen and the call is repeated.
    const isFinal = (answer: MerchantAnswer | null): boolean => answer !== null && answer.status !== 500;
    const answer = await callUntil(isFinal, () => this.notify(card, 'success'));
    if (!answer || !isFinal(answer)) return { paid: false, result: 'no verdict' };
    const isKept = answer.status === 200 && answer.body['success'] === true;
    capture(card.payment);
    if (isKept) this.register(card);
    else giveBack(card.payment);
    return { paid: isKept, result: answer.body };
  }

  /** Multicard's own register: the sale with the money, its refund when that goes back. Without lines there is nothing to sell. */
  register({ payment, ofd }: MulticardCard): void {
    const [sale, refund] = ['sale', 'refund'].map((type) => payment.documents.find((each) => each.type === type));
    if (payment.status === 'captured' && !sale && Array.isArray(ofd) && ofd.length > 0)
      this.parts.money.register(payment, 'sale', linesOf(ofd as { total: number }[]));
    if (payment.status === 'refunded' && sale && !refund) this.parts.money.register(payment, 'refund', null);
  }

  private notify(card: MulticardCard, scheme: 'success' | 'webhook'): Promise<MerchantAnswer | null> {
    const { multicard } = this.parts.merchant.accounts();
    const body = scheme === 'success' ? successOf(card, multicard?.secret) : webhookOf(card, multicard?.secret);
    return this.parts.merchant.call('multicard', multicard?.url ?? card.callbackUrl ?? '', JSON.stringify(body));
  }
}

/** Scheme `success`, with the fields of its page. */
function successOf(card: MulticardCard, secret = ''): MulticardBody {
  const { payment, storeId } = card;
  const signed = { uuid: payment.id, storeId, invoiceId: payment.ourRef, amount: String(payment.amountTiyin) };
  return {
    ...{ store_id: Number(storeId), amount: payment.amountTiyin, invoice_id: payment.ourRef, uuid: payment.id },
    ...{
      billing_id: `b${payment.id}`,
      payment_time: tashkentDateTime(Date.now()),
      phone: '998901234567',
      ps: 'uzcard',
    },
    ...{ card_pan: '860030******5959', card_token: card.token ?? 'sim-card', receipt_url: card.checkoutUrl },
    sign: multicardSuccessSign(signed, secret),
  };
}

/** Scheme `webhooks`: it names no store. */
function webhookOf({ payment }: MulticardCard, secret = ''): MulticardBody {
  const signed = { uuid: payment.id, storeId: null, invoiceId: payment.ourRef, amount: String(payment.amountTiyin) };
  const status = MODEL_STATUS[payment.status];
  return {
    ...{ uuid: payment.id, amount: payment.amountTiyin, invoice_id: payment.ourRef, billing_id: null },
    status: status === 'billing' ? 'progress' : status,
    ...{ payment_time: tashkentDateTime(Date.now()), refund_time: null, phone: '998901234567' },
    ...{ card_pan: '860030******5959', ps: 'uzcard', card_token: null, receipt_url: null },
    sign: multicardWebhookSign(signed, secret),
  };
}

export function addMulticard(server: FastifyInstance, book: MulticardBook, faults: Faults): void {
  const base = '/multicard';
  const withCard: WithCard = (request, reply, act) => {
    const card = book.find(idIn(request));
    return card ? act(card) : refuse(reply, 404, 'ERROR_NOT_FOUND');
  };
  server.post(`${base}/auth`, () => ({ token: 'sim-token', role: 'merchant', expiry: '2099-12-31 23:59:59' }));
  server.post(`${base}/payment/hold`, (request) => done(holdOf(book.open(request.body as MulticardBody, 'hold'))));
  server.put(`${base}/payment/hold/:id`, (request, reply) =>
    withCard(request, reply, (card) => {
      if (card.payment.status !== 'pending') return refuse(reply, 400, 'ERROR_PAYMENT_APPLIED');
      if (card.needsCode && (request.body as MulticardBody)['otp'] !== CODE)
        return refuse(reply, 400, 'ERROR_WRONG_OTP');
      if (faults.draw(['decline'])) {
        card.payment.status = 'declined';
        return refuse(reply, 400, 'ERROR_INSUFFICIENT_FUNDS');
      }
      hold(card.payment, faults);
      return done(holdOf(card));
    }),
  );
  server.put(`${base}/payment/hold/:id/charge`, (request, reply) =>
    withCard(request, reply, (card) => {
      if (card.payment.status !== 'held') return refuse(reply, 400, 'ERROR_PAYMENT_APPLIED');
      const { amount, ofd } = request.body as MulticardBody;
      if (amount !== card.payment.amountTiyin) return refuse(reply, 400, 'ERROR_FIELDS');
      capture(card.payment);
      card.ofd = ofd ?? null;
      book.register(card);
      return done(paymentOf(card));
    }),
  );
  server.delete(`${base}/payment/hold/:id`, (request, reply) =>
    withCard(request, reply, (card) => {
      if (card.payment.status !== 'held' && card.payment.status !== 'pending')
        return refuse(reply, 403, 'ERROR_PAYMENT_APPLIED');
      giveBack(card.payment);
      return done(holdOf(card));
    }),
  );
  server.get(`${base}/payment/hold/:id`, (request, reply) => withCard(request, reply, (card) => done(holdOf(card))));
  addInvoices(server, book, withCard);
  addPayments(server, { book, faults, withCard });
}

type WithCard = (request: FastifyRequest, reply: FastifyReply, act: (card: MulticardCard) => unknown) => unknown;

function addPayments(
  server: FastifyInstance,
  { book, faults, withCard }: { book: MulticardBook; faults: Faults; withCard: WithCard },
): void {
  const base = '/multicard';
  server.get(`${base}/payment/:id`, (request, reply) =>
    withCard(request, reply, (card) =>
      card.kind === 'invoice' && (card.payment.status === 'pending' || card.payment.status === 'voided')
        ? refuse(reply, 404, 'ERROR_NOT_FOUND')
        : done(paymentOf(card)),
    ),
  );
  server.delete(`${base}/payment/:id`, (request, reply) =>
    withCard(request, reply, (card) => {
      // As its page has it of a payment that is over.
      if (card.payment.status !== 'captured') return refuse(reply, 404, 'ERROR_NOT_FOUND');
      giveBack(card.payment);
      book.register(card);
      return done(paymentOf(card));
    }),
  );
  server.delete(`${base}/payment/:id/partial`, (request, reply) =>
    withCard(request, reply, (card) => {
      const { refund_amount: amount, ofd } = request.body as MulticardBody;
      if (faults.draw(['refuse_refund'])) return refuse(reply, 400, 'ERROR_FIELDS');
      if (!Array.isArray(ofd) || !giveBackPart(card.payment, Number(amount))) return refuse(reply, 400, 'ERROR_FIELDS');
      return done(paymentOf(card));
    }),
  );
  server.patch(`${base}/payment/:id/fiscal`, (request, reply) =>
    withCard(request, reply, (card) => {
      card.payment.link = String((request.body as MulticardBody)['url']);
      return { success: true, data: {} };
    }),
  );
}

function addInvoices(server: FastifyInstance, book: MulticardBook, withCard: WithCard): void {
  const base = '/multicard';
  server.post(`${base}/payment/invoice`, (request, reply) => {
    const body = request.body as MulticardBody;
    if (!Array.isArray(body['ofd'])) return refuse(reply, 400, 'ERROR_FIELDS');
    return done(invoiceOf(book.open(body, 'invoice')));
  });
  server.get(`${base}/payment/invoice/:id`, (request, reply) =>
    withCard(request, reply, (card) =>
      card.payment.status === 'voided' ? refuse(reply, 404, 'ERROR_NOT_FOUND') : done(invoiceOf(card)),
    ),
  );
  server.delete(`${base}/payment/invoice/:id`, (request, reply) =>
    withCard(request, reply, (card) => {
      if (card.payment.status !== 'pending') return refuse(reply, 400, 'ERROR_FIELDS');
      card.payment.status = 'voided';
      return done([]);
    }),
  );
}

function done(data: unknown): unknown {
  return { success: true, data };
}

function refuse(reply: FastifyReply, status: number, code: string): FastifyReply {
  return reply.code(status).send({ success: false, error: { code, details: code } });
}

function linesOf(ofd: readonly { total: number }[]): SimLines {
  return { count: ofd.length, totalTiyin: ofd.reduce((sum, { total }) => sum + total, 0) };
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
