import { objectBody, type HintProtocol, type InboundAnswer } from '../inbound.js';
import { isSameHex } from '../same-hex.js';
import { textAt } from '../wire.js';
import { atmosSign } from './atmos.signature.js';

const answer = (status: 0 | 1, message: string): InboundAnswer => ({ status: 200, body: { status, message } });

/** The Callback API: notified of a payment, we read its status; the answer never takes money back. */
export const ATMOS_CALLBACKS: HintProtocol = {
  isSigned: true,
  read: (request, read) => {
    const body = objectBody(request.body);
    const refused = { kind: 'fault', answer: { ...answer(0, 'refused'), status: 403 } } as const;
    if (!body || !request.isKnownSource || read('api_key') === '') return refused;
    const field = (name: string): string => textAt(body, name) ?? '';
    const signed = { storeId: field('store_id'), transactionId: field('transaction_id') };
    const whole = { ...signed, invoice: field('invoice'), amount: field('amount') };
    const isSigned = isSameHex(atmosSign(whole, read('api_key')), field('sign'));
    if (!isSigned || whole.storeId !== read('store_id')) return refused;
    const amount = /^\d{1,15}$/.test(whole.amount) ? Number(whole.amount) : null;
    const named = {
      ourRef: whole.invoice,
      providerRef: whole.transactionId.slice(0, 64),
      amountTiyin: amount,
      isTaken: true,
    };
    return { kind: 'hint', hint: { operation: 'callback', ...named }, answer: answer(1, 'OK') };
  },
  failure: { status: 500, body: { status: 0, message: 'later' } },
};
