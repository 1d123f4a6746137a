import { Inject, Injectable, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import { truncateText } from '#fiscal-domain';
import type { CallOutcome, PaymentProvider, PaymentRef } from '#payments';
import { Periodic, type Logger } from '#runtime';
import { LOGGER } from '../../tokens.js';
import { ProviderAccounts } from '../accounts/provider-accounts.js';
import { PAYMENT_TIMING, type PaymentTiming } from '../payment-settings.js';
import { capabilitiesOf, ProviderClients } from '../provider-clients.js';
import { ExtraChargesRepository, type ExtraCharge } from './extra-charges.repository.js';

const POLL_EVERY_MS = 5_000;
/** Before the next status read, by the number of reads. */
const PAUSES_MS = [30_000, 60_000, 120_000, 300_000, 900_000, 3_600_000];
/** What a provider has not decided in this time, it does not decide by itself. */
const MAX_TRIES = 24;
/** Money that did not go back on so many tries does not by one more. */
const MAX_REFUND_CALLS = 5;
/** A provider that has kept nothing says so from its first status on; one that is still at work may say so too early. */
const ABSENT_AFTER_MS = 120_000;

type Verdict = { state: ExtraCharge['state']; afterMs: number | null; reason?: string } | 'refund';

/**
 * Brings back what was charged beyond the payment that was taken for an order: reads its status, asks for its refund where the
 * provider lets us, and leaves the rest to a person. A reversal is of one payment at the provider, whole: asked twice it is
 * refused the second time, so a lost answer is read, never guessed.
 */
@Injectable()
export class ExtraChargeKeeper implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly rounds: Periodic;

  constructor(
    private readonly charges: ExtraChargesRepository,
    private readonly accounts: ProviderAccounts,
    private readonly clients: ProviderClients,
    @Inject(PAYMENT_TIMING) private readonly timing: PaymentTiming,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    const everyMs = Math.max(POLL_EVERY_MS, timing.pollEveryMs);
    const run = (): Promise<number> => this.workOffDue();
    this.rounds = new Periodic({ name: 'processing extra charges', everyMs, startsAfterMs: everyMs, run }, logger);
  }

  onApplicationBootstrap(): void {
    this.rounds.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.rounds.stop();
  }

  /** @returns the number of charges that were processed */
  async workOffDue(): Promise<number> {
    for (let done = 0; ; done += 1) {
      const charge = await this.charges.claim(this.timing.leaseSeconds);
      if (!charge) return done;
      await this.advance(charge);
    }
  }

  private async advance(charge: ExtraCharge): Promise<void> {
    const later = { state: charge.state, afterMs: pauseAfter(charge) };
    if (charge.is_ours) return this.charges.move(charge, { state: 'ours', afterMs: null });
    if (charge.is_open) return this.charges.move(charge, later);
    if (charge.is_of_another_order) {
      const reason = 'another order of this account was paid under this number: find out at the provider whose it is';
      return this.charges.move(charge, { state: 'manual', afterMs: null, reason });
    }
    const account = await this.accounts.open(charge.account_id);
    const client = account && this.clients.of(account);
    if (!client?.fetchStatus || !account) return this.charges.move(charge, later);
    const canRefund = capabilitiesOf(account).refundInitiator[charge.flow] === 'us' && client.refund !== undefined;
    const verdict = judge(charge, await client.fetchStatus(refOf(charge)), {
      settleMs: this.timing.settleMs,
      canRefund,
    });
    if (verdict !== 'refund') return this.charges.move(charge, verdict);
    const isNamed = !capabilitiesOf(account).statusByOurRef || (await isNamedByOurOrder(charge, client));
    if (isNamed === null) return this.charges.move(charge, later);
    if (!isNamed) {
      const reason = 'the provider names the payment of this order by another kind of number: find it there';
      return this.charges.move(charge, { state: 'manual', afterMs: null, reason });
    }
    return this.refund(charge, client);
  }

  /** Crash window: after the intent it is not known whether it was sent; the next pass reads the status. */
  private async refund(charge: ExtraCharge, client: PaymentProvider): Promise<void> {
    if (!(await this.charges.beginRefund(charge))) return;
    const extra = { amountTiyin: Number(charge.amount_tiyin), key: 'extra', lines: null };
    const outcome = await client.refund?.(refOf(charge), extra);
    this.logger.warn(
      { payment_id: charge.payment_id, provider_ref: charge.provider_ref, outcome },
      'payments: an extra charge is refunded',
    );
    if (outcome?.kind === 'status' && outcome.status === 'refunded')
      return this.charges.move(charge, { state: 'refunded', afterMs: null });
    if (outcome?.kind === 'refused')
      return this.charges.move(charge, {
        state: 'manual',
        afterMs: null,
        reason: truncateText(`the provider refused the refund: ${outcome.code}: ${outcome.detail}`, 500),
      });
    return this.charges.move(charge, {
      state: 'refunding',
      afterMs: Math.max(pauseAfter(charge), this.timing.settleMs),
    });
  }
}

/**
 * Whether the number under which the charge was reported is one of the provider's payments of this very order: a number of
 * another kind could be another customer's payment. Null: the provider did not answer.
 */
async function isNamedByOurOrder(charge: ExtraCharge, client: PaymentProvider): Promise<boolean | null> {
  const outcome = await client.fetchStatus?.({ ...refOf(charge), providerRef: null });
  if (outcome?.kind !== 'status') return null;
  const { providerRef } = outcome;
  return providerRef !== null && (providerRef === charge.provider_ref || providerRef === charge.payment_ref);
}

function judge(
  charge: ExtraCharge,
  outcome: CallOutcome,
  { settleMs, canRefund }: { settleMs: number; canRefund: boolean },
): Verdict {
  const later = { state: charge.state, afterMs: pauseAfter(charge) };
  const isUndecided = charge.tries >= MAX_TRIES;
  const ageMs = charge.now.getTime() - charge.created_at.getTime();
  const manual = (reason: string): Verdict => ({ state: 'manual', afterMs: null, reason });
  const isAbsent: Verdict = ageMs > ABSENT_AFTER_MS ? { state: 'absent', afterMs: null } : later;
  // Its number of the payment means nothing to the provider any more.
  if (outcome.kind === 'refused' && outcome.code === '404') return isAbsent;
  if (outcome.kind !== 'status')
    return isUndecided ? manual(truncateText(`its status cannot be read: ${outcome.detail}`, 500)) : later;
  const calledMs = charge.called_at ? charge.now.getTime() - charge.called_at.getTime() : null;
  switch (outcome.status) {
    case 'captured':
      if (!canRefund) return manual('only the provider can give this money back');
      if (calledMs !== null && calledMs <= settleMs) return later;
      return charge.refund_calls >= MAX_REFUND_CALLS ? manual('it was asked back in vain') : 'refund';
    case 'refunded':
      return { state: 'refunded', afterMs: null };
    case 'voided':
    case 'declined':
      // Some providers call what was given back failed.
      return { state: charge.state === 'refunding' ? 'refunded' : 'absent', afterMs: null };
    case 'not_found':
      return isAbsent;
    case 'manual':
      return manual('the provider handles it by hand');
    case 'pending':
    case 'in_flight':
    case 'reserved':
    case 'authorized':
      return isUndecided ? manual(`the provider says only ${outcome.status}`) : later;
  }
}

function pauseAfter({ tries }: ExtraCharge): number {
  return PAUSES_MS[Math.min(tries, PAUSES_MS.length) - 1] ?? POLL_EVERY_MS;
}

function refOf(charge: ExtraCharge): PaymentRef {
  return {
    ourRef: charge.payment_id,
    providerRef: charge.provider_ref,
    flow: charge.flow,
    amountTiyin: Number(charge.amount_tiyin),
    createdAtMs: charge.payment_created_at.getTime(),
    isRefunding: charge.state === 'refunding',
  };
}
