import { randomUUID } from 'node:crypto';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Faults } from './faults.js';
import { capture, giveBack, type Money, type SimPayment } from './money.js';

type Body = Record<string, unknown>;

/** How old an Authorization may be, by the clock of Uzum. */
const VALID_MS = 50_000;
const BASE = '/uzum/fastpay/api/apelsin-pay/merchant';

const STATUS = {
  ...{ pending: 'HOLD', reserved: 'HOLD', held: 'HOLD', captured: 'SUCCESS' },
  ...{ voided: 'REVERSED', refunded: 'REVERSED', declined: 'FAILED' },
} as const;

/** Uzum Fast Pay: always HTTP 200; a payment is known by its transaction_id, and by nothing else until it has a payment_id. */
export function addUzumFastPay(server: FastifyInstance, { money, faults }: { money: Money; faults: Faults }): void {
  const byTransaction = new Map<string, SimPayment>();
  const find = (request: FastifyRequest): SimPayment | undefined => {
    const id = String((request.body as Body)['payment_id']);
    return [...byTransaction.values()].find((payment) => payment.id === id && !payment.isForgotten);
  };
  const withPayment = (request: FastifyRequest, act: (payment: SimPayment) => Body): Body => {
    const late = refusedCaller(request, faults);
    if (late) return late;
    const payment = find(request);
    return payment ? act(payment) : failure(404, 'operation.not.found');
  };
  server.post(`${BASE}/v2/payment`, (request) => {
    const late = refusedCaller(request, faults);
    if (late) return late;
    const body = request.body as { amount: number; otp_data: string; order_id: string; transaction_id: string };
    const known = byTransaction.get(body.transaction_id);
    if (known) return paid(known, 'DUPLICATED');
    if (body.otp_data.length < 40 || /^0+$/.test(body.otp_data))
      return failure(400, 'apelsin.pay.wrong.prefix.otp.data');
    const made = { provider: 'uzum', id: randomUUID(), ourRef: body.order_id, amountTiyin: body.amount } as const;
    const payment = money.open(made);
    byTransaction.set(body.transaction_id, payment);
    if (faults.draw(['decline'])) {
      payment.status = 'declined';
      return paid(payment, 'FAILED');
    }
    capture(payment);
    return paid(payment, 'SUCCESS');
  });
  server.post(`${BASE}/payment/status`, (request) => withPayment(request, statusOf));
  server.post(`${BASE}/payment/fiscal`, (request) =>
    withPayment(request, (payment) => {
      payment.link = String((request.body as Body)['fiscal_url']);
      return statusOf(payment);
    }),
  );
  server.put(`${BASE}/v2/payment/reversal/:order`, (request) =>
    withPayment(request, (payment) => {
      if (payment.status !== 'captured' || faults.draw(['refuse_refund']))
        return failure(400, 'apelsin.pay.reverse.not.allowed');
      giveBack(payment);
      return statusOf(payment);
    }),
  );
}

function paid(payment: SimPayment, payment_status: string): Body {
  return {
    ...{ payment_id: payment.id, payment_status, error_code: 0, client_phone_number: '998901234567' },
    ...{ card_type: 2, processing_reference_number: '524818898472' },
  };
}

function statusOf(payment: SimPayment): Body {
  return { payment_id: payment.id, payment_status: STATUS[payment.status], error_code: 0 };
}

function refusedCaller(request: FastifyRequest, faults: Faults): Body | null {
  const match = /^\d+:[0-9a-f]{40}:(\d+)$/.exec(request.headers.authorization ?? '');
  if (!match) return failure(401, 'apelsin.pay.authorization.error');
  const isLate = Math.abs(Date.now() - Number(match[1])) > VALID_MS || faults.draw(['skewed_clock']) !== null;
  return isLate ? failure(403, 'apelsin.pay.authorization.error') : null;
}

function failure(error_code: number, error_message: string): Body {
  return { error_code, error_message };
}
