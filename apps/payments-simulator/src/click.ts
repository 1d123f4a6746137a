import type { FastifyInstance, FastifyReply } from 'fastify';
import { clickSignature, somToTiyin, tiyinToSom } from '#payments';
import type { FaultRule, Faults } from './faults.js';
import { callUntil, type Merchant, type MerchantAnswer } from './merchant-call.js';
import { capture, giveBack, giveBackPart, type Money, type SimPayment } from './money.js';
import { idIn, type Paid } from './pages.js';

const OK = { error_code: 0, error_note: 'Success' };

interface ClickParts {
  book: ClickBook;
  faults: Faults;
  money: Money;
}

/** Payments that Click knows, by its own number and by the merchant's reference. */
export class ClickBook {
  private readonly byId = new Map<string, SimPayment>();
  /** Sums that customers were asked for on their phones, by the merchant's reference. */
  readonly invoices = new Map<string, number>();
  private lastId = 1_000_000;

  constructor(private readonly money: Money) {}

  open(ourRef: string, amountTiyin: number): SimPayment {
    this.lastId += 1;
    const payment = this.money.open({ provider: 'click', id: String(this.lastId), ourRef, amountTiyin });
    this.byId.set(payment.id, payment);
    return payment;
  }

  find(id: string): SimPayment | undefined {
    const payment = this.byId.get(id);
    return payment?.isForgotten === true ? undefined : payment;
  }

  /** One that moved money, else the last one. */
  findByRef(ourRef: string): SimPayment | undefined {
    const all = [...this.byId.values()].filter((payment) => payment.ourRef === ourRef && !payment.isForgotten);
    return all.find(({ captures }) => captures > 0) ?? all.at(-1);
  }
}

/** Click's Merchant API. */
export function addClickMerchant(server: FastifyInstance, { book, faults, money }: ClickParts): void {
  const base = '/click/v2/merchant';
  addClickRegister(server, { book, faults, money });
  addClickPass(server, { book, faults, money });
  server.post(`${base}/invoice/create`, (request) => {
    const body = request.body as { amount: number; merchant_trans_id: string; phone_number?: string };
    const amount = somToTiyin(body.amount);
    if (amount.kind !== 'ok' || !/^998\d{9}$/.test(body.phone_number ?? ''))
      return { error_code: -2, error_note: 'fields' };
    book.invoices.set(body.merchant_trans_id, amount.tiyin);
    return { ...OK, invoice_id: book.invoices.size };
  });
  server.post(`${base}/card_token/payment`, (request) => {
    const body = request.body as { amount: number; transaction_parameter?: string };
    const amount = somToTiyin(body.amount);
    if (amount.kind !== 'ok' || body.transaction_parameter === undefined)
      return { error_code: -2, error_note: 'fields' };
    const payment = book.open(body.transaction_parameter, amount.tiyin);
    if (faults.draw(['decline'])) payment.status = 'declined';
    else capture(payment);
    return { ...OK, payment_id: Number(payment.id), payment_status: statusOf(payment) };
  });
  server.get(`${base}/payment/status/:service/:id`, (request, reply) => {
    const payment = book.find(idIn(request));
    if (!payment) return notFound(reply);
    return { ...OK, payment_id: Number(payment.id), payment_status: statusOf(payment) };
  });
  server.get(`${base}/payment/status_by_mti/:service/:ref/:day`, (request) => {
    const payment = book.findByRef((request.params as { ref: string }).ref);
    if (!payment) return { error_code: -1, error_note: 'not found' };
    return { ...OK, payment_id: Number(payment.id), merchant_trans_id: payment.ourRef };
  });
  server.delete(`${base}/payment/reversal/:service/:id`, (request, reply) => {
    const payment = book.find(idIn(request));
    if (!payment) return notFound(reply);
    if (payment.status !== 'captured') return { error_code: -1, error_note: 'not paid' };
    giveBack(payment);
    // Whether a real one does is not documented.
    if (payment.documents.length > 0 && faults.draw(['refund_document'])) money.register(payment, 'refund', null);
    return { ...OK, payment_id: Number(payment.id) };
  });
  server.delete(`${base}/payment/partial_reversal/:service/:id/:amount`, (request, reply) => {
    const { id, amount } = request.params as { id: string; amount: string };
    const payment = book.find(id);
    if (!payment) return notFound(reply);
    const part = somToTiyin(amount);
    const isRefused = faults.draw(['refuse_refund']) !== null || part.kind !== 'ok';
    if (isRefused || !giveBackPart(payment, part.tiyin)) return { error_code: -1, error_note: 'not reversed' };
    return OK;
  });
  server.post(`${base}/payment/ofd_data/submit_qrcode`, (request) => {
    const body = request.body as { payment_id: number; qrcode: string };
    const payment = book.find(String(body.payment_id));
    if (payment) payment.link = body.qrcode;
    return payment ? OK : { error_code: -1, error_note: 'not found' };
  });
}

const CARD_REFUSED = { error: '-5017', error_note: 'Insufficient funds' };

/** How long an unconfirmed payment stays. */
const PASS_MS = 30_000;

/** Click Pass: a payment that is not confirmed in time is given back by itself. */
function addClickPass(server: FastifyInstance, { book, faults }: ClickParts): void {
  const base = '/click/v2/merchant/click_pass';
  let confirms = false;
  server.put(`${base}/confirmation/:service`, () => {
    confirms = true;
    return OK;
  });
  server.delete(`${base}/confirmation/:service`, () => {
    confirms = false;
    return OK;
  });
  server.post(`${base}/payment`, (request) => {
    const body = request.body as { amount: number; otp_data: string; transaction_id: string };
    const amount = somToTiyin(body.amount);
    if (amount.kind !== 'ok') return { error_code: -2, error_note: 'amount' };
    const payment = book.open(body.transaction_id, amount.tiyin);
    if (faults.draw(['decline'])) payment.status = 'declined';
    else if (confirms) hold(payment, lifeOf(faults.draw(['expire_hold'])));
    else capture(payment);
    const card = { card_type: 'private', processing_type: 'UZCARD', card_number: '860030******5959' };
    const more = { ...card, phone_number: '998901234567' };
    const result = {
      payment_id: Number(payment.id),
      payment_status: statusOf(payment),
      confirm_mode: confirms ? 1 : 0,
    };
    return { ...OK, ...result, ...more };
  });
  server.post(`${base}/confirm`, (request) => {
    const payment = book.find(String((request.body as { payment_id: number }).payment_id));
    if (payment?.status !== 'held') return { error_code: -9, error_note: 'not confirmable' };
    capture(payment);
    return OK;
  });
}

function lifeOf(rule: FaultRule | null): number {
  return rule ? (rule.delay_ms ?? 0) : PASS_MS;
}

function hold(payment: SimPayment, ms: number): void {
  payment.status = 'held';
  const release = (): void => {
    if (payment.status === 'held') payment.status = 'declined';
  };
  setTimeout(release, ms).unref();
}

/** Click's register: sells what is handed in; handing it in twice makes two; its link can be read a moment later. */
function addClickRegister(server: FastifyInstance, { book, money }: ClickParts): void {
  const base = '/click/v2/merchant/payment/ofd_data';
  const readable = new Map<string, number>();
  const shows = (id: string): void => void readable.set(id, Date.now() + 300);
  server.post(`${base}/submit_items`, (request) => {
    const body = request.body as { payment_id: number; items: { Price: number; Discount: number; Amount: number }[] };
    const payment = book.find(String(body.payment_id));
    if (payment?.status !== 'captured') return { error_code: -1, error_note: 'not paid' };
    if (!body.items.every(({ Amount }) => Number.isSafeInteger(Amount)))
      return { error_code: -8, error_note: 'Amount' };
    const totalTiyin = body.items.reduce((sum, { Price, Discount }) => sum + Price - Discount, 0);
    money.register(payment, 'sale', { count: body.items.length, totalTiyin });
    shows(payment.id);
    return OK;
  });
  server.get(`${base}/:service/:id`, (request) => {
    const id = idIn(request);
    const isReadable = (readable.get(id) ?? Infinity) <= Date.now();
    return { paymentId: Number(id), qrCodeURL: isReadable ? (book.find(id)?.documents.at(-1)?.url ?? '') : '' };
  });
}

function notFound(reply: FastifyReply): FastifyReply {
  return reply.code(404).send({ error_code: -404, error_note: 'not found' });
}

function statusOf({ status }: SimPayment): number {
  if (status === 'captured') return 2;
  return status === 'pending' || status === 'reserved' || status === 'held' ? 1 : -1;
}

/**
 * Click's side of a payment on its page: Prepare, debit, Complete; a failed Complete is repeated. Each try of the customer is a
 * payment of its own (click_paydoc_id), each call about it names the try (click_trans_id): two numbers, as documented.
 */
export class ClickDriver {
  private lastTransaction = 500_000;

  constructor(
    private readonly merchant: Merchant,
    private readonly book: ClickBook,
    private readonly faults: Faults,
  ) {}

  async pay(order: { ourRef: string; amountTiyin: number }): Promise<Paid> {
    const payment = this.book.open(order.ourRef, order.amountTiyin);
    this.lastTransaction += 1;
    const trans = String(this.lastTransaction);
    // Overtakes the call that it follows.
    if (this.faults.draw(['reorder'])) await this.call(payment, trans, { action: '1', merchant_prepare_id: '1' });
    const prepared = await this.call(payment, trans, { action: '0' });
    if (prepared?.['error'] !== 0) {
      payment.status = 'declined';
      return { paid: false, result: prepared };
    }
    payment.status = 'reserved';
    const confirmed = { action: '1', merchant_prepare_id: String(prepared['merchant_prepare_id']) };
    if (this.faults.draw(['decline'])) {
      payment.status = 'declined';
      // The customer's card was refused: the merchant is asked to forget the attempt.
      return { paid: false, result: await this.call(payment, trans, { ...confirmed, ...CARD_REFUSED }) };
    }
    const completed = await this.call(payment, trans, confirmed);
    // Documented: after the debit only -4 (confirmed before) and -9 (cancelled before) are answers beside success. What was confirmed
    // before stays with the merchant.
    const isPaid = completed?.['error'] === 0 || completed?.['error'] === -4;
    if (isPaid) capture(payment);
    else payment.status = 'declined';
    // Sent long ago and on its way until now.
    if (this.faults.draw(['stale_webhook'])) await this.call(payment, trans, { action: '0' });
    return { paid: isPaid, result: completed };
  }

  private async call(
    payment: SimPayment,
    trans: string,
    more: Record<string, string>,
  ): Promise<Record<string, unknown> | null> {
    const click = this.merchant.account('click');
    const signTime = new Date().toISOString().slice(0, 19).replace('T', ' ');
    const signed = {
      ...{ clickTransId: trans, serviceId: click.service_id, merchantTransId: payment.ourRef },
      ...{ merchantPrepareId: more['merchant_prepare_id'] ?? null, amount: tiyinToSom(payment.amountTiyin) },
      ...{ action: more['action'] ?? '', signTime },
    };
    const body = new URLSearchParams({
      ...{ click_trans_id: trans, service_id: click.service_id, click_paydoc_id: payment.id },
      ...{ merchant_trans_id: payment.ourRef, amount: signed.amount, error: '0', error_note: 'Success' },
      ...{ sign_time: signTime, sign_string: clickSignature(signed, click.secret_key), ...more },
    }).toString();
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    if (this.faults.draw(['duplicate'])) await this.merchant.call('click', click.url, body, headers);
    const isFinal = (answer: MerchantAnswer | null): boolean => answer?.status === 200 && answer.body['error'] !== -7;
    const answer = await callUntil(isFinal, () => this.merchant.call('click', click.url, body, headers));
    return isFinal(answer) ? (answer?.body ?? null) : null;
  }
}
