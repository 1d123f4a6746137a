import type { ProviderCode } from '../port.js';

/** One line of a merchant's rules for `provider: "auto"`: when a provider may be taken, and what it costs. */
export interface ProviderRule {
  readonly provider: ProviderCode;
  /** The sums for which it is meant, tiyin, bounds included. */
  readonly amount_min?: number;
  readonly amount_max?: number;
  /** The first digits of the cards for which it is meant. Without them it is meant for every card, and for an unknown one. */
  readonly card_ranges?: readonly string[];
  /** Its commission: hundredths of a percent of the sum, and tiyin for each payment. */
  readonly cost_basis_points?: number;
  readonly cost_fixed?: number;
}

export interface ProviderRules {
  /** `order`: the first rule that fits. `cost`: the cheapest; among equals the first. */
  readonly prefer: 'order' | 'cost';
  readonly rules: readonly ProviderRule[];
}

export interface RoutedSale {
  readonly amountTiyin: number;
  /** The first digits of the customer's card, where the caller knows them. */
  readonly cardRange: string | null;
}

const BASIS_POINTS = 10_000n;

/** What a provider keeps of this sum, rounded up. */
export function costOf({ cost_basis_points: points = 0, cost_fixed: fixed = 0 }: ProviderRule, tiyin: number): bigint {
  const share = BigInt(tiyin) * BigInt(points);
  return (share + BASIS_POINTS - 1n) / BASIS_POINTS + BigInt(fixed);
}

/** Why a rule is not for this sale; null: it is. */
export function unfitReason(rule: ProviderRule, { amountTiyin, cardRange }: RoutedSale): string | null {
  if (amountTiyin < (rule.amount_min ?? 0)) return `its rule begins at ${String(rule.amount_min)} tiyin`;
  if (amountTiyin > (rule.amount_max ?? Infinity)) return `its rule ends at ${String(rule.amount_max)} tiyin`;
  if (rule.card_ranges === undefined) return null;
  if (cardRange === null) return 'its rule names cards, and payment.card_range was not given';
  return rule.card_ranges.some((range) => cardRange.startsWith(range)) ? null : 'its rule is not for this card';
}

/** Providers for this sale, the best first, each once; and why the others are not among them. */
export interface RankedProviders {
  readonly providers: readonly ProviderCode[];
  readonly unfit: ReadonlyMap<ProviderCode, string>;
}

/**
 * One that does not answer stands behind all that do; it is not left out, since only a call can show that it answers again.
 * @param isDown whether a provider has not answered lately
 */
export function rankProviders(
  { prefer, rules }: ProviderRules,
  sale: RoutedSale,
  isDown: (provider: ProviderCode) => boolean,
): RankedProviders {
  const unfit = new Map<ProviderCode, string>();
  const fitting = rules.flatMap((rule, place) => {
    const reason = unfitReason(rule, sale);
    if (reason === null) return [{ rule, place, cost: costOf(rule, sale.amountTiyin), isDown: isDown(rule.provider) }];
    unfit.set(rule.provider, reason);
    return [];
  });
  const ranked = fitting.sort((a, b) => {
    if (a.isDown !== b.isDown) return a.isDown ? 1 : -1;
    if (prefer === 'cost' && a.cost !== b.cost) return a.cost < b.cost ? -1 : 1;
    return a.place - b.place;
  });
  const providers = [...new Set(ranked.map(({ rule }) => rule.provider))];
  for (const provider of providers) unfit.delete(provider);
  return { providers, unfit };
}
