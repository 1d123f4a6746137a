import { tashkentDateTime } from '#fiscal-domain';
import {
  INBOUND_UNKNOWN_REASON,
  type InboundCommand,
  type InboundDecision,
  type InboundFacts,
  type InboundRequest,
  type TransactionProtocol,
} from '../inbound.js';
import type { WireObject } from '../wire.js';
import { paynetError, paynetNumber, paynetResult, readPaynetCall, type PaynetFault } from './paynet.wire.js';

interface At {
  command: InboundCommand;
  facts: InboundFacts;
  request: InboundRequest;
}

/** A transaction is made and paid by one call: it is never open. */
const NEVER_OPEN_MS = 60_000;

export const PAYNET_PROTOCOL: TransactionProtocol = {
  lifetimeMs: NEVER_OPEN_MS,
  read: readPaynetCall,
  decide: (command: InboundCommand, facts: InboundFacts, request: InboundRequest): InboundDecision => {
    const at = { command, facts, request };
    switch (command.operation) {
      case 'GetInformation':
        return information(at);
      case 'PerformTransaction':
        return perform(at);
      case 'CancelTransaction':
        return cancel(at);
      default:
        return check(at);
    }
  },
  failure: (request) => paynetError(request, 'system'),
};

function information(at: At): InboundDecision {
  const { order, nowMs } = at.facts;
  if (!order) return refused(at, 'client');
  if (!order.isPayable) return refused(at, 'prohibited');
  const fields = { amount: String(order.amountTiyin) };
  return answered(at, { status: '0', timestamp: tashkentDateTime(nowMs), fields });
}

function perform(at: At): InboundDecision {
  const { order, transaction, nowMs } = at.facts;
  if (transaction) return refused(at, 'exists');
  if (!order) return refused(at, 'client');
  if (!order.isPayable) return refused(at, 'prohibited');
  if (order.amountTiyin !== at.command.amountTiyin) return refused(at, 'amount');
  const result = { ...named(at), timestamp: tashkentDateTime(nowMs), fields: {} };
  const changes = [
    { kind: 'create', atMs: nowMs },
    { kind: 'perform', atMs: nowMs },
  ] as const;
  return { ...answered(at, result), changes };
}

function cancel(at: At): InboundDecision {
  const { transaction: known, isDelivered, nowMs } = at.facts;
  if (!known) return refused(at, 'unknown');
  if (known.state < 0) return refused(at, 'cancelled');
  if (isDelivered) return refused(at, 'kept');
  const result = { ...named(at), timestamp: tashkentDateTime(nowMs), transactionState: 2 };
  const state = known.state === 2 ? -2 : -1;
  const reason = INBOUND_UNKNOWN_REASON;
  return { ...answered(at, result), changes: [{ kind: 'cancel', state, atMs: nowMs, reason }] };
}

function check(at: At): InboundDecision {
  const { transaction: known, nowMs } = at.facts;
  if (!known) return answered(at, { transactionState: 3, timestamp: tashkentDateTime(nowMs), providerTrnId: null });
  const isPaid = known.state === 2;
  const timestamp = tashkentDateTime(isPaid ? known.performTimeMs : known.cancelTimeMs);
  return answered(at, { ...named(at), transactionState: isPaid ? 1 : 2, timestamp });
}

function named({ command }: At): { providerTrnId: number } {
  return { providerTrnId: paynetNumber(command.transactionId ?? '') };
}

function answered({ request }: At, result: WireObject): InboundDecision {
  return { changes: [], answer: paynetResult(request, result) };
}

function refused({ request }: At, fault: PaynetFault): InboundDecision {
  return { changes: [], answer: paynetError(request, fault) };
}
