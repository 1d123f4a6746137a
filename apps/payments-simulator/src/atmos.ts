import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { atmosSign } from '#payments';
import { LATE_MS } from './faults.js';
import { capture, giveBack, hold, type SimPayment } from './money.js';
import type { Parts } from './parts.js';

type Body = Record<string, unknown>;

/** What a bound card is confirmed with; a card whose token begins with "otp" wants the customer's own. */
const FIXED_CODE = '111111';
const CUSTOMERS_CODE = '112233';
const OK = { code: 'OK', description: 'No errors' };

interface AtmosCard {
  payment: SimPayment;
  token: string | null;
  successId: number | null;
}

/** ATMOS: transactions that a code confirms, holds, callbacks. The codes of its errors are not published. */
class AtmosBook {
  private readonly cards = new Map<string, AtmosCard>();
  private lastId = 200_000;

  constructor(private readonly parts: Parts) {}

  find(id: unknown): AtmosCard | undefined {
    const card = this.cards.get(String(id));
    return card?.payment.isForgotten === true ? undefined : card;
  }

  bySuccess(id: unknown): AtmosCard | undefined {
    return [...this.cards.values()].find(({ successId }) => successId !== null && successId === Number(id));
  }

  open(body: Body): AtmosCard {
    this.lastId += 1;
    const id = String(this.lastId);
    const amountTiyin = Number(body['amount']);
    const ourRef = String(body['account']);
    const payment = this.parts.money.open({ provider: 'atmos', id, ourRef, amountTiyin });
    const token = typeof body['card_token'] === 'string' ? body['card_token'] : null;
    const card = { payment, token, successId: null };
    this.cards.set(id, card);
    return card;
  }

  /** @returns what is wrong; null: nothing */
  confirm(card: AtmosCard, otp: unknown, take: () => void): Body | null {
    const wanted = /^otp/.test(card.token ?? '') ? CUSTOMERS_CODE : FIXED_CODE;
    if (card.payment.status !== 'pending') return failure('STPIMS-ERR-006', 'The transaction is not waiting');
    if (otp !== wanted) return failure('STPIMS-ERR-133', 'Wrong code');
    if (this.parts.faults.draw(['decline'])) return failure('STPIMS-ERR-057', 'Insufficient funds');
    this.parts.faults.perhapsLate(take);
    return null;
  }

  take(card: AtmosCard): void {
    const { faults } = this.parts;
    const take = (): void => {
      capture(card.payment);
      this.lastId += 1;
      card.successId = this.lastId;
    };
    // The callback overtakes the money that it is about.
    if (faults.draw(['reorder'])) faults.later(take, LATE_MS);
    else take();
    void this.notify(card);
    // Sent long ago and on its way until now.
    if (faults.draw(['stale_webhook'])) faults.later(() => void this.notify(card), LATE_MS);
  }

  private async notify({ payment }: AtmosCard): Promise<void> {
    const { atmos } = this.parts.merchant.accounts();
    if (!atmos) return;
    const { store_id, api_key, url } = atmos;
    const signed = { storeId: store_id, transactionId: payment.id, invoice: payment.ourRef };
    const amount = String(payment.amountTiyin);
    const sign = atmosSign({ ...signed, amount }, api_key);
    const named = { store_id, transaction_id: payment.id, invoice: payment.ourRef, amount, sign };
    const calls = this.parts.faults.draw(['duplicate']) ? 2 : 1;
    for (let call = 0; call < calls; call += 1) await this.parts.merchant.call('atmos', url, JSON.stringify(named));
  }
}

function transactionOf({ payment, successId }: AtmosCard): Body {
  const confirmed = payment.status === 'captured';
  return {
    ...{ success_trans_id: successId, trans_id: Number(payment.id), account: payment.ourRef, confirmed },
    ...{ amount: payment.amountTiyin, status_code: confirmed ? '0' : null, status_message: null },
  };
}

const HOLD = {
  ...{ pending: 'created', reserved: 'created', held: 'active', captured: 'charged' },
  ...{ voided: 'cancelled', refunded: 'cancelled', declined: 'created' },
} as const;

function holdOf({ payment }: AtmosCard): Body {
  return { result: OK, hold_id: Number(payment.id), status: HOLD[payment.status], amount: payment.amountTiyin };
}

function failure(code: string, description: string): Body {
  return { result: { code, description } };
}

const NOT_FOUND = failure('STPIMS-ERR-001', 'Not found');

export function addAtmos(server: FastifyInstance, parts: Parts): void {
  const book = new AtmosBook(parts);
  const pay = '/atmos/merchant/pay';
  const bodyOf = (request: FastifyRequest): Body => (request.body ?? {}) as Body;
  const withCard = (request: FastifyRequest, act: (card: AtmosCard, body: Body) => Body): Body => {
    const body = bodyOf(request);
    const card = book.find(body['transaction_id'] ?? (request.params as { id?: string }).id);
    return card ? act(card, body) : NOT_FOUND;
  };
  server.post('/atmos/token', (request, reply: FastifyReply) =>
    /^Basic /.test(request.headers.authorization ?? '')
      ? { access_token: 'sim-token', scope: 'default', token_type: 'Bearer', expires_in: 3_600 }
      : reply.code(401).send({ error: 'invalid_client' }),
  );
  server.post(`${pay}/create`, (request) => {
    const card = book.open(bodyOf(request));
    return { result: OK, transaction_id: Number(card.payment.id), store_transaction: transactionOf(card) };
  });
  server.post(`${pay}/pre-apply`, (request) =>
    withCard(request, (card, body) => {
      card.token = String(body['card_token']);
      return { result: OK };
    }),
  );
  server.post(`${pay}/apply`, (request) =>
    withCard(request, (card, body) => {
      const wrong = book.confirm(card, body['otp'], () => book.take(card));
      return wrong ?? { result: OK, store_transaction: transactionOf(card) };
    }),
  );
  server.post(`${pay}/get`, (request) =>
    withCard(request, (card) => ({ result: OK, store_transaction: transactionOf(card) })),
  );
  server.post(`${pay}/reverse`, (request) => {
    const card = book.bySuccess(bodyOf(request)['transaction_id']);
    const isRefused = parts.faults.draw(['refuse_refund']) !== null;
    if (card?.payment.status !== 'captured' || isRefused) return failure('STPIMS-ERR-009', 'Not reversible');
    parts.faults.perhapsLate(() => giveBack(card.payment));
    return { result: OK, transaction_id: card.successId };
  });
  addHolds(server, { book, parts, withCard });
}

function addHolds(
  server: FastifyInstance,
  {
    book,
    parts,
    withCard,
  }: {
    book: AtmosBook;
    parts: Parts;
    withCard: (request: FastifyRequest, act: (card: AtmosCard, body: Body) => Body) => Body;
  },
): void {
  server.post('/atmos/hold/create', (request) => holdOf(book.open((request.body ?? {}) as Body)));
  server.put('/atmos/hold/apply/:id', (request) =>
    withCard(request, (card, body) => {
      return book.confirm(card, body['otp'], () => hold(card.payment, parts.faults)) ?? holdOf(card);
    }),
  );
  server.post('/atmos/hold/:id', (request) =>
    withCard(request, (card) => {
      if (card.payment.status !== 'held') return failure('STPIMS-ERR-006', 'The hold is not active');
      parts.faults.perhapsLate(() => capture(card.payment));
      return holdOf(card);
    }),
  );
  server.delete('/atmos/hold/:id', (request) =>
    withCard(request, (card) => {
      if (card.payment.status !== 'held' && card.payment.status !== 'pending')
        return failure('STPIMS-ERR-006', 'The hold is not active');
      parts.faults.perhapsLate(() => giveBack(card.payment));
      return holdOf(card);
    }),
  );
  server.get('/atmos/hold/:id', (request) => withCard(request, holdOf));
}
