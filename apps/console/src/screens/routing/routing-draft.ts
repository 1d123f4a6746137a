import type { Schema } from '../../api/api.js';
import { parseSom, tiyinToInput } from '../../format/money.js';
import { listOf } from '../../ui/typed-list.js';

export type Provider = Schema<'ProviderRuleBody'>['provider'];

/** One rule as it is typed: sums in so‘m, the commission in percent. */
export interface RuleDraft {
  provider: Provider;
  least: string;
  most: string;
  /** First digits of cards, with commas. */
  cards: string;
  percent: string;
  fixed: string;
}

export const NEW_RULE: Omit<RuleDraft, 'provider'> = { least: '', most: '', cards: '', percent: '', fixed: '' };

/** Where a field of the form stands in the body. */
export const FIELD_OF = {
  least: 'amount_min',
  most: 'amount_max',
  cards: 'card_ranges',
  percent: 'cost_basis_points',
  fixed: 'cost_fixed',
} as const;

export function draftOf(rule: Schema<'ProviderRule'>, language: string): RuleDraft {
  const sum = (tiyin: number | undefined): string => (tiyin === undefined ? '' : tiyinToInput(tiyin, language));
  return {
    provider: rule.provider,
    least: sum(rule.amount_min),
    most: sum(rule.amount_max),
    cards: rule.card_ranges?.join(', ') ?? '',
    // Hundredths of a percent are written as tiyin of a so‘m are.
    percent: sum(rule.cost_basis_points),
    fixed: sum(rule.cost_fixed),
  };
}

/** @returns the rule; or the field that holds no number */
export function ruleOf(draft: RuleDraft): { rule: Schema<'ProviderRuleBody'> } | { wrong: keyof typeof FIELD_OF } {
  const rule: Schema<'ProviderRuleBody'> = { provider: draft.provider };
  for (const field of ['least', 'most', 'percent', 'fixed'] as const) {
    const text = draft[field].trim();
    if (text === '') continue;
    const value = parseSom(text);
    if (value === null) return { wrong: field };
    rule[FIELD_OF[field]] = value;
  }
  const cards = listOf(draft.cards);
  if (cards.length > 0) rule.card_ranges = cards;
  return { rule };
}
