import { objectBody, type HintProtocol } from '../inbound.js';
import { isUuid } from '../operation-id.js';
import { textAt } from '../wire.js';

const TAKEN = { status: 200, body: {} };
const REFUSED = { status: 403, body: {} };

/**
 * Checkout's callbacks: of operations, receipts and closed pages. The documents give them no signature, so whatever one says is only
 * a reason to read the order's status, and only one that names an order of ours with its id there is one.
 */
export const UZUM_CALLBACKS: HintProtocol = {
  isSigned: false,
  read: (request) => {
    const body = objectBody(request.body);
    const providerRef = body ? textAt(body, 'orderId') : null;
    if (!body || providerRef === null || !isUuid(providerRef) || !request.isKnownSource)
      return { kind: 'fault', answer: REFUSED };
    // A second try of an order's registration has a number of its own.
    const ourRef = textAt(body, 'orderNumber')?.split('.')[0] ?? null;
    const operation =
      textAt(body, 'operationType') ?? textAt(body, 'receiptType') ?? textAt(body, 'eventType') ?? 'callback';
    return {
      kind: 'hint',
      hint: { operation: operation.slice(0, 64), ourRef, providerRef, amountTiyin: null, isTaken: false },
      answer: TAKEN,
    };
  },
  failure: { status: 500, body: {} },
};
