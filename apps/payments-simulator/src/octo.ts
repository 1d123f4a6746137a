import { randomUUID } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { octoSignatures, somToTiyin, tiyinToSomNumber } from '#payments';
import { LATE_MS } from './faults.js';
import { capture, giveBack, giveBackPart, hold, type SimPayment } from './money.js';
import { addPayPage, idIn, type Paid } from './pages.js';
import type { Parts } from './parts.js';

type Body = Record<string, unknown>;

interface OctoPayment {
  payment: SimPayment;
  isHeld: boolean;
  currency: string;
  notifyUrl: string | null;
  refunds: Set<string>;
}

const STATUS = {
  ...{ pending: 'created', reserved: 'wait_user_action', held: 'waiting_for_capture', captured: 'succeeded' },
  ...{ voided: 'canceled', refunded: 'succeeded', declined: 'canceled' },
} as const;

/** Octo: payments by the shop's own reference, one stage or two, refunds in parts, signed notifications. */
class OctoBook {
  private readonly byRef = new Map<string, OctoPayment>();

  constructor(private readonly parts: Parts) {}

  byId(id: string): OctoPayment | undefined {
    return [...this.byRef.values()].find(({ payment }) => payment.id === id && !payment.isForgotten);
  }

  /** The same reference is the same payment, whatever else it holds. */
  prepare(body: Body): Body {
    const ref = String(body['shop_transaction_id']);
    const known = this.byRef.get(ref);
    if (known) return done(this.view(known));
    const sum = somToTiyin(Number(body['total_sum']));
    if (body['total_sum'] === undefined || sum.kind !== 'ok') return failure(1, 'Wrong format');
    const made = { provider: 'octo', id: randomUUID(), ourRef: ref, amountTiyin: sum.tiyin } as const;
    const notify = body['notify_url'];
    const octo: OctoPayment = {
      ...{ payment: this.parts.money.open(made), isHeld: body['auto_capture'] === false },
      ...{ currency: String(body['currency']), notifyUrl: typeof notify === 'string' ? notify : null },
      refunds: new Set(),
    };
    this.byRef.set(ref, octo);
    return done(this.view(octo));
  }

  accept(octo: OctoPayment, body: Body): Body {
    const { payment } = octo;
    if (payment.status !== 'held') return failure(5, 'Wrong status');
    if (body['accept_status'] === 'cancel') this.parts.faults.perhapsLate(() => giveBack(payment));
    else {
      const sum = somToTiyin(Number(body['final_amount'] ?? tiyinToSomNumber(payment.amountTiyin)));
      if (sum.kind !== 'ok' || sum.tiyin <= 0 || sum.tiyin > payment.amountTiyin) return failure(3, 'Wrong amount');
      this.parts.faults.perhapsLate(() => {
        // Less than was held may be confirmed; the rest goes back to the card.
        payment.amountTiyin = sum.tiyin;
        capture(payment);
      });
    }
    return done(this.view(octo));
  }

  refund(octo: OctoPayment, body: Body): Body {
    const id = String(body['shop_refund_id']);
    // Filtered: that it was taken is all that is known of it.
    if (octo.refunds.has(id)) return failure(6, 'Duplicate refund');
    const sum = somToTiyin(Number(body['amount']));
    if (sum.kind !== 'ok' || this.parts.faults.draw(['refuse_refund'])) return failure(3, 'Invalid refund amount');
    const isLate = this.parts.faults.draw(['late']);
    const left = octo.payment.amountTiyin - octo.payment.refundedTiyin;
    if (octo.payment.status !== 'captured' || sum.tiyin > left) return failure(3, 'Invalid refund amount');
    octo.refunds.add(id);
    const act = (): void => void giveBackPart(octo.payment, sum.tiyin);
    if (isLate) this.parts.faults.later(act, isLate.delay_ms ?? LATE_MS);
    else act();
    const refund_time = new Date().toISOString().slice(0, 19).replace('T', ' ');
    const named = { octo_payment_UUID: octo.payment.id, refund_id: randomUUID(), refund_time };
    return done({ ...named, status: isLate ? 'pending' : 'succeeded' });
  }

  /** The customer on Octo's page; the shop is notified of each status, as often and in whatever order. */
  async pay(id: string): Promise<Paid> {
    const octo = this.byId(id);
    if (octo?.payment.status !== 'pending') return { paid: false, result: 'not payable' };
    const { payment, isHeld } = octo;
    const { faults } = this.parts;
    if (faults.draw(['stale_webhook'])) await this.notify(octo, 'wait_user_action');
    if (faults.draw(['decline'])) payment.status = 'declined';
    else if (isHeld) hold(payment, this.parts.faults);
    else capture(payment);
    const words = ['wait_user_action', STATUS[payment.status]];
    if (faults.draw(['reorder'])) words.reverse();
    if (faults.draw(['duplicate'])) words.push(...words);
    for (const word of words) await this.notify(octo, word);
    return { paid: payment.status !== 'declined', result: payment.status };
  }

  private view({ payment, currency }: OctoPayment): Body {
    return {
      ...{ shop_transaction_id: payment.ourRef, octo_payment_UUID: payment.id, status: STATUS[payment.status] },
      ...{ octo_pay_url: `${this.parts.ownUrl()}/octo/pay/${payment.id}`, currency: payment.currency ?? currency },
      ...{ total_sum: tiyinToSomNumber(payment.amountTiyin), transfer_sum: tiyinToSomNumber(payment.amountTiyin) },
      refunded_sum: tiyinToSomNumber(payment.refundedTiyin),
    };
  }

  private async notify({ payment, notifyUrl }: OctoPayment, status: string): Promise<void> {
    const { octo } = this.parts.merchant.accounts();
    const url = octo?.url ?? notifyUrl;
    if (!octo || url === null) return;
    const hash_key = randomUUID();
    const signed = { uuid: payment.id, status, hashKey: hash_key };
    const [signature = ''] = octoSignatures(signed, { kind: 'nested', secret: octo.secret });
    const sums = { total_sum: tiyinToSomNumber(payment.amountTiyin), refunded_sum: 0, rrn: '436456776123' };
    const body = {
      ...{ shop_transaction_id: payment.ourRef, octo_payment_UUID: payment.id, status, ...sums },
      ...{ signature: signature.toUpperCase(), hash_key },
    };
    await this.parts.merchant.call('octo', url, JSON.stringify(body));
  }
}

function done(data: Body): Body {
  return { error: 0, errMessage: null, data };
}

function failure(error: number, errMessage: string): Body {
  return { error, errMessage, data: null };
}

export function addOcto(server: FastifyInstance, parts: Parts): void {
  const book = new OctoBook(parts);
  const withPayment = (body: unknown, act: (octo: OctoPayment, body: Body) => Body): Body => {
    const octo = book.byId(String((body as Body)['octo_payment_UUID']));
    return octo ? act(octo, body as Body) : failure(4, 'Payment is not found');
  };
  server.post('/octo/api/prepare_payment', (request) => book.prepare(request.body as Body));
  server.post('/octo/api/set_accept', (request) => withPayment(request.body, (octo, body) => book.accept(octo, body)));
  server.post('/octo/api/refund', (request) => withPayment(request.body, (octo, body) => book.refund(octo, body)));
  addPayPage(server, '/octo/pay/:id', {
    provider: 'Octo',
    find: (request) => book.byId(idIn(request))?.payment,
    pay: (request) => book.pay(idIn(request)),
  });
}
