import { Inject, Injectable } from '@nestjs/common';
import { instrumentOwner } from '#database';
import { compactToIsoBasic, parseVerificationLink, truncateText } from '#fiscal-domain';
import {
  afterCall,
  needsNoInstrument,
  stateDuring,
  type CallOutcome,
  type FiscalLines,
  type FiscalLink,
  type Instrument,
  type PaymentOrder,
  type PaymentProvider,
  type PaymentState,
  type ProviderCall,
  type RefundOrder,
  type StatusFacts,
  type WantedDocument,
} from '#payments';
import { inSpan, systemClock, type Clock, type Logger } from '#runtime';
import { open } from '#secrets';
import type { GatewaySettings } from '../settings.js';
import { LOGGER, SETTINGS_TOKEN } from '../tokens.js';
import { valueOf, type OpenAccount } from './accounts/account-settings.js';
import { callbackUrl } from './accounts/provider-accounts.js';
import { PAYMENT_TIMING, SEND_GUARD_MS, type PaymentTiming } from './payment-settings.js';
import { PaymentMetrics } from './payment-metrics.js';
import { PaymentRepository, type ClosedCall, type PaymentChange } from './repository/payment.repository.js';
import type { Lease, PaymentFacts } from './payment.rows.js';
import { capabilitiesOf } from './provider-clients.js';
import { Failover } from './routing/failover.js';
import { refOf } from './saga-snapshot.js';

export interface CallContext {
  lease: Lease;
  facts: PaymentFacts;
  account: OpenAccount;
  client: PaymentProvider;
}

/** `unchanged`: nothing new was learned. `lost`: the payment is in other hands. */
export interface CallResult {
  kind: 'moved' | 'unchanged' | 'lost';
  /** As the payment stands now; null: to be read. */
  facts: PaymentFacts | null;
}

const NO_INSTRUMENT: Instrument = { token: null, phone: null, qr: null, otp: null };
/** A refund or a link that was refused this often is a person's business. */
const MAX_FAILURES = 8;
/** Money that did not go back on so many tries does not by one more. */
const MAX_REFUND_CALLS = 5;

/**
 * One call to a provider: intent → commit → call → result → commit.
 *
 * Crash windows: after the intent, before the call: the payment stands in the state "during", its successor finds the open
 * row, reads the status and learns that nothing arrived. After the call, before the result: the same, and the status says
 * what happened. A worker that sleeps between intent and call sends nothing: the guard has run out, and its lease with it.
 */
@Injectable()
export class CallProvider {
  constructor(
    private readonly payments: PaymentRepository,
    @Inject(PAYMENT_TIMING) private readonly timing: PaymentTiming,
    @Inject(SETTINGS_TOKEN) private readonly settings: GatewaySettings,
    private readonly metrics: PaymentMetrics,
    private readonly failover: Failover,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  async execute(call: ProviderCall, context: CallContext): Promise<CallResult> {
    const { lease, facts } = context;
    const guard = new SendGuard();
    const during = stateDuring(call) ?? facts.state;
    const opened = await this.payments.openCall(lease, call, {
      ...{ from: facts.state, during },
      refund: call === 'refund' ? refundOf(facts) : null,
      putBackUs: facts.put_back_us,
    });
    if (opened === null) return { kind: 'lost', facts: null };
    const asked = guard.isOpen ? await this.askMeasured(call, context) : null;
    const outcome: CallOutcome = asked ?? { kind: 'unsent', detail: 'too much time had passed since the intent' };
    const elsewhere = asked && (await this.failover.after(call, context, asked));
    const change = elsewhere ?? this.changeAfter(call, context, outcome);
    const refundDone = isRefunding(call, facts) && change.refundedTiyin !== undefined ? facts.refund_id : null;
    const closed = await this.payments.closeCall(lease, opened, outcome, {
      from: during,
      change,
      ...(refundDone !== null && { refundDone }),
    });
    if (outcome.kind !== 'status') {
      const fields = { payment_id: facts.id, call, outcome };
      this.logger.info(fields, 'payment: the provider did not answer as hoped');
    }
    if (!closed) return { kind: 'lost', facts: null };
    const kind = this.isProgress(facts, outcome, change) ? 'moved' : 'unchanged';
    return { kind, facts: ONWARD.has(call) ? factsAfterCall(facts, change, closed) : null };
  }

  private isProgress(facts: PaymentFacts, outcome: CallOutcome, change: PaymentChange): boolean {
    if (change.rerouted !== undefined) return true;
    if (outcome.kind === 'unsent') return false;
    const isDocument = change.saleDocument !== undefined || change.refundDocument !== undefined;
    if (isDocument || change.linesSubmitted === true) return true;
    return change.state !== facts.state || change.providerRef !== undefined || change.link !== undefined;
  }

  private async askMeasured(call: ProviderCall, context: CallContext): Promise<CallOutcome> {
    const begunMs = systemClock.monotonicMs();
    const { provider, id } = context.facts;
    const attributes = { 'payment.id': id, 'payment.provider': provider };
    const outcome = await inSpan(`provider ${call}`, { kind: 'client', attributes }, async (span) => {
      const answer = await this.ask(call, context);
      span.set({ outcome: answer.kind });
      return answer;
    });
    this.metrics.called({ provider, call, outcome }, (systemClock.monotonicMs() - begunMs) / 1_000);
    return outcome;
  }

  /** What a client throws is a fault of ours after the intent: what it did is unknown. */
  private async ask(call: ProviderCall, { facts, client }: CallContext): Promise<CallOutcome> {
    const ref = refOf(facts);
    try {
      switch (call) {
        case 'prepare':
          return await given(client.prepare?.(this.orderOf(facts), facts.flow, this.instrumentOf(facts)));
        case 'authorize':
          return await given(client.authorize?.(this.orderOf(facts), this.instrumentOf(facts), ref));
        case 'capture':
          return await given(client.capture?.(ref, providersLines(facts)));
        case 'void':
          return await given(client.void?.(ref));
        case 'refund':
          return await given(client.refund?.(ref, refundOrderOf(facts)));
        case 'attach_link':
          return await given(client.attachLink?.(ref, linkOf(facts)));
        case 'read_status':
          return await given(client.fetchStatus?.(ref));
        case 'submit_lines':
          return await given(client.submitLines?.(ref, facts.document.lines, Number(facts.amount_tiyin)));
        case 'fetch_document':
          return await given(client.fetchDocument?.(ref, wantedDocument(facts)));
      }
    } catch (error) {
      this.logger.error({ payment_id: facts.id, call, err: error }, 'payment: a call failed within');
      return { kind: 'unknown', detail: 'failed within' };
    }
  }

  private changeAfter(call: ProviderCall, context: CallContext, outcome: CallOutcome): PaymentChange {
    const { facts } = context;
    const checked = checkedAmount(facts, outcome);
    const settledMs = facts.now.getTime() - (facts.money_called_at ?? facts.state_since).getTime();
    const state = afterCall(call, {
      before: facts.state,
      outcome: checked,
      isSettled: settledMs > this.timing.settleMs,
      isWholeRefund: refundedAfter(facts) >= facts.amount_tiyin,
      isRefundSeen: refundSeen(facts, outcome),
    });
    const failures = failuresAfter(facts, outcome, state);
    const change: PaymentChange = { state: this.stateOrManual(facts, outcome, state), failures };
    // Without an answer they may be there: from here on their document is fetched, and nothing handed in twice.
    if (call === 'submit_lines' && (outcome.kind === 'status' || outcome.kind === 'unknown'))
      Object.assign(change, { linesSubmitted: true, failures: 0 });
    if (outcome.kind !== 'status') return { ...change, ...reasonAfter(call, outcome, failures) };
    return { ...change, ...this.factsAfter(call, context, outcome, state) };
  }

  /** What is refused again and again cannot be done by asking once more. */
  private stateOrManual(facts: PaymentFacts, outcome: CallOutcome, state: PaymentState): PaymentState {
    const isInVain = state === 'captured' && facts.state.startsWith('refund') && refundSeen(facts, outcome) !== true;
    return isInVain && facts.refund_calls >= MAX_REFUND_CALLS ? 'manual' : state;
  }

  private factsAfter(
    call: ProviderCall,
    { facts, account }: CallContext,
    outcome: StatusFacts,
    state: PaymentState,
  ): PaymentChange {
    const change: PaymentChange = {};
    const isNewRef = outcome.providerRef !== null && outcome.providerRef !== facts.provider_ref;
    if (isNewRef && (call === 'prepare' || facts.provider_ref === null)) change.providerRef = outcome.providerRef;
    if (outcome.nextAction !== null) change.nextAction = outcome.nextAction;
    if (call === 'prepare' || call === 'authorize') change.code = this.codeAfter(call, facts, outcome);
    if (outcome.evidence !== null && (state === 'captured' || state === 'authorized'))
      change.evidence = outcome.evidence;
    if (state === 'authorized' && facts.hold_until === null) change.holdUntil = holdEnd(facts, account, outcome);
    if (call === 'attach_link') change.link = 'attached';
    if (outcome.document !== null && facts.fiscal_mode === 'provider') {
      const isRefund = call === 'fetch_document' && wantedDocument(facts).which === 'refund';
      Object.assign(change, { [isRefund ? 'refundDocument' : 'saleDocument']: outcome.document });
    }
    if (state === 'refunded' || isPartBack(call, facts, outcome, state)) change.refundedTiyin = refundedAfter(facts);
    return change;
  }

  /** A code that came with the payment is tried first; one that was wrong is gone, and the next is awaited. */
  private codeAfter(call: 'prepare' | 'authorize', facts: PaymentFacts, outcome: StatusFacts): PaymentFacts['code'] {
    if (outcome.nextAction?.type !== 'otp') return 'none';
    return call === 'prepare' && this.instrumentOf(facts).otp !== null ? 'given' : 'awaited';
  }

  private orderOf(facts: PaymentFacts): PaymentOrder {
    return {
      ourRef: facts.id,
      amountTiyin: Number(facts.amount_tiyin),
      description: `Order ${facts.id}`,
      callbackUrl: callbackUrl(this.settings.PUBLIC_URL, facts.provider, facts.account_id),
      returnUrl: facts.return_url,
      lines: providersLines(facts),
      saleLines: [facts.document, ...(facts.further ?? [])].flatMap(({ lines }) => lines),
    };
  }

  private instrumentOf({ id, instrument_sealed: sealed }: PaymentFacts): Instrument {
    if (sealed === null) return NO_INSTRUMENT;
    return JSON.parse(open(sealed, instrumentOwner(id), this.settings.SECRETS_KEY)) as Instrument;
  }
}

function providersLines({ fiscal_mode: mode, document }: PaymentFacts): FiscalLines | null {
  return mode === 'provider' ? document.lines : null;
}

function refundOf({ refund_id: id, refund_tiyin: tiyin }: PaymentFacts): { id: bigint; tiyin: bigint } | null {
  return id === null || tiyin === null ? null : { id, tiyin };
}

function refundOrderOf(facts: PaymentFacts): RefundOrder {
  return {
    amountTiyin: Number(facts.refund_tiyin ?? facts.amount_tiyin),
    key: String(facts.refund_id ?? 'whole'),
    lines: providersLines(facts),
  };
}

/** Of a sale that is registered here only the refund's can be missing. */
function wantedDocument(facts: PaymentFacts): WantedDocument {
  return {
    which: facts.receipt_status === 'registered' ? 'refund' : 'sale',
    sale: facts.fiscal_documents?.sale ?? null,
    isMoneyBack: facts.state === 'refunded',
    lines: facts.document.lines,
  };
}

/** A customer who has not paid yet is no failure: however long that took, what follows begins with short pauses. */
function failuresAfter(facts: PaymentFacts, outcome: CallOutcome, state: PaymentState): number {
  const isNews = state !== facts.state && !state.endsWith('_unknown');
  const isWaiting = state === 'pending' && outcome.kind === 'status';
  return isNews || isWaiting ? 0 : facts.failures + 1;
}

/** Calls of which nothing else depends than what they change themselves: after them nothing has to be read again. */
const ONWARD: ReadonlySet<ProviderCall> = new Set(['prepare', 'authorize', 'capture', 'attach_link']);

/** What is known without reading: every other writer of a payment or its receipts increments its `news`. */
function factsAfterCall(facts: PaymentFacts, change: PaymentChange, closed: ClosedCall): PaymentFacts | null {
  if (closed.news !== facts.news || change.saleDocument !== undefined || change.rerouted !== undefined) return null;
  return {
    ...facts,
    state: change.state ?? facts.state,
    ...{ state_since: closed.state_since, now: closed.now, money_called_at: closed.now },
    code: change.code ?? facts.code,
    evidence: change.evidence === undefined ? facts.evidence : (change.evidence as PaymentFacts['evidence']),
    next_action:
      change.nextAction === undefined ? facts.next_action : (change.nextAction as PaymentFacts['next_action']),
    failures: change.failures ?? facts.failures,
    provider_ref: change.providerRef === undefined ? facts.provider_ref : change.providerRef,
    hold_until: change.holdUntil === undefined ? facts.hold_until : change.holdUntil,
    link: change.link ?? facts.link,
    reason: change.reason === undefined ? facts.reason : change.reason,
    instrument_sealed: needsNoInstrument(change.state ?? facts.state) ? null : facts.instrument_sealed,
  };
}

/** By both clocks: a paused process feels no time on the one, a set clock shows none on the other. */
class SendGuard {
  private readonly monotonicMs: number;
  private readonly wallMs: number;

  constructor(private readonly clock: Clock = systemClock) {
    this.monotonicMs = clock.monotonicMs();
    this.wallMs = Date.now();
  }

  get isOpen(): boolean {
    const wall = Math.abs(Date.now() - this.wallMs);
    return this.clock.monotonicMs() - this.monotonicMs < SEND_GUARD_MS && wall < SEND_GUARD_MS;
  }
}

async function given(asked: Promise<CallOutcome> | undefined): Promise<CallOutcome> {
  if (asked === undefined) throw new Error('the provider cannot be asked for this');
  return asked;
}

/** Money of another sum than ours is never a success: people decide. */
function checkedAmount(facts: PaymentFacts, outcome: CallOutcome): CallOutcome {
  if (outcome.kind !== 'status' || outcome.amountTiyin === null) return outcome;
  if (BigInt(outcome.amountTiyin) === facts.amount_tiyin) return outcome;
  const isMoney = outcome.status === 'captured' || outcome.status === 'authorized';
  return isMoney ? { ...outcome, status: 'manual' } : outcome;
}

function isRefunding(call: ProviderCall, { state }: PaymentFacts): boolean {
  return call === 'refund' || state === 'refunding' || state === 'refund_unknown';
}

/** The refund's own answer says so, or a later reading shows the sum. */
function isPartBack(call: ProviderCall, facts: PaymentFacts, outcome: StatusFacts, state: PaymentState): boolean {
  if (state !== 'captured' || !isRefunding(call, facts)) return false;
  return call === 'refund' ? outcome.status === 'refunded' : refundSeen(facts, outcome) === true;
}

/**
 * Whether the provider's sums show the open refund. Without a sum, money that still counts as taken says no of a refund of all
 * of it, and nothing of a part. Any other sum than before or after this refund has another cause.
 */
function refundSeen(facts: PaymentFacts, outcome: CallOutcome): boolean | null {
  if (outcome.kind !== 'status') return null;
  const { refundedTiyin } = outcome;
  if (refundedTiyin === null) {
    const isAll = facts.refunded_tiyin === 0n && refundedAfter(facts) >= facts.amount_tiyin;
    return isAll && outcome.status === 'captured' ? false : null;
  }
  if (BigInt(refundedTiyin) === refundedAfter(facts)) return true;
  return BigInt(refundedTiyin) === facts.refunded_tiyin ? false : null;
}

function refundedAfter(facts: PaymentFacts): bigint {
  const back = facts.refunded_tiyin + (facts.refund_tiyin ?? facts.amount_tiyin - facts.refunded_tiyin);
  return back > facts.amount_tiyin ? facts.amount_tiyin : back;
}

function reasonAfter(
  call: ProviderCall,
  outcome: Exclude<CallOutcome, { kind: 'status' }>,
  failures: number,
): PaymentChange {
  const isGivenUp = call === 'attach_link' && (outcome.kind === 'refused' || failures > MAX_FAILURES);
  const reason = outcome.kind === 'refused' ? `${outcome.code}: ${outcome.detail}` : outcome.detail;
  return { reason: truncateText(reason, 500), ...(isGivenUp && { link: 'refused' as const }) };
}

function linkOf(facts: PaymentFacts): FiscalLink {
  const { verification_url: url, terminal_id, receipt_seq, fiscal_sign } = facts;
  if (url === null || terminal_id === null || receipt_seq === null) throw new Error('the receipt has no link');
  const dateTime = parseVerificationLink(url)?.compactTime ?? '';
  if (compactToIsoBasic(dateTime) === null) throw new Error('the link names no time');
  return {
    ...{ url, terminalId: terminal_id, receiptSeq: Number(receipt_seq), fiscalSign: fiscal_sign ?? '', dateTime },
    isRefund: false,
  };
}

/** As the provider says, else as long as it is trusted to last. */
function holdEnd(facts: PaymentFacts, account: OpenAccount, { holdExpiresAtMs }: StatusFacts): Date | null {
  if (holdExpiresAtMs !== null) return new Date(holdExpiresAtMs);
  const hours = Number(valueOf(account, 'hold_hours'));
  const seconds = hours > 0 ? hours * 3_600 : capabilitiesOf(account).holdSeconds;
  return seconds === null ? null : new Date(facts.now.getTime() + seconds * 1_000);
}
