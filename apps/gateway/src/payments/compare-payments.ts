import { isDeepStrictEqual } from 'node:util';
import { Inject, Injectable, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import { PrismaService } from '#database';
import { statusOf, type PaymentState, type StatusFacts } from '#payments';
import { Periodic, systemClock, type Clock, type Logger } from '#runtime';
import { LOGGER } from '../tokens.js';
import { ProviderAccounts } from './accounts/provider-accounts.js';
import { DueComparisons, type DueComparison, type LeftAlone } from './due-comparisons.js';
import { noteComparison } from './repository/payment-writes.js';
import { PaymentRepository } from './repository/payment.repository.js';
import type { PaymentFacts } from './payment.rows.js';
import { capabilitiesOf, ProviderClients } from './provider-clients.js';
import { refOf } from './saga-snapshot.js';
import { SilentOnes } from './silent-ones.js';

const POLL_EVERY_MS = 60_000;
/** Long enough for everything that may still be under way at the provider. */
const AFTER_MINUTES = 15;
const AT_ONCE = 20;
/** Money that is held is asked about so often: its provider may have released it without a word. */
const HELD_EVERY_MINUTES = 15;
/** Payments that their provider says nothing of, and accounts that answer nothing, are left alone for a while. */
const UNHEARD = { most: 1_000, after: 1 };
const SILENT_ACCOUNTS = { most: 5_000, after: 3 };
/** A provider that has not said anything of a payment for so long is a difference of its own. */
const SHOWN_AFTER_MS = 24 * 3_600_000;

/** What a provider may say of a payment that ended so, or whose money is held. */
const EXPECTED: Partial<Record<PaymentState, readonly StatusFacts['status'][]>> = {
  authorized: ['authorized', 'in_flight'],
  captured: ['captured', 'in_flight'],
  refunded: ['refunded', 'voided', 'declined'],
  voided: ['voided', 'refunded', 'declined', 'not_found', 'pending'],
  declined: ['declined', 'voided', 'refunded', 'not_found', 'pending'],
  expired: ['declined', 'voided', 'refunded', 'not_found', 'pending'],
  cancelled: ['declined', 'voided', 'refunded', 'not_found', 'pending'],
};

/**
 * The other half of reconciliation: each payment that has ended is compared with what its provider says, some time later, and once more
 * after each hint of its provider that something has changed there.
 * Where the provider's word is certain and only one thing can follow, the payment moves to what is true and the saga goes on from
 * there (`healedState`); any other difference is shown until a person has decided. Two gateways that compare the same one write
 * the same.
 */
@Injectable()
export class ComparePayments implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly rounds: Periodic;
  private readonly unheard = new SilentOnes(UNHEARD);
  private readonly silentAccounts = new SilentOnes(SILENT_ACCOUNTS);
  private readonly due: DueComparisons;
  private readonly clock: Clock = systemClock;
  private isStopping = false;

  constructor(
    private readonly prisma: PrismaService,
    private readonly payments: PaymentRepository,
    private readonly accounts: ProviderAccounts,
    private readonly clients: ProviderClients,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.due = new DueComparisons(prisma);
    const run = (): Promise<void> => this.round();
    this.rounds = new Periodic(
      { name: 'comparing payments', everyMs: POLL_EVERY_MS, startsAfterMs: POLL_EVERY_MS, run },
      logger,
    );
  }

  onApplicationBootstrap(): void {
    this.rounds.start();
  }

  beforeApplicationShutdown(): Promise<void> {
    this.isStopping = true;
    return this.rounds.stop();
  }

  /** All that is due, or as much as a minute has room for. What is held comes first: a customer's money, and a receipt that waits for it. */
  private async round(): Promise<void> {
    const untilMs = this.clock.monotonicMs() + POLL_EVERY_MS;
    await this.compareHeld(HELD_EVERY_MINUTES);
    while (!this.isStopping && this.clock.monotonicMs() <= untilMs && (await this.compare(AFTER_MINUTES)) > 0);
  }

  /**
   * Payments whose money has been held for so long, each again after as long: a merchant that captures days later, a receipt whose register
   * is away. What its provider has released is `voided`, and its receipt is not sent any more.
   * @returns how many were compared
   */
  async compareHeld(everyMinutes: number): Promise<number> {
    return this.compareEach(await this.due.held(everyMinutes, AT_ONCE, this.leftAlone()));
  }

  /** @returns how many were compared */
  async compare(afterMinutes: number): Promise<number> {
    return this.compareEach(await this.due.ended(afterMinutes, AT_ONCE, this.leftAlone()));
  }

  private leftAlone(): LeftAlone {
    return { payments: this.unheard.leftAlone(), accounts: this.silentAccounts.leftAlone() };
  }

  /** An account that falls silent among them is not asked for the rest. */
  private async compareEach(due: readonly DueComparison[]): Promise<number> {
    for (const { id, account_id: accountId } of due)
      if (!this.silentAccounts.isLeftAlone(accountId)) await this.compareOne(id);
    return due.length;
  }

  /**
   * On a provider's hint that something changed there: what has ended here, and money that is held while its receipt is at the
   * register. Where both say the same it is compared; any difference that is not healed may still be under way, and is left to the
   * comparison.
   */
  async afterHint(id: string): Promise<void> {
    try {
      const facts = await this.payments.readFacts(id);
      const isAsked = facts && EXPECTED[facts.state];
      const outcome = isAsked ? await this.ask(facts) : null;
      if (!facts || !outcome || outcome === 'unheard' || isUnderWay(facts, outcome)) return;
      if (await this.heal(facts, outcome)) return;
      const isOld = facts.now.getTime() - facts.state_since.getTime() > AFTER_MINUTES * 60_000;
      if (isOld && EXPECTED[facts.state] && differenceOf(facts, outcome) === null)
        await noteComparison(this.prisma, facts, { discrepancy: null });
    } catch (error) {
      this.logger.warn({ payment_id: id, err: error }, 'payments: not compared after a hint');
    }
  }

  private async compareOne(id: string): Promise<void> {
    const facts = await this.payments.readFacts(id);
    if (!facts) return;
    const outcome = await this.ask(facts);
    if (outcome === 'unheard') {
      this.unheard.noteSilent(id);
      this.silentAccounts.noteSilent(facts.account_id);
      const isOld = facts.now.getTime() - facts.state_since.getTime() > SHOWN_AFTER_MS;
      const silence = { ours: facts.state, provider: 'does not say' };
      if (isAccepted(facts, silence)) await noteComparison(this.prisma, facts, { discrepancy: null });
      // It goes on asking; meanwhile a person can.
      else if (isOld) await this.payments.noteDifference(id, silence);
      return;
    }
    this.silentAccounts.noteHeard(facts.account_id);
    if (outcome && isUnderWay(facts, outcome)) return this.unheard.noteSilent(id);
    this.unheard.noteHeard(id);
    const difference = outcome ? differenceOf(facts, outcome) : null;
    if (outcome && difference && (await this.heal(facts, outcome))) return;
    const discrepancy = isAccepted(facts, difference) ? null : difference;
    await noteComparison(this.prisma, facts, outcome && { discrepancy });
    if (discrepancy) this.logger.error({ payment_id: id, discrepancy }, 'payments: the provider says something else');
  }

  /** @returns null: there is no provider to ask; `unheard`: later */
  private async ask(facts: PaymentFacts): Promise<StatusFacts | null | 'unheard'> {
    const account = await this.accounts.open(facts.account_id);
    if (!account) return 'unheard';
    // What is known from the provider's calls alone is compared by its own statement.
    const { statusFlows, statusByOurRef } = capabilitiesOf(account);
    if (!statusFlows.includes(facts.flow)) return null;
    // Declined before it had an id there: no question names it, and to ask all the same would differ from every answer.
    if (facts.state === 'declined' && facts.provider_ref === null && !statusByOurRef) return null;
    const outcome = await this.clients.of(account).fetchStatus?.(refOf(facts));
    if (!outcome) return null;
    // Its own number of the payment means nothing to it any more.
    if (outcome.kind === 'refused' && outcome.code === '404') return statusOf('not_found');
    return outcome.kind === 'status' ? outcome : 'unheard';
  }

  /** @returns whether the payment stands now where its provider says, to be brought to its end by the saga */
  private async heal(facts: PaymentFacts, outcome: StatusFacts): Promise<boolean> {
    const state = healedState(facts, outcome);
    if (!state) return false;
    const reason = `was ${facts.state}; ${facts.provider} says ${outcome.status}`;
    const refundedTiyin = state === 'refunded' ? { refundedTiyin: facts.amount_tiyin } : {};
    const change = { state, reason, failures: 0, dueAt: 'now' as const, ...refundedTiyin };
    const hand = { paymentId: facts.id, by: 'comparison' } as const;
    const isMoved = await this.prisma.$transaction((tx) => this.payments.change(tx, hand, facts.state, change));
    if (isMoved) this.logger.error({ payment_id: facts.id, reason }, 'payments: moved to what the provider says');
    return true;
  }
}

/**
 * Where a payment that had ended, or is held, truly stands; null: only people can say. Money that a provider has against all rules is given
 * back from there, a sale whose money it has given back is refunded. Money that counts as returned here is never sent back twice.
 */
function healedState(facts: PaymentFacts, outcome: StatusFacts): PaymentState | null {
  if (outcome.amountTiyin !== null && BigInt(outcome.amountTiyin) !== facts.amount_tiyin) return null;
  const { status } = outcome;
  switch (facts.state) {
    case 'captured':
      // Parts that we gave back ourselves are another matter.
      return (status === 'refunded' || status === 'voided') && facts.refunded_tiyin === 0n ? 'refunded' : null;
    // A hold that its provider has released: a receipt that waits need not be sent any more.
    case 'authorized':
      return status === 'voided' || status === 'refunded' || status === 'declined' ? 'voided' : null;
    case 'declined':
    case 'expired':
    case 'cancelled':
    case 'voided':
      return status === 'captured' || status === 'authorized' ? status : null;
    default:
      return null;
  }
}

/**
 * Its provider has hinted at it within a day, and something is at work there: a hint may come before what it is about is done (Payme asks
 * for our answer to its cancel while the receipt still is in its queue). What becomes of it is read later.
 */
function isUnderWay({ state, hinted_at: hintedAt, now }: PaymentFacts, { status }: StatusFacts): boolean {
  if (state !== 'captured' || status !== 'in_flight' || hintedAt === null) return false;
  return now.getTime() - hintedAt.getTime() < SHOWN_AFTER_MS;
}

/** As the row keeps it: a difference in any fact of the provider's is another one. */
function isAccepted({ accepted_difference: accepted }: PaymentFacts, difference: object | null): boolean {
  return difference !== null && isDeepStrictEqual(JSON.parse(JSON.stringify(difference)), accepted);
}

function differenceOf(facts: PaymentFacts, outcome: StatusFacts) {
  // Where our own register sells, a document of the provider's beside it is a sale that was registered twice.
  const isSoldTwice =
    facts.fiscal_mode === 'gateway' && outcome.document !== null && outcome.document.fiscalSign !== facts.fiscal_sign;
  if (isSoldTwice) return { registered_by_provider_too: outcome.document };
  const isExpected = EXPECTED[facts.state]?.includes(outcome.status) ?? true;
  const isSameSum = outcome.amountTiyin === null || BigInt(outcome.amountTiyin) === facts.amount_tiyin;
  const isSameRefund =
    facts.state !== 'captured' ||
    outcome.refundedTiyin === null ||
    BigInt(outcome.refundedTiyin) === facts.refunded_tiyin;
  if (isExpected && isSameSum && isSameRefund) return null;
  const theirs = { provider: outcome.status, amount: outcome.amountTiyin, refunded: outcome.refundedTiyin };
  return { ours: facts.state, ...theirs };
}
