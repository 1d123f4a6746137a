import { randomUUID } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { multicardSuccessSign, multicardWebhookSign } from '#payments';
import type { MerchantAccounts } from './accounts.js';
import type { Faults } from './faults.js';
import { callMerchant, callUntil, type MerchantAnswer } from './merchant-call.js';
import { capture, giveBack, giveBackPart, type Money, type SimLines, type SimPayment } from './money.js';

interface Card {
  payment: SimPayment;
  kind: 'hold' | 'invoice';
  callbackUrl: string | null;
  storeId: string;
  expiryMinutes: number;
  /** Asked the merchant and waits for the verdict. */
  isBilling: boolean;
  /** What Multicard is to register: of an invoice from the start, of a hold with its charge. */
  ofd: unknown;
  /** The customer was sent a code: cards whose token begins with "otp". */
  needsCode: boolean;
}

/** What every customer is sent, as in Multicard's sandbox. */
const CODE = '112233';

type Body = Record<string, unknown>;

/** Multicard: holds by token, invoices with a callback that decides. */
export class MulticardBook {
  private readonly cards = new Map<string, Card>();

  constructor(
    private readonly money: Money,
    private readonly faults: Faults,
    private readonly accounts: () => MerchantAccounts,
  ) {}

  open(body: Body, kind: Card['kind']): Card {
    const id = randomUUID();
    const ourRef = String(body['invoice_id']);
    const payment = this.money.open({ provider: 'multicard', id, ourRef, amountTiyin: Number(body['amount']) });
    const callback = body['callback_url'];
    const card = {
      ...{
        payment,
        kind,
        callbackUrl: typeof callback === 'string' ? callback : null,
        storeId: String(body['store_id']),
      },
      ...{ expiryMinutes: Number(body['expiry'] ?? 0), isBilling: false, ofd: body['ofd'] },
      needsCode: /^otp/.test((body['card'] as { token?: string } | undefined)?.token ?? ''),
    };
    this.cards.set(id, card);
    return card;
  }

  find(id: string): Card | undefined {
    const card = this.cards.get(id);
    return card?.payment.isForgotten === true ? undefined : card;
  }

  /** The customer pays the invoice: debit, ask the merchant, keep or give back. */
  async payInvoice(id: string): Promise<{ paid: boolean; said: unknown }> {
    const card = this.cards.get(id);
    if (!card || card.kind !== 'invoice' || card.payment.status !== 'pending')
      return { paid: false, said: 'not payable' };
    card.payment.status = 'reserved';
    card.isBilling = true;
    if (this.faults.draw(['stale_webhook'])) await this.tell(card, 'webhook');
    if (this.faults.draw(['duplicate'])) await this.tell(card, 'success');
    // No answer and HTTP 500: the money stays frozen and the call is repeated.
    const isFinal = (answer: MerchantAnswer | null): boolean => answer !== null && answer.status !== 500;
    const answer = await callUntil(isFinal, () => this.tell(card, 'success'));
    if (!answer || !isFinal(answer)) return { paid: false, said: 'no verdict' };
    card.isBilling = false;
    const isKept = answer.status === 200 && answer.body['success'] === true;
    capture(card.payment);
    if (isKept) this.register(card);
    else giveBack(card.payment);
    return { paid: isKept, said: answer.body };
  }

  /** Multicard's own register: the sale with the money, its refund when that goes back. */
  register({ payment, ofd }: Card): void {
    const [sale, refund] = ['sale', 'refund'].map((type) => payment.documents.find((each) => each.type === type));
    if (payment.status === 'captured' && !sale && ofd !== undefined)
      this.money.register(payment, 'sale', linesOf(ofd as { total: number }[]));
    if (payment.status === 'refunded' && sale && !refund) this.money.register(payment, 'refund', null);
  }

  private tell(card: Card, scheme: 'success' | 'webhook') {
    const { multicard } = this.accounts();
    const { payment, storeId } = card;
    const secret = multicard?.secret ?? '';
    const signed = { uuid: payment.id, storeId, invoiceId: payment.ourRef, amount: String(payment.amountTiyin) };
    const sign = scheme === 'success' ? multicardSuccessSign(signed, secret) : multicardWebhookSign(signed, secret);
    const body = { uuid: payment.id, store_id: storeId, invoice_id: payment.ourRef, amount: payment.amountTiyin, sign };
    return callMerchant(multicard?.url ?? card.callbackUrl ?? '', JSON.stringify(body), {
      'content-type': 'application/json',
    });
  }
}

export function addMulticard(server: FastifyInstance, book: MulticardBook, faults: Faults, ownUrl: () => string): void {
  const base = '/multicard';
  const idOf = (request: FastifyRequest): string => (request.params as { id: string }).id;
  const withCard = (request: FastifyRequest, reply: FastifyReply, act: (card: Card) => unknown): unknown => {
    const card = book.find(idOf(request));
    return card ? act(card) : refuse(reply, 404, 'ERROR_NOT_FOUND');
  };
  server.post(`${base}/auth`, () => ({ token: 'sim-token', role: 'merchant', expiry: '2099-12-31 23:59:59' }));
  server.post(`${base}/payment/hold`, (request) => done(holdOf(book.open(request.body as Body, 'hold'))));
  server.put(`${base}/payment/hold/:id`, (request, reply) =>
    withCard(request, reply, (card) => {
      if (card.payment.status !== 'pending') return refuse(reply, 400, 'ERROR_PAYMENT_APPLIED');
      if (card.needsCode && (request.body as Body)['otp'] !== CODE) return refuse(reply, 400, 'ERROR_WRONG_OTP');
      if (faults.draw(['decline'])) {
        card.payment.status = 'declined';
        return refuse(reply, 400, 'ERROR_INSUFFICIENT_FUNDS');
      }
      card.payment.status = 'held';
      return done(holdOf(card));
    }),
  );
  server.put(`${base}/payment/hold/:id/charge`, (request, reply) =>
    withCard(request, reply, (card) => {
      if (card.payment.status !== 'held') return refuse(reply, 400, 'ERROR_PAYMENT_APPLIED');
      capture(card.payment);
      card.ofd = (request.body as Body)['ofd'];
      book.register(card);
      return done(modelOf(card));
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
  addInvoices(server, { book, ownUrl, withCard });
  server.get(`${base}/payment/:id`, (request, reply) =>
    withCard(request, reply, (card) =>
      card.kind === 'invoice' && (card.payment.status === 'pending' || card.payment.status === 'voided')
        ? refuse(reply, 404, 'ERROR_NOT_FOUND')
        : done(modelOf(card)),
    ),
  );
  server.delete(`${base}/payment/:id`, (request, reply) =>
    withCard(request, reply, (card) => {
      if (card.payment.status !== 'captured') return refuse(reply, 400, 'ERROR_PAYMENT_APPLIED');
      giveBack(card.payment);
      book.register(card);
      return done(modelOf(card));
    }),
  );
  server.delete(`${base}/payment/:id/partial`, (request, reply) =>
    withCard(request, reply, (card) => {
      const { refund_amount: amount, ofd } = request.body as Body;
      if (faults.draw(['refuse_refund'])) return refuse(reply, 400, 'ERROR_FIELDS');
      if (!Array.isArray(ofd) || !giveBackPart(card.payment, Number(amount))) return refuse(reply, 400, 'ERROR_FIELDS');
      return done(modelOf(card));
    }),
  );
  server.patch(`${base}/payment/:id/fiscal`, (request, reply) =>
    withCard(request, reply, (card) => {
      card.payment.link = String((request.body as Body)['url']);
      return done(modelOf(card));
    }),
  );
}

type WithCard = (request: FastifyRequest, reply: FastifyReply, act: (card: Card) => unknown) => unknown;

function addInvoices(
  server: FastifyInstance,
  { book, ownUrl, withCard }: { book: MulticardBook; ownUrl: () => string; withCard: WithCard },
): void {
  const base = '/multicard';
  server.post(`${base}/payment/invoice`, (request) => {
    const card = book.open(request.body as Body, 'invoice');
    return done({ uuid: card.payment.id, checkout_url: `${ownUrl()}${base}/checkout/${card.payment.id}` });
  });
  server.get(`${base}/payment/invoice/:id`, (request, reply) =>
    withCard(request, reply, (card) =>
      card.payment.status === 'voided' ? refuse(reply, 404, 'ERROR_NOT_FOUND') : done({ uuid: card.payment.id }),
    ),
  );
  server.delete(`${base}/payment/invoice/:id`, (request, reply) =>
    withCard(request, reply, (card) => {
      if (card.payment.status !== 'pending') return refuse(reply, 400, 'ERROR_PAYMENT_APPLIED');
      card.payment.status = 'voided';
      return done({ uuid: card.payment.id });
    }),
  );
}

function done(data: unknown): unknown {
  return { success: true, data };
}

function refuse(reply: FastifyReply, status: number, code: string): FastifyReply {
  return reply.code(status).send({ success: false, error: { code, details: code } });
}

const MODEL = {
  ...{ pending: 'draft', reserved: 'billing', held: 'progress', captured: 'success' },
  ...{ voided: 'revert', refunded: 'revert', declined: 'error' },
} as const;
const HOLD = {
  ...{ pending: 'draft', reserved: 'draft', held: 'active', captured: 'charged' },
  ...{ voided: 'canceled', refunded: 'canceled', declined: 'error' },
} as const;

function modelOf({ payment, needsCode }: Card): Body {
  return {
    otp_hash: needsCode ? 'a-hash' : null,
    ...{ uuid: payment.id, status: MODEL[payment.status], payment_amount: payment.amountTiyin },
    refund_amount: payment.refundedTiyin,
    tax_receipts: payment.documents.map(taxReceiptOf),
    ...{ store_invoice_id: payment.ourRef, ps: 'uzcard', ps_uniq_id: '123456789012', phone: '998901234567' },
  };
}

function taxReceiptOf({ type, url }: SimPayment['documents'][number]): Body {
  const { searchParams } = new URL(url);
  const [fm_num, f_num] = [searchParams.get('t'), searchParams.get('s')];
  return { fm_num, f_num, qr_url: url, is_refund: type === 'refund' };
}

function linesOf(ofd: readonly { total: number }[]): SimLines {
  return { count: ofd.length, totalTiyin: ofd.reduce((sum, { total }) => sum + total, 0) };
}

function holdOf(card: Card): Body {
  const { payment, expiryMinutes } = card;
  return { id: payment.id, status: HOLD[payment.status], expiry: expiryMinutes, payment: modelOf(card) };
}
