import type { ReadValue } from '#outgoing';
import {
  INBOUND_EXPIRED,
  INBOUND_UNKNOWN_REASON,
  type InboundChange,
  type InboundCommand,
  type InboundDecision,
  type InboundFacts,
  type InboundRequest,
  type InboundTransaction,
  type TransactionProtocol,
} from '../inbound.js';
import {
  aboutCall,
  readUzumCall,
  uzumFailed,
  uzumUnanswered,
  type UzumAbout,
  type UzumFault,
} from './uzum-merchant.wire.js';

/** What was not confirmed by then has failed, for Uzum as for us. */
export const UZUM_LIFETIME_MS = 30 * 60_000;

interface At {
  command: InboundCommand;
  facts: InboundFacts;
  about: UzumAbout;
}

/** The published table, as a pure function: repeats are answered with the codes that it has for them. */
export const UZUM_MERCHANT: TransactionProtocol = {
  lifetimeMs: UZUM_LIFETIME_MS,
  read: readUzumCall,
  decide: (command: InboundCommand, facts: InboundFacts, request: InboundRequest, read: ReadValue): InboundDecision => {
    const at = { command, facts, about: { ...aboutCall(request, read), nowMs: facts.nowMs } };
    switch (command.operation) {
      case 'check':
        return orderFault(at) ?? answered(at, { timestamp: facts.nowMs, status: 'OK', data: {} });
      case 'create':
        return create(at);
      case 'confirm':
        return confirm(at);
      case 'reverse':
        return reverse(at);
      default:
        return status(at);
    }
  },
  // What the call did is not known here, so it is not called FAILED: what was late may be confirmed a moment later.
  failure: (request, read) => uzumUnanswered(aboutCall(request, read)),
};

function orderFault(at: At): InboundDecision | null {
  const { order } = at.facts;
  if (!order) return refused(at, 'attribute');
  if (order.isPaid) return refused(at, 'paid');
  return order.isPayable ? null : refused(at, 'closed');
}

function create(at: At): InboundDecision {
  const { command, facts } = at;
  if (facts.transaction) return refused(at, 'created');
  const fault = orderFault(at);
  if (fault) return fault;
  if (facts.order?.amountTiyin !== command.amountTiyin) return refused(at, 'amount');
  const said = { status: 'CREATED', transTime: facts.nowMs, data: {}, amount: command.amountTiyin };
  return { ...answered(at, said), changes: [{ kind: 'create', atMs: facts.nowMs }] };
}

function confirm(at: At): InboundDecision {
  const { transaction: known, isClosed, nowMs } = at.facts;
  if (!known) return refused(at, 'unknown');
  if (known.state === 2) return refused(at, 'confirmed');
  if (known.state < 0) return refused(at, 'cancelled');
  // Said once, it stays so: Uzum gives the money back, and its next call must be answered the same.
  if (isOver(known, nowMs)) return refused(at, 'cancelled', [expiry(nowMs)]);
  if (isClosed) return refused(at, 'cancelled', [cancellation(known, nowMs)]);
  const said = { status: 'CONFIRMED', confirmTime: nowMs, data: {}, amount: known.amountTiyin };
  return { ...answered(at, said), changes: [{ kind: 'perform', atMs: nowMs }] };
}

function reverse(at: At): InboundDecision {
  const { transaction: known, isDelivered, nowMs } = at.facts;
  if (!known) return refused(at, 'unknown');
  if (known.state < 0) return refused(at, 'reversed');
  if (known.state === 2 && isDelivered) return refused(at, 'kept');
  const said = { status: 'REVERSED', reverseTime: nowMs, data: {}, amount: known.amountTiyin };
  return { ...answered(at, said), changes: [cancellation(known, nowMs)] };
}

function status(at: At): InboundDecision {
  const { transaction: known, nowMs } = at.facts;
  if (!known) return refused(at, 'unknown');
  const isExpired = isOver(known, nowMs);
  const said = report(isExpired ? { ...known, state: -1, cancelTimeMs: nowMs, reason: INBOUND_EXPIRED } : known);
  return { ...answered(at, said), changes: isExpired ? [expiry(nowMs)] : [] };
}

function report(known: InboundTransaction) {
  const { state, createTimeMs, performTimeMs, cancelTimeMs, reason, amountTiyin } = known;
  const isReversed = state < 0 && reason !== INBOUND_EXPIRED;
  const words = { 1: 'CREATED', 2: 'CONFIRMED', [-1]: 'REVERSED', [-2]: 'REVERSED' } as const;
  return {
    status: state < 0 && !isReversed ? 'FAILED' : words[state],
    transTime: createTimeMs,
    confirmTime: performTimeMs === 0 ? null : performTimeMs,
    reverseTime: isReversed ? cancelTimeMs : null,
    ...{ data: {}, amount: amountTiyin },
  };
}

function isOver({ state, createTimeMs }: InboundTransaction, nowMs: number): boolean {
  return state === 1 && nowMs - createTimeMs > UZUM_LIFETIME_MS;
}

function expiry(nowMs: number): InboundChange {
  return { kind: 'cancel', state: -1, atMs: nowMs, reason: INBOUND_EXPIRED };
}

function cancellation({ state }: InboundTransaction, nowMs: number): InboundChange {
  return { kind: 'cancel', state: state === 1 ? -1 : -2, atMs: nowMs, reason: INBOUND_UNKNOWN_REASON };
}

function answered({ about, command }: At, said: object): InboundDecision {
  const named = command.transactionId === null ? {} : { transId: command.transactionId };
  return { changes: [], answer: { status: 200, body: { serviceId: about.serviceId, ...named, ...said } } };
}

function refused({ about }: At, fault: UzumFault, changes: readonly InboundChange[] = []): InboundDecision {
  return { changes, answer: uzumFailed(fault, about) };
}
