// Stripe's answers are read as its API's description has them: another sum, another currency and a dispute are a person's.
import { NO_STRIPE_REFUNDS, stripeAnswer, stripePaymentStatus, stripeRefunds } from './stripe.transform.js';
import { isStripeSigned, stripeSignature } from './stripe.signature.js';

const INTENT = { id: 'pi_1', object: 'payment_intent', amount: 150_050, currency: 'uzs', status: 'succeeded' };
const TAKEN = { ...INTENT, amount_received: 150_050, latest_charge: { amount_refunded: 0, disputed: false } };
const HELD = { ...INTENT, status: 'requires_capture', amount_capturable: 150_050 };

it.each([
  ['taken', TAKEN, { status: 'captured', amountTiyin: 150_050, refundedTiyin: 0 }],
  ['held', HELD, { status: 'authorized' }],
  ['held in part', { ...HELD, amount_capturable: 150_049 }, { status: 'manual' }],
  ['taken in part', { ...TAKEN, amount_received: 150_049 }, { status: 'manual' }],
  ['another currency', { ...TAKEN, currency: 'usd' }, { status: 'manual' }],
  ['a charge in another currency', { ...TAKEN, latest_charge: { currency: 'usd' } }, { status: 'manual' }],
  ['a charge in ours', { ...TAKEN, latest_charge: { currency: 'uzs' } }, { status: 'captured' }],
  ['no currency', { ...TAKEN, currency: undefined }, { status: 'manual' }],
  ['disputed', { ...TAKEN, latest_charge: { amount_refunded: 0, disputed: true } }, { status: 'manual' }],
  ['ended by itself', { ...HELD, status: 'canceled', cancellation_reason: 'automatic' }, { status: 'voided' }],
  ['waits for a card', { ...INTENT, status: 'requires_payment_method' }, { status: 'pending' }],
  [
    'its card was refused',
    { ...INTENT, status: 'requires_payment_method', last_payment_error: { type: 'card_error' } },
    { status: 'declined' },
  ],
  ['a word of a later version', { ...INTENT, status: 'requires_patience' }, { status: 'in_flight' }],
])('%s', (_name, intent, expected) => {
  expect(stripePaymentStatus(intent)).toMatchObject(expected);
});

const refund = (amount: number, status: string | null) => ({ object: 'refund', id: 're_1', amount, status });

it.each([
  ['a part is back', [refund(50, 'succeeded')], { status: 'captured', refundedTiyin: 50 }],
  [
    'all of it is back, in parts',
    [refund(50, 'succeeded'), refund(150_000, 'succeeded')],
    { status: 'refunded', refundedTiyin: 150_050 },
  ],
  ['one is pending', [refund(150_050, 'pending')], { status: 'in_flight', refundedTiyin: 0 }],
  ['one waits for the customer', [refund(150_050, 'requires_action')], { status: 'in_flight' }],
  ['one has no status', [refund(150_050, null)], { status: 'in_flight' }],
  ['one failed', [refund(150_050, 'failed')], { status: 'captured', refundedTiyin: 0 }],
  [
    'one failed after another',
    [refund(50, 'succeeded'), refund(150_000, 'failed'), refund(1, 'canceled')],
    { status: 'captured', refundedTiyin: 50 },
  ],
])('of its refunds %s, whatever its charge counts', (_name, data, expected) => {
  const intent = { ...TAKEN, latest_charge: { amount_refunded: 150_050 } };
  expect(stripePaymentStatus(intent, stripeRefunds({ data }, NO_STRIPE_REFUNDS))).toMatchObject(expected);
});

it.each([
  [402, { type: 'card_error', code: 'card_declined', decline_code: 'insufficient_funds' }, 'refused'],
  [400, { type: 'invalid_request_error' }, 'refused'],
  [400, { type: 'idempotency_error' }, 'unknown'],
  [409, { type: 'invalid_request_error', code: 'lock_timeout' }, 'unknown'],
  [401, { type: 'invalid_request_error' }, 'unsent'],
  [429, { type: 'invalid_request_error', code: 'rate_limit' }, 'unsent'],
  [500, { type: 'api_error' }, 'unknown'],
])('HTTP %i %j is %s', (status, error, kind) => {
  expect(stripeAnswer({ kind: 'answered', status, body: { error } })).toMatchObject({ kind });
});

describe('the signature of an event', () => {
  const [secret, body, atSeconds] = ['whsec_test', '{"id":"evt_1"}', 1_712_345_678];
  const vector = 'b4255d5bb59589da73558138fec463ed78f8944559e91cac512790d1c4492335';
  const nowMs = atSeconds * 1_000;
  const isSigned = (header: string, more: { body?: string; nowMs?: number } = {}): boolean =>
    isStripeSigned(header, secret, { body, nowMs, ...more });

  it('is that of the vector, with one of several', () => {
    expect(stripeSignature(secret, { atSeconds, body })).toBe(vector);
    expect(isSigned(`t=${String(atSeconds)},v1=${vector}`)).toBe(true);
    expect(isSigned(`t=${String(atSeconds)},v1=${'0'.repeat(64)},v1=${vector},v0=x`)).toBe(true);
  });

  it('holds for its body, its time and five minutes', () => {
    const header = `t=${String(atSeconds)},v1=${vector}`;
    expect(isSigned(header, { body: `${body} ` })).toBe(false);
    expect(isSigned(`t=${String(atSeconds + 1)},v1=${vector}`)).toBe(false);
    expect([300, 301, -300, -301].map((late) => isSigned(header, { nowMs: nowMs + late * 1_000 }))).toEqual([
      ...[true, false, true, false],
    ]);
  });

  it.each(['', 't=', 'v1=', `v1=${'0'.repeat(64)}`, 't=1e9,v1=', `t=${'9'.repeat(500)},v1=x`, ',,,,'])(
    'is none: %s',
    (header) => {
      expect(isSigned(header)).toBe(false);
    },
  );
});
