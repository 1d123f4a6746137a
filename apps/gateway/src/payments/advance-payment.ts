import { Inject, Injectable } from '@nestjs/common';
import { nextStep, retryAfterMs, type SagaStep } from '#payments';
import type { Logger } from '#runtime';
import { LOGGER } from '../tokens.js';
import { ProviderAccounts } from './accounts/provider-accounts.js';
import { PAYMENT_TIMING, RECEIPT_POLL_MS, type PaymentTiming } from './payment-settings.js';
import { PaymentRepository, type Rest } from './repository/payment.repository.js';
import type { Lease, PaymentFacts } from './payment.rows.js';
import { capabilitiesOf } from './provider-clients.js';
import { snapshotOf } from './saga-snapshot.js';
import { SagaWork, type Progress } from './saga-work.js';

/** More steps in a row than any way through the saga has: beyond that something turns in a circle. */
const MAX_STEPS = 24;
/** The database did not say how the payment stands. */
const UNREAD_RETRY_MS = 5_000;

/**
 * Brings one payment as far as it can go now: read → ask the table → do → again. Nothing is kept in memory between two steps,
 * so the next worker after a crash goes on from the same rows.
 */
@Injectable()
export class AdvancePayment {
  constructor(
    private readonly payments: PaymentRepository,
    private readonly accounts: ProviderAccounts,
    private readonly work: SagaWork,
    @Inject(PAYMENT_TIMING) private readonly timing: PaymentTiming,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /**
   * Never rejects: what failed is logged and tried again later.
   * @param reached called with the step at which a caller of this payment need not wait any longer
   * @param known as it was read under this lease; null: to be read
   */
  async advance(lease: Lease, reached: (step: SagaStep) => void, known: PaymentFacts | null = null): Promise<void> {
    let facts: PaymentFacts | null = null;
    let rest: Rest = { kind: 'rest', afterMs: RECEIPT_POLL_MS };
    try {
      for (let steps = 0; steps < MAX_STEPS; steps += 1) {
        facts = known ?? (await this.payments.readFacts(lease.paymentId));
        if (!facts) return;
        const progress = await this.step(lease, facts, reached);
        if (progress.kind === 'rest') {
          rest = progress;
          break;
        }
        known = progress.facts;
      }
    } catch (error) {
      this.logger.warn({ payment_id: lease.paymentId, err: error }, 'payment: a step failed');
      rest = { kind: 'rest', afterMs: facts ? retryAfterMs(facts.state, facts.failures) : UNREAD_RETRY_MS };
    }
    // A database that is away lets the lease run out: another worker takes it then.
    await this.payments
      .release(lease, rest, facts?.news ?? -1)
      .catch((error: unknown) =>
        this.logger.warn({ payment_id: lease.paymentId, err: error }, 'payment: not released'),
      );
  }

  private async step(lease: Lease, facts: PaymentFacts, reached: (step: SagaStep) => void): Promise<Progress> {
    const account = await this.accounts.open(facts.account_id);
    if (!account) throw new Error(`provider account ${facts.account_id} is missing`);
    const client = this.work.clients.of(account);
    const capabilities = capabilitiesOf(account);
    const prepares = capabilities.preparedFlows.includes(facts.flow);
    const can = { prepares, submitsLines: client.submitLines !== undefined };
    const step = nextStep(snapshotOf(facts, capabilities, can, this.timing));
    if (isBesides(step)) reached(step);
    return this.work.execute(step, { lease, facts, account, client });
  }
}

/** Money and receipt are where they belong, or a third party is awaited: what follows concerns no waiting caller. */
function isBesides(step: SagaStep): boolean {
  if (step.kind === 'call') return step.call === 'attach_link';
  return step.kind === 'wait' || step.kind === 'done' || step.kind === 'operator';
}
