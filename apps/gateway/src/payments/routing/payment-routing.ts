import { Injectable } from '@nestjs/common';
import { Prisma, SalesDatabase } from '#database';
import type { ProviderCode, ProviderRules } from '#payments';
import { AuditedChange } from '../../audit/audited-change.js';
import type { Caller } from '../../audit/caller.js';
import type { OpenAccount } from '../accounts/account-settings.js';
import { ProviderAccounts } from '../accounts/provider-accounts.js';
import { DOWN_SECONDS } from './provider-health.js';

/** As the API shows it. */
export interface RoutingView extends ProviderRules {
  /** Null: none were written; the accounts are taken in the order in which they were made. */
  updated_at: string | null;
}

export interface MerchantRoute {
  account: OpenAccount;
  /** It has not answered lately. */
  isDown: boolean;
}

/** Everything of a merchant that decides where a payment with `provider: "auto"` goes, except the sale. */
export interface MerchantRouting {
  rules: ProviderRules;
  routes: MerchantRoute[];
}

interface RoutingRow {
  rules: ProviderRules;
  updated_at: Date;
}

/** Which of a merchant's providers takes a payment that names none. Every change is on the audit trail. */
@Injectable()
export class PaymentRouting {
  constructor(
    private readonly prisma: SalesDatabase,
    private readonly changes: AuditedChange,
    private readonly accounts: ProviderAccounts,
  ) {}

  async find(merchantId: string): Promise<RoutingView> {
    const [row] = await this.prisma.$queryRaw<RoutingRow[]>`
      SELECT rules, updated_at FROM payment_routing WHERE merchant_id = ${merchantId}`;
    if (row) return viewOf(row);
    const live = await this.prisma.$queryRaw<{ provider: ProviderCode }[]>`
      SELECT provider FROM provider_accounts WHERE merchant_id = ${merchantId} AND disabled_at IS NULL ORDER BY id`;
    return { prefer: 'order', rules: live.map(({ provider }) => ({ provider })), updated_at: null };
  }

  replace(caller: Caller, rules: ProviderRules): Promise<RoutingView> {
    const { merchantId } = caller;
    return this.changes.execute(caller, async (tx) => {
      const [before] = await tx.$queryRaw<RoutingRow[]>`
        SELECT rules, updated_at FROM payment_routing WHERE merchant_id = ${merchantId} FOR UPDATE`;
      const [after] = await tx.$queryRaw<RoutingRow[]>`
        INSERT INTO payment_routing (merchant_id, rules) VALUES (${merchantId}, ${JSON.stringify(rules)}::jsonb)
        ON CONFLICT (merchant_id) DO UPDATE SET rules = excluded.rules, updated_at = now() RETURNING rules, updated_at`;
      if (!after) throw new Error('the rules were not written');
      const change = { before: before?.rules ?? null, after: after.rules };
      return { result: viewOf(after), action: 'payment_routing.replace', targetId: merchantId, ...change };
    });
  }

  /** Live accounts with their health, and the rules: read anew for each payment, by one statement. */
  async of(merchantId: string): Promise<MerchantRouting> {
    const rows = await this.prisma.queryHot<{ id: string; is_down: boolean; rules: ProviderRules | null }>(Prisma.sql`
      SELECT a.id, r.rules,
             coalesce(h.is_down AND h.failed_at > now() - make_interval(secs => ${DOWN_SECONDS}::int4), false) AS is_down
        FROM provider_accounts a
        LEFT JOIN provider_health h ON h.account_id = a.id
        LEFT JOIN payment_routing r ON r.merchant_id = a.merchant_id
       WHERE a.merchant_id = ${merchantId} AND a.disabled_at IS NULL ORDER BY a.id`);
    const routes: MerchantRoute[] = [];
    for (const { id, is_down: isDown } of rows) {
      const account = await this.accounts.open(id);
      if (account && !account.isDisabled) routes.push({ account, isDown });
    }
    const inOrder = { prefer: 'order' as const, rules: routes.map(({ account: { provider } }) => ({ provider })) };
    return { rules: rows[0]?.rules ?? inOrder, routes };
  }
}

function viewOf({ rules, updated_at: updatedAt }: RoutingRow): RoutingView {
  return { prefer: rules.prefer, rules: rules.rules, updated_at: updatedAt.toISOString() };
}
