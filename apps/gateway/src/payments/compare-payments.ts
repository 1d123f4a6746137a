import { Inject, Injectable, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import { PrismaService } from '#database';
import type { CallOutcome, PaymentState, StatusFacts } from '#payments';
import type { Logger } from '#runtime';
import { LOGGER } from '../tokens.js';
import { ProviderAccounts } from './accounts/provider-accounts.js';
import { PaymentRepository } from './payment.repository.js';
import type { PaymentFacts } from './payment.rows.js';
import { ProviderClients } from './provider-clients.js';
import { refOf } from './saga-snapshot.js';

const LOOK_EVERY_MS = 60_000;
/** Long enough for everything that may still be under way at the provider. */
const AFTER_MINUTES = 15;
const AT_ONCE = 20;

/** What a provider may say of a payment that ended so. */
const EXPECTED: Partial<Record<PaymentState, readonly StatusFacts['status'][]>> = {
  captured: ['captured', 'in_flight'],
  refunded: ['refunded', 'voided', 'declined'],
  voided: ['voided', 'refunded', 'declined', 'not_found', 'pending'],
  declined: ['declined', 'voided', 'refunded', 'not_found', 'pending'],
  expired: ['declined', 'voided', 'refunded', 'not_found', 'pending'],
  cancelled: ['declined', 'voided', 'refunded', 'not_found', 'pending'],
};

/**
 * The other half of reconciliation: each payment that has ended is once compared with what its provider says, some time later.
 * A difference changes nothing by itself: it is shown until a person has looked. Two gateways that compare the same one write
 * the same.
 */
@Injectable()
export class ComparePayments implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private timer: NodeJS.Timeout | null = null;

  constructor(
    private readonly prisma: PrismaService,
    private readonly payments: PaymentRepository,
    private readonly accounts: ProviderAccounts,
    private readonly clients: ProviderClients,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  onApplicationBootstrap(): void {
    this.timer = setInterval(() => {
      this.compare(AFTER_MINUTES).catch((error: unknown) => this.logger.warn({ err: error }, 'payments: not compared'));
    }, LOOK_EVERY_MS);
    this.timer.unref();
  }

  beforeApplicationShutdown(): void {
    if (this.timer) clearInterval(this.timer);
  }

  /** @returns how many were compared */
  async compare(afterMinutes: number): Promise<number> {
    const rows = await this.prisma.$queryRaw<{ id: string }[]>`
      SELECT id FROM payments
       WHERE compared_at IS NULL AND state_since < now() - make_interval(mins => ${afterMinutes}::int4)
         AND state IN ('captured', 'voided', 'refunded', 'declined', 'expired', 'cancelled')
       ORDER BY state_since LIMIT ${AT_ONCE}::int4`;
    for (const { id } of rows) await this.compareOne(id);
    return rows.length;
  }

  private async compareOne(id: string): Promise<void> {
    const facts = await this.payments.readFacts(id);
    const account = facts && (await this.accounts.open(facts.account_id));
    if (!facts || !account) return;
    const isByThem = facts.flow === 'inbound' && facts.provider === 'payme';
    // Payme's own payments are known only from its calls: its cabinet compares them by GetStatement.
    const outcome = isByThem ? null : await this.clients.of(account).fetchStatus?.(refOf(facts));
    if (outcome && outcome.kind !== 'status') return;
    const discrepancy = outcome ? differenceOf(facts, outcome) : null;
    await this.prisma.$executeRaw`
      UPDATE payments SET compared_at = now(), discrepancy = ${discrepancy && JSON.stringify(discrepancy)}::jsonb
       WHERE id = ${id} AND state = ${facts.state}::payment_state`;
    if (discrepancy) this.logger.error({ payment_id: id, discrepancy }, 'payments: the provider says something else');
  }
}

function differenceOf(facts: PaymentFacts, outcome: Extract<CallOutcome, { kind: 'status' }>) {
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
