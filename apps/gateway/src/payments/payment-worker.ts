import { setTimeout as delay } from 'node:timers/promises';
import { Inject, Injectable, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import type { SagaStep } from '#payments';
import { newId, Periodic, type Logger } from '#runtime';
import { SettledReceipts } from '../receipts/settled-receipts.js';
import { LOGGER } from '../tokens.js';
import { AdvancePayment } from './advance-payment.js';
import { DuePayments } from './due-payments.js';
import { PAYMENT_TIMING, type PaymentTiming } from './payment-settings.js';
import { PaymentRepository } from './repository/payment.repository.js';
import type { PaymentFacts } from './payment.rows.js';

/** Between a claim's commit and its answer it is unknown here who has it. */
const CLAIM_TRIES = 4;
const CLAIM_PAUSE_MS = 25;
/** A finished receipt is news for a payment that this process released not long ago. */
const MAX_WATCHED = 10_000;

/** One worker's time with a payment. */
interface Turn {
  /** The step at which no caller need wait any longer; null: it ended without one. */
  enough: Promise<SagaStep | null>;
  end: Promise<void>;
}

/**
 * Finds what is due and brings it on: new payments at once, those whose receipt was settled by the notice about it, everything
 * else (and what a dead process left) by polling. Any number of gateways may do so at the same time.
 */
@Injectable()
export class PaymentWorker implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly rounds: Periodic;
  /** What is at work, by payment; later work is queued behind it. */
  private readonly turns = new Map<string, Turn>();
  private isStopping = false;
  /** The round that reads what is due, while one does. */
  private round: Promise<void> | null = null;
  private readonly paymentOf = new Map<string, string>();
  private readonly due: DuePayments;

  constructor(
    private readonly payments: PaymentRepository,
    private readonly saga: AdvancePayment,
    private readonly settled: SettledReceipts,
    @Inject(PAYMENT_TIMING) { pollEveryMs: everyMs }: PaymentTiming,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.due = new DuePayments(payments);
    const run = (): Promise<void> => this.poll();
    this.rounds = new Periodic({ name: 'reading due payments', everyMs, startsAfterMs: everyMs, run }, logger);
  }

  onApplicationBootstrap(): void {
    this.settled.onSettled((receiptId) => {
      const paymentId = this.paymentOf.get(receiptId);
      if (paymentId !== undefined) this.schedule(paymentId);
    });
    this.rounds.start();
  }

  /** What is in hand is finished: a lease that runs out would cost its payment most of a minute. */
  async beforeApplicationShutdown(): Promise<void> {
    this.isStopping = true;
    await this.rounds.stop();
    await Promise.all([...this.turns.values()].map(({ end }) => end));
  }

  /** The news about this receipt is of interest here. */
  watch(receiptId: string, paymentId: string): void {
    this.paymentOf.set(receiptId, paymentId);
    if (this.paymentOf.size <= MAX_WATCHED) return;
    for (const oldest of this.paymentOf.keys()) {
      this.paymentOf.delete(oldest);
      break;
    }
  }

  /** In the background. */
  schedule(paymentId: string): void {
    if (!this.isStopping) void this.process(paymentId);
  }

  /**
   * Resolves when the payment has come as far as it can, or another process is at it. What is under way here may have begun before
   * the news, so it is awaited and then read once more; what was claimed by the poll of all that is due is awaited too.
   * @returns the step that it has come to; null where another process has it
   */
  async process(paymentId: string): Promise<SagaStep | null> {
    for (let tries = 0; tries < CLAIM_TRIES; tries += 1) {
      const { isClaimed, step } = await this.tryProcess(paymentId);
      if (isClaimed) return step;
      const other = this.turns.get(paymentId);
      if (other) return other.enough;
      // The round may have claimed it and not read it yet, however long its reading takes.
      await (this.round ?? delay(CLAIM_PAUSE_MS));
    }
    return null;
  }

  /**
   * After news that this process received as well: the turn that works on it is awaited, instead of reading once more. Only
   * one that came to nothing is not: the poll of all that is due had claimed the payment a moment before it.
   */
  async afterNews(paymentId: string): Promise<void> {
    const reached = await this.turns.get(paymentId)?.enough;
    if (!reached) await this.process(paymentId);
  }

  private async tryProcess(paymentId: string): Promise<{ isClaimed: boolean; step: SagaStep | null }> {
    let isClaimed = false;
    const turn = this.inTurn(paymentId, async (reached) => {
      const leaseId = newId('lse');
      const claimed = await this.payments.claim(leaseId, { ids: [paymentId] });
      isClaimed = claimed.length > 0;
      if (isClaimed) await this.advance(paymentId, leaseId, reached);
    });
    const step = await turn.enough;
    return { isClaimed, step };
  }

  private async poll(): Promise<void> {
    if (this.round || this.isStopping) return;
    this.round = this.takeDue().finally(() => {
      this.round = null;
    });
    await this.round;
  }

  /** Never rejects. */
  private async takeDue(): Promise<void> {
    try {
      const leaseId = newId('lse');
      const { ids, isFull } = await this.due.claim(leaseId);
      // Of most there is nothing to do but to see that: together that is two readings, not one each.
      const known = ids.length > 0 ? await this.readAll(ids) : new Map<string, PaymentFacts>();
      for (const id of ids) {
        const { end } = this.inTurn(id, (reached) => this.advance(id, leaseId, reached, known.get(id) ?? null));
        void end.finally(() => {
          this.due.release(id);
          // More may be due than there was room for: after an outage thousands are.
          if (isFull) void this.poll();
        });
      }
    } catch (error) {
      this.logger.warn({ err: error }, 'payment: could not read what is due');
    }
  }

  /** They are in hand already: each is read by itself where all together cannot be. */
  private async readAll(ids: readonly string[]): Promise<Map<string, PaymentFacts>> {
    try {
      return new Map((await this.payments.readAll(ids)).map((facts) => [facts.id, facts]));
    } catch (error) {
      this.logger.warn({ err: error }, 'payment: what is due was not read together');
      return new Map();
    }
  }

  private advance(
    paymentId: string,
    leaseId: string,
    reached: (step: SagaStep) => void,
    known: PaymentFacts | null = null,
  ): Promise<void> {
    return this.saga.advance({ paymentId, leaseId: `${leaseId}/${paymentId}` }, reached, known);
  }

  /** One after the other for each payment. */
  private inTurn(paymentId: string, work: (reached: (step: SagaStep) => void) => Promise<void>): Turn {
    let reached: (step: SagaStep) => void = () => undefined;
    const atStep = new Promise<SagaStep>((resolve) => {
      reached = resolve;
    });
    const before = this.turns.get(paymentId)?.end ?? Promise.resolve();
    const end = before
      .then(() => work(reached))
      .catch((error: unknown) => this.logger.warn({ payment_id: paymentId, err: error }, 'payment: not claimed'))
      .finally(() => {
        if (this.turns.get(paymentId) === turn) this.turns.delete(paymentId);
      });
    const turn: Turn = { enough: Promise.race([atStep, end.then(() => null)]), end };
    this.turns.set(paymentId, turn);
    return turn;
  }
}
