// Promise: a rule for payments is sent as it was typed, in whole tiyin and hundredths of a percent.
import { draftOf, NEW_RULE, ruleOf } from './routing-draft.js';

describe('a rule of the routing', () => {
  it.each(['en', 'ru'])('comes back as it was typed in %s', (language) => {
    const rule = {
      provider: 'payme' as const,
      amount_min: 100_050,
      amount_max: 500_000_000,
      card_ranges: ['8600', '9860'],
      cost_basis_points: 125,
      cost_fixed: 30_000,
    };
    const draft = draftOf(rule, language);
    expect(draft).toEqual({
      provider: 'payme',
      least: language === 'en' ? '1000.50' : '1000,50',
      most: '5000000',
      cards: '8600, 9860',
      percent: language === 'en' ? '1.25' : '1,25',
      fixed: '300',
    });
    expect(ruleOf(draft)).toEqual({ rule });
  });

  it('leaves out what was not typed', () => {
    expect(ruleOf({ ...NEW_RULE, provider: 'uzum' })).toEqual({ rule: { provider: 'uzum' } });
  });

  it.each(['least', 'most', 'percent', 'fixed'] as const)('names %s where it holds no number', (field) => {
    expect(ruleOf({ ...NEW_RULE, provider: 'click', [field]: '1,234' })).toEqual({ wrong: field });
  });

  it('reads a comma as the mark of hundredths', () => {
    expect(ruleOf({ ...NEW_RULE, provider: 'click', percent: '0,5' })).toEqual({
      rule: { provider: 'click', cost_basis_points: 50 },
    });
  });
});
