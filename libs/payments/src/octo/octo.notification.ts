import { objectBody, type HintProtocol } from '../inbound.js';
import { textAt } from '../wire.js';
import { isOctoSigned, type OctoSignature } from './octo.signature.js';

const REFUSED = { status: 403, body: {} };

/**
 * Octo's notifications. Their signature covers neither sums nor our reference, and an answer with `accept_status` would move
 * money: so each is a reason to read the status, and is answered with nothing.
 */
export const OCTO_NOTIFICATIONS: HintProtocol = {
  isSigned: true,
  read: (request, read) => {
    const body = objectBody(request.body);
    if (!body || !request.isKnownSource) return { kind: 'fault', answer: REFUSED };
    const field = (name: string): string => textAt(body, name) ?? '';
    const signed = { uuid: field('octo_payment_UUID'), status: field('status'), hashKey: field('hash_key') };
    const by: OctoSignature =
      read('signature') === 'flat'
        ? { kind: 'flat', uniqueKey: read('unique_key') }
        : { kind: 'nested', secret: read('secret') };
    const isSigned = signed.uuid !== '' && isOctoSigned(signed, field('signature'), by);
    if (!isSigned) return { kind: 'fault', answer: REFUSED };
    const ourRef = textAt(body, 'shop_transaction_id');
    const isTaken = signed.status === 'succeeded' || signed.status === 'waiting_for_capture';
    const named = { ourRef, providerRef: signed.uuid.slice(0, 64), amountTiyin: null };
    const hint = { operation: signed.status.slice(0, 64), ...named, isTaken };
    return { kind: 'hint', hint, answer: { status: 200, body: {} } };
  },
  failure: { status: 500, body: {} },
};
