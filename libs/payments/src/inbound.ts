import type { ReadValue } from '#outgoing';
import type { PaymentEvidence } from './port.js';
import { isObject, type WireObject } from './wire.js';

/** Calls of providers to us, as every protocol of them has it in the end. */

/** A provider's transaction as we keep it. Times are milliseconds UTC; 0 = has not happened. */
export interface InboundTransaction {
  /** The provider's id. */
  id: string;
  amountTiyin: number;
  /** Our payment's id. */
  ourRef: string;
  /** The provider's clock, where its call names a time. */
  timeMs: number;
  /** 1 created, 2 paid, -1 cancelled before it was paid, -2 after. */
  state: 1 | 2 | -1 | -2;
  createTimeMs: number;
  performTimeMs: number;
  cancelTimeMs: number;
  /** Why it was cancelled: `INBOUND_EXPIRED` is ours. */
  reason: number | null;
}

/** The order that a call names; null where this account has none of that name. */
export interface InboundOrder {
  amountTiyin: number;
  /** Waits for money, and no other transaction is at it. */
  isPayable: boolean;
  /** Its money was taken before. */
  isPaid: boolean;
}

export interface InboundFacts {
  order: InboundOrder | null;
  transaction: InboundTransaction | null;
  /** The merchant wants no money for the order any more; counts only before it was taken. */
  isClosed: boolean;
  /** The merchant has delivered, and refuses to have it cancelled. */
  isDelivered: boolean;
  nowMs: number;
}

/** The reason of a transaction that was not paid in time. */
export const INBOUND_EXPIRED = 4;
export const INBOUND_UNKNOWN_REASON = 10;

/** What has to be written before the answer may leave, in this order. */
export type InboundChange =
  | { kind: 'create'; atMs: number }
  | { kind: 'perform'; atMs: number }
  | { kind: 'cancel'; state: -1 | -2; atMs: number; reason: number };

export interface InboundAnswer {
  status: number;
  body: unknown;
  /** Anything but JSON: the body is sent as it is. */
  contentType?: string;
}

export interface InboundDecision {
  changes: readonly InboundChange[];
  answer: InboundAnswer;
}

export interface InboundRequest {
  method: string;
  /** What follows the account in the path; empty: nothing. */
  operation: string;
  authorization: string | undefined;
  header: (name: string) => string | undefined;
  /** As it came. */
  body: string;
  /** When it came, by our clock. */
  atMs: number;
  /** False: the address is none of the account's sources. */
  isKnownSource: boolean;
}

/** What a call wants, as far as the gateway has to know it. */
export interface InboundCommand {
  /** As the provider names it. */
  operation: string;
  /** The order that it names. */
  ourRef: string | null;
  /** The transaction that it names. */
  transactionId: string | null;
  amountTiyin: number | null;
  /** The provider's clock; null: ours counts. */
  timeMs: number | null;
  /** What the call says of the payment, for its receipt. */
  evidence: PaymentEvidence | null;
}

export type InboundReading =
  | { kind: 'command'; command: InboundCommand }
  /** Transactions of a time span. */
  | {
      kind: 'statement';
      fromMs: number;
      toMs: number;
      answer: (entries: readonly InboundTransaction[]) => InboundAnswer;
    }
  /** Answered without reading anything. */
  | { kind: 'answered'; answer: InboundAnswer };

/** A protocol in which the provider keeps transactions of its own, and drives. Pure: the gateway locks, writes and sends. */
export interface TransactionProtocol {
  /** How long a transaction that was created may wait for its payment. */
  readonly lifetimeMs: number;
  read(request: InboundRequest, read: ReadValue): InboundReading;
  decide(command: InboundCommand, facts: InboundFacts, request: InboundRequest, read: ReadValue): InboundDecision;
  /** Our fault: the provider is to ask again. */
  failure(request: InboundRequest, read: ReadValue): InboundAnswer;
}

/** A provider's word that something may have changed there: never more than a reason to read the status. */
export interface Hint {
  /** As the provider names it. */
  operation: string;
  /** Our payment's id, where it is named. */
  ourRef: string | null;
  providerRef: string | null;
  amountTiyin: number | null;
  /** It says that money was taken: of another payment than the one that we know, that is a second charge of the order. */
  isTaken: boolean;
}

export type HintReading =
  | { kind: 'hint'; hint: Hint; answer: InboundAnswer }
  /** Forged, of another account, or not to be read. */
  | { kind: 'fault'; answer: InboundAnswer };

export interface HintProtocol {
  /** False: a call proves nothing of its caller. It is not kept, and how often it has a status read is bounded. */
  readonly isSigned: boolean;
  read(request: InboundRequest, read: ReadValue): HintReading;
  /** Our fault: the provider is to call again. */
  failure: InboundAnswer;
}

/** A body of JSON that is an object; null: anything else. */
export function objectBody(body: string): WireObject | null {
  try {
    const parsed = JSON.parse(body) as unknown;
    return isObject(parsed) ? parsed : null;
  } catch {
    // Each protocol has its own answer for this.
    return null;
  }
}
