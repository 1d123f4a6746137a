import { Inject, Injectable } from '@nestjs/common';
import type { CallOutcome, ProviderCall } from '#payments';
import type { Logger } from '#runtime';
import { LOGGER } from '../../tokens.js';
import type { OpenAccount } from '../accounts/account-settings.js';
import { ProviderAccounts } from '../accounts/provider-accounts.js';
import { PaymentMetrics } from '../payment-metrics.js';
import type { PaymentFacts } from '../payment.rows.js';
import { checkoutOf } from '../provider-clients.js';
import type { PaymentChange } from '../repository/payment.repository.js';
import type { Alternative } from './alternative.js';
import { ProviderHealth } from './provider-health.js';

/** What a provider's answer, or its silence, means beyond the payment itself: for its health, and for where the payment goes. */
@Injectable()
export class Failover {
  constructor(
    private readonly accounts: ProviderAccounts,
    private readonly health: ProviderHealth,
    private readonly metrics: PaymentMetrics,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** @returns what the payment becomes at its next provider; null: it stays where it is */
  async after(
    call: ProviderCall,
    { facts, account }: { facts: PaymentFacts; account: OpenAccount },
    outcome: CallOutcome,
  ): Promise<PaymentChange | null> {
    await this.health.note(account, outcome);
    if (!mayLeave(call, facts, outcome)) return null;
    const open = facts.alternatives ?? [];
    for (const [index, next] of open.entries()) {
      const taker = await this.takerOf(next);
      // One that was disabled meanwhile takes nothing new.
      if (!taker || taker.isDisabled) continue;
      this.metrics.routed(next.provider, 'failover');
      return changeTo({ next, taker, left: open.slice(index + 1) }, facts);
    }
    return null;
  }

  /** One that cannot be read now takes nothing: what is known of the call before is recorded in any case. */
  private async takerOf({ account_id: id }: Alternative): Promise<OpenAccount | undefined> {
    try {
      return await this.accounts.open(id);
    } catch (error) {
      this.logger.warn({ account_id: id, err: error }, 'payments: the next provider cannot be read');
      return undefined;
    }
  }
}

function changeTo(
  { next, taker, left }: { next: Alternative; taker: OpenAccount; left: Alternative[] },
  facts: PaymentFacts,
): PaymentChange {
  const isInbound = next.flow === 'inbound';
  const order = { id: facts.id, returnUrl: facts.return_url, totalTiyin: Number(facts.amount_tiyin) };
  return {
    // Of an inbound one no call has to be made: its customer is sent there.
    state: isInbound ? 'pending' : 'created',
    rerouted: { ...next, from: facts.provider, left },
    nextAction: isInbound ? checkoutOf(taker, order) : null,
    reason: `${facts.provider} did not take the payment`,
    failures: 0,
  };
}

/**
 * Only while no money can have moved: before a provider has the payment by an id of its own and its customer an address, and only after a
 * call that moves none, or one of which not a byte was acted on.
 */
function mayLeave(call: ProviderCall, facts: PaymentFacts, outcome: CallOutcome): boolean {
  const isFresh = facts.state === 'created' && facts.provider_ref === null && facts.next_action === null;
  if (!isFresh || facts.cancel_requested || facts.expires_at <= facts.now) return false;
  if (call === 'prepare') return outcome.kind !== 'status';
  return call === 'authorize' && outcome.kind === 'unsent';
}
