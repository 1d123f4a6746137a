import { Inject, Injectable } from '@nestjs/common';
import { PrismaService } from '#database';
import { isTestId, truncateText } from '#fiscal-domain';
import { withoutAddresses, type MessageSender, type SendOutcome } from '#messages';
import { inSpan, readTraceParent, systemClock, withTrace, type Logger, type SpanOptions } from '#runtime';
import { LOGGER } from '../../tokens.js';
import { pauseMs } from '../webhooks/delivery-schedule.js';
import { AddressBook } from './address-book.js';
import { ComposeMessage } from './compose-message.js';
import { afterInterruption, afterTry, attemptEnd, byStatus, unclear } from './message-outcome.js';
import { MessageMetrics } from './message-metrics.js';
import { MessageSenders } from './message-senders.js';
import { quietMs } from './message-schedule.js';
import { MessageRepository, NO_CHANGE_BESIDE, type ClaimedAccount, type DueMessage } from './message.repository.js';
import { DisableAccount, stopAddressOf } from './stop-sending.js';

/** Well within the lease, with the deadlines of a last message. */
const TURN_MS = 5_000;
const MINUTE_MS = 60_000;
/** Messages under way at the same time through one account. */
const AT_ONCE = 6;
/** Messages of a sandbox that end in one turn. */
const ENDED_AT_ONCE = 100;
/** So many failures of the way there, one after the other, end the turn. */
const FAILURES = 3;

/** No provider was called. */
const NOT_COMPOSED = {
  ...{ kind: 'not_now', code: 'not_composed', retryAfterMs: null },
  detail: 'The message could not be made of its receipt.',
} as const satisfies SendOutcome;

interface Turn {
  account: ClaimedAccount;
  sender: MessageSender;
  quietMs: number;
  startedMs: number;
  /** Tries so far; the account's rate is kept by them. */
  tries: number;
  succeeded: number;
  failuresInARow: number;
  /** Why the account is to be disabled. */
  refusal: string | null;
}

/** What a turn notes beside the message itself. */
@Injectable()
export class SendingNotes {
  constructor(
    private readonly prisma: PrismaService,
    private readonly metrics: MessageMetrics,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  tried({ id, receipt_id: receiptId, channel }: DueMessage, outcome: SendOutcome, durationMs: number): void {
    this.metrics.tried(channel, outcome.kind, durationMs);
    if (outcome.kind === 'sent') return;
    const code = 'code' in outcome ? truncateText(outcome.code, 60) : null;
    const fields = { message_id: id, receipt_id: receiptId, channel, outcome: outcome.kind, code };
    this.logger.info(fields, 'message: not sent');
  }

  /** No more messages of the merchant go to the address of this one. */
  async stop(messageId: string, reason: 'bounce' | 'complaint' | 'unsubscribed' | 'stopped'): Promise<void> {
    await this.prisma.$transaction(async (tx) => {
      const row = await tx.message.findUnique({ where: { id: messageId } });
      if (row) await stopAddressOf(tx, row, reason);
    });
  }

  /** It stays due, or its open try is found when its lease is over. */
  failed(message: DueMessage, error: unknown): void {
    this.logger.warn({ err: error, message_id: message.id }, 'a message could not be worked on');
  }
}

/** Sends what is due through one account, for a while and no faster than its rate, and releases it. */
@Injectable()
export class SendMessages {
  constructor(
    private readonly messages: MessageRepository,
    private readonly senders: MessageSenders,
    private readonly composer: ComposeMessage,
    private readonly book: AddressBook,
    private readonly disable: DisableAccount,
    private readonly notes: SendingNotes,
  ) {}

  async execute(account: ClaimedAccount, stopping: AbortSignal): Promise<void> {
    if (isTestId(account.merchant_id)) return this.endAll(account);
    const sender = await this.senders.of(account.id);
    if (!sender) return;
    const quiet = quietMs(systemClock.now(), account.quiet_from, account.quiet_until);
    const turn: Turn = {
      ...{ account, sender, quietMs: quiet, startedMs: systemClock.monotonicMs(), tries: 0, succeeded: 0 },
      ...{ failuresInARow: 0, refusal: null },
    };
    await this.sendDue(turn, stopping);
    if (turn.refusal !== null) return this.disable.execute(account, turn.refusal);
    const result = turn.failuresInARow > 0 ? 'failed' : turn.succeeded > 0 ? 'succeeded' : 'nothing';
    const blockMs = result === 'failed' ? pauseMs(account.failures + 1, Math.random()) : paceMs(turn);
    await this.messages.release(account, result, { blockMs, quietMs: quiet });
  }

  /** Nothing of a sandbox reaches a buyer, whatever its rows say. What is left of a turn's group is due at once again. */
  private async endAll(account: ClaimedAccount): Promise<void> {
    const change = { ...NO_CHANGE_BESIDE, state: 'failed', reason: 'sandbox' } as const;
    for (const { id } of await this.messages.due(account.id, ENDED_AT_ONCE, false))
      await this.messages.settle(id, change, { from: ['pending', 'sending', 'unclear'] });
    await this.messages.release(account, 'nothing', { blockMs: 0, quietMs: 0 });
  }

  private async sendDue(turn: Turn, stopping: AbortSignal): Promise<void> {
    const { account } = turn;
    const budget = Math.max(1, Math.floor((account.per_minute * TURN_MS) / MINUTE_MS));
    const isOver = (): boolean =>
      stopping.aborted ||
      turn.refusal !== null ||
      turn.failuresInARow >= FAILURES ||
      turn.tries >= budget ||
      systemClock.monotonicMs() - turn.startedMs >= TURN_MS;
    while (!isOver()) {
      const room = Math.min(AT_ONCE, budget - turn.tries);
      const due = await this.messages.due(account.id, room, turn.quietMs > 0);
      if (due.length === 0) return;
      await Promise.all(due.map((message) => this.handleInTrace(turn, message)));
    }
  }

  /** Log lines about it name the trace of its receipt. */
  private handleInTrace(turn: Turn, message: DueMessage): Promise<void> {
    return withTrace(readTraceParent(message.trace_parent), () =>
      this.handle(turn, message)
        .catch(async (error: unknown) => {
          this.notes.failed(message, error);
          turn.tries += 1;
          await this.putOff(message);
        })
        .catch((error: unknown) => this.notes.failed(message, error)),
    );
  }

  /**
   * What could not be worked on, as a receipt that cannot be drawn, waits as after a try that sent nothing: it would be due again at
   * once otherwise, and what is due after it never sent. What was open already changes nothing: an open try is judged when its lease is over.
   */
  private async putOff(message: DueMessage): Promise<void> {
    const random = Math.random();
    if (message.state === 'unclear') {
      const change = unclear(message.ask_count + 1, random);
      return this.messages.settle(message.id, change, { from: ['unclear'], asked: true });
    }
    const number = message.state === 'pending' ? await this.messages.begin(message) : null;
    if (number === null) return;
    const change = afterTry(NOT_COMPOSED, { channel: message.channel, number, random });
    await this.messages.end(message, attemptEnd(number, 0, NOT_COMPOSED), change);
  }

  private async handle(turn: Turn, message: DueMessage): Promise<void> {
    const facts = { channel: message.channel, number: message.attempt_count, random: Math.random() };
    if (message.state === 'sending') {
      // Crash window: a process that died here had called, or was about to. Letters go again; an SMS is asked about.
      const attempt = {
        number: message.attempt_count,
        durationMs: 0,
        outcome: 'interrupted',
        code: null,
        detail: null,
      };
      return this.messages.end(message, attempt, afterInterruption(facts));
    }
    if (message.state === 'unclear') return this.ask(turn, message);
    if (message.is_suppressed || message.address_sealed === null) {
      const reason = message.is_suppressed ? 'address_suppressed' : 'address_erased';
      return this.messages.settle(message.id, { ...NO_CHANGE_BESIDE, state: 'failed', reason }, { from: ['pending'] });
    }
    return this.send(turn, message, message.address_sealed);
  }

  private send(turn: Turn, message: DueMessage, sealed: Uint8Array): Promise<void> {
    return inSpan('message send', spanOf(message), (span) =>
      this.sendNow(turn, message, sealed, (outcome) => span.set({ outcome })),
    );
  }

  /** Persist, then call: the try is open before its first byte leaves. */
  private async sendNow(
    turn: Turn,
    message: DueMessage,
    sealed: Uint8Array,
    noteOutcome: (outcome: string) => void,
  ): Promise<void> {
    const composed = await this.composer.compose(turn.account, message, this.book.openAddress(message.id, sealed));
    if (composed.kind === 'not_sendable') {
      const change = { ...NO_CHANGE_BESIDE, state: 'failed', reason: composed.reason } as const;
      return this.messages.settle(message.id, change, { from: ['pending'] });
    }
    const number = await this.messages.begin(message);
    if (number === null) return;
    turn.tries += 1;
    const begunMs = systemClock.monotonicMs();
    const outcome = await turn.sender.send(composed.message);
    note(turn, outcome);
    noteOutcome(outcome.kind);
    const durationMs = Math.round(systemClock.monotonicMs() - begunMs);
    this.notes.tried(message, outcome, durationMs);
    const change = afterTry(outcome, { channel: message.channel, number, random: Math.random() });
    await this.messages.end(message, attemptEnd(number, durationMs, outcome), change);
    if (outcome.kind === 'address_refused') await this.notes.stop(message.id, 'bounce');
  }

  /** An unclear message is asked about by its id and never sent again. */
  private async ask(turn: Turn, message: DueMessage): Promise<void> {
    const from = ['unclear'] as const;
    const later = unclear(message.ask_count + 1, Math.random());
    const askAbout = turn.sender.ask?.bind(turn.sender);
    if (!askAbout || message.address_sealed === null) {
      return this.messages.settle(message.id, later, { from, asked: true });
    }
    const composed = await this.composer.compose(
      turn.account,
      message,
      this.book.openAddress(message.id, message.address_sealed),
    );
    const { to, text } = composed.kind === 'composed' ? composed.message : { to: '', text: '' };
    const question = {
      id: message.id,
      providerRef: message.provider_ref,
      to,
      text,
      triedAt: message.tried_at ?? new Date(),
    };
    const answer = await inSpan('message ask', spanOf(message), () => askAbout(question));
    if (answer.kind !== 'status') return this.messages.settle(message.id, later, { from, asked: true });
    await this.messages.settle(message.id, byStatus(answer), { from, asked: true });
    if (answer.isAddressRefused) await this.notes.stop(message.id, 'bounce');
  }
}

function spanOf({ id, receipt_id: receiptId, channel }: DueMessage): SpanOptions {
  return { kind: 'client', attributes: { 'message.id': id, 'receipt.id': receiptId, channel } };
}

/** Failures of the way there concern the account; what a provider says of one message does not. */
function note(turn: Turn, outcome: SendOutcome): void {
  if (outcome.kind === 'account_refused') {
    // It stands on the account, in an event and on the trail, which has no end; a mail server may name the buyer as it refuses the sender.
    turn.refusal = truncateText(withoutAddresses(`${outcome.code}: ${outcome.detail}`), 300);
  } else if (outcome.kind === 'sent') {
    turn.succeeded += 1;
    turn.failuresInARow = 0;
  } else if (outcome.kind === 'unclear' || (outcome.kind === 'not_now' && !isOfTheMessage(outcome.code))) {
    turn.failuresInARow += 1;
  }
}

/** A server that greylists answers well: it puts off one address. */
function isOfTheMessage(code: string): boolean {
  return /^4\d\d\b/.test(code) && !code.startsWith('421') && code !== '429';
}

function paceMs({ account, tries, startedMs }: Turn): number {
  return Math.max(0, (tries * MINUTE_MS) / account.per_minute - (systemClock.monotonicMs() - startedMs));
}
