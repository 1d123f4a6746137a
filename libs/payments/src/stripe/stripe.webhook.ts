import { objectBody, type HintProtocol } from '../inbound.js';
import { objectAt, textAt, type WireObject } from '../wire.js';
import { isStripeSigned } from './stripe.signature.js';

const TAKEN: ReadonlySet<string> = new Set(['payment_intent.succeeded', 'payment_intent.amount_capturable_updated']);

/** Events come at least once and in any order: each is a reason to read the payment, and nothing more. */
export const STRIPE_EVENTS: HintProtocol = {
  isSigned: true,
  read: (request, read) => {
    const { body, atMs } = request;
    const refused = { kind: 'fault', answer: { status: 403, body: {} } } as const;
    const secrets = [read('webhook_secret'), read('webhook_secret_before')].filter((secret) => secret !== '');
    const header = request.header('stripe-signature');
    const isSigned = secrets.some((secret) => isStripeSigned(header, secret, { body, nowMs: atMs }));
    if (!isSigned || !request.isKnownSource) return refused;
    const event = objectBody(body);
    const type = event === null ? null : textAt(event, 'type');
    if (event === null || type === null) return refused;
    const about = objectAt(event['data'], 'object');
    const hint = { operation: type.slice(0, 64), ...named(about), amountTiyin: null, isTaken: TAKEN.has(type) };
    return { kind: 'hint', hint, answer: { status: 200, body: {} } };
  },
  failure: { status: 500, body: {} },
};

/** A charge, a refund and a dispute name the payment that they belong to. */
function named(about: WireObject): { ourRef: string | null; providerRef: string | null } {
  const isPayment = about['object'] === 'payment_intent';
  const providerRef = textAt(about, isPayment ? 'id' : 'payment_intent')?.slice(0, 64) ?? null;
  return { ourRef: isPayment ? textAt(objectAt(about, 'metadata'), 'our_ref') : null, providerRef };
}
