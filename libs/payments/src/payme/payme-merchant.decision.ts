import type { InboundFacts, InboundOrder, InboundTransaction } from '../inbound.js';
import type { WireObject } from '../wire.js';
import { paymeError, type PaymeCommand, type PaymeError, type PaymeFault } from './payme-merchant.wire.js';

/** The order that the account names. */
export interface PaymeOrder extends InboundOrder {
  /** What Payme is to register itself; null where it is not asked to. */
  detail: WireObject | null;
}

export interface PaymeFacts extends InboundFacts {
  order: PaymeOrder | null;
  accountField: string;
  /** What CheckPerform says of an order that another transaction is at, or that is closed: the documentation leaves it open. */
  busyCheck: Extract<PaymeFault, 'impossible' | 'account'>;
}

/** What has to be written before the answer may leave. */
export type PaymeChange =
  | { kind: 'create'; atMs: number }
  | { kind: 'perform'; atMs: number }
  | { kind: 'cancel'; state: -1 | -2; atMs: number; reason: number }
  /** Too old: cancelled with reason 4, at a repeated Create as at Perform. */
  | { kind: 'expire'; atMs: number };

export interface PaymeDecision {
  change: PaymeChange | null;
  answer: { result: WireObject } | { error: PaymeError };
}

export const PAYME_LIFETIME_MS = 43_200_000;
export const PAYME_TIMEOUT_REASON = 4;

type TransactionCommand = Exclude<PaymeCommand, { method: 'GetStatement' | 'SetFiscalData' }>;

/** The decision table of a correct merchant: a pure function, so that a repeat is answered from what was written. */
export function decidePayme(command: TransactionCommand, facts: PaymeFacts): PaymeDecision {
  switch (command.method) {
    case 'CheckPerformTransaction': {
      const fault = orderFault(command.amountTiyin, facts, facts.order?.isPaid === true ? 'paid' : facts.busyCheck);
      const detail = facts.order?.detail ?? null;
      return fault ?? answered({ allow: true, ...(detail && { detail }) });
    }
    case 'CreateTransaction':
      return decideCreate(command, facts);
    case 'PerformTransaction':
      return decidePerform(facts);
    case 'CancelTransaction':
      return decideCancel(command.reason, facts);
    case 'CheckTransaction':
      return facts.transaction ? answered({ ...paymeReport(facts.transaction) }) : refused('transaction');
  }
}

function orderFault(
  amountTiyin: number,
  { order, accountField }: PaymeFacts,
  busy: PaymeFacts['busyCheck'] | 'paid',
): PaymeDecision | null {
  if (!order) return refused('account', accountField);
  if (order.amountTiyin !== amountTiyin) return refused('amount');
  if (order.isPayable) return null;
  // Codes of the account's range name the account's field.
  return refused(busy, busy === 'impossible' ? null : accountField);
}

function decideCreate(
  { id, timeMs, amountTiyin, account }: Extract<PaymeCommand, { method: 'CreateTransaction' }>,
  facts: PaymeFacts,
): PaymeDecision {
  const { transaction: known, nowMs } = facts;
  if (known) {
    if (known.state !== 1) return refused('impossible');
    // A repeat names what it repeats; another sum or order under the same id is none.
    if (known.ourRef !== account) return refused('account', facts.accountField);
    if (known.amountTiyin !== amountTiyin) return refused('amount');
    return isExpired(known, nowMs) ? expired(nowMs) : answered(createResult(known));
  }
  // The sandbox tests this one.
  const fault = orderFault(amountTiyin, facts, 'impossible');
  if (fault) return fault;
  if (nowMs - timeMs > PAYME_LIFETIME_MS) return refused('impossible');
  const made: InboundTransaction = {
    ...{ id, timeMs, amountTiyin, ourRef: account ?? '' },
    ...{ state: 1, createTimeMs: nowMs, performTimeMs: 0, cancelTimeMs: 0, reason: null },
  };
  return { change: { kind: 'create', atMs: nowMs }, answer: { result: createResult(made) } };
}

function decidePerform({ transaction: known, isClosed, nowMs }: PaymeFacts): PaymeDecision {
  if (!known) return refused('transaction');
  if (known.state === 2) return answered(performResult(known));
  if (known.state !== 1) return refused('impossible');
  if (isExpired(known, nowMs)) return expired(nowMs);
  if (isClosed) return refused('impossible');
  const performed = { ...known, state: 2, performTimeMs: nowMs } as const;
  return { change: { kind: 'perform', atMs: nowMs }, answer: { result: performResult(performed) } };
}

function decideCancel(reason: number, { transaction: known, isDelivered, nowMs }: PaymeFacts): PaymeDecision {
  if (!known) return refused('transaction');
  if (known.state < 0) return answered(cancelResult(known));
  if (known.state === 2 && isDelivered) return refused('delivered');
  const state = known.state === 1 ? -1 : -2;
  const cancelled = { ...known, state, cancelTimeMs: nowMs } as const;
  return { change: { kind: 'cancel', state, atMs: nowMs, reason }, answer: { result: cancelResult(cancelled) } };
}

/** Strictly older than 12 hours, which count from Payme's own time of the transaction. */
export function isExpired({ timeMs }: Pick<InboundTransaction, 'timeMs'>, nowMs: number): boolean {
  return nowMs - timeMs > PAYME_LIFETIME_MS;
}

function createResult({ createTimeMs, ourRef: transaction }: InboundTransaction): WireObject {
  return { create_time: createTimeMs, transaction, state: 1, receivers: null };
}

function performResult({ performTimeMs, ourRef: transaction }: InboundTransaction): WireObject {
  return { transaction, perform_time: performTimeMs, state: 2 };
}

function cancelResult({ cancelTimeMs, ourRef: transaction, state }: InboundTransaction): WireObject {
  return { transaction, cancel_time: cancelTimeMs, state };
}

/** CheckTransaction's answer. */
export function paymeReport(known: InboundTransaction): WireObject {
  return {
    create_time: known.createTimeMs,
    perform_time: known.performTimeMs,
    cancel_time: known.cancelTimeMs,
    transaction: known.ourRef,
    state: known.state,
    reason: known.reason,
  };
}

/** One entry of GetStatement. */
export function paymeStatementEntry(known: InboundTransaction, accountField: string): WireObject {
  return {
    id: known.id,
    time: known.timeMs,
    amount: known.amountTiyin,
    account: { [accountField]: known.ourRef },
    ...paymeReport(known),
    receivers: null,
  };
}

function answered(result: WireObject): PaymeDecision {
  return { change: null, answer: { result } };
}

function refused(fault: PaymeFault, data: string | null = null): PaymeDecision {
  return { change: null, answer: { error: paymeError(fault, data) } };
}

function expired(nowMs: number): PaymeDecision {
  return { change: { kind: 'expire', atMs: nowMs }, answer: { error: paymeError('impossible') } };
}
