// Promise: what was sold can be taken back as it was sold, whatever the classification register has made of the goods since.
import { CARD_ONLY, codesAt, item, receipt, refundInfo, WATER, type Fields } from './testing/rule-receipts.js';

describe('a refund is not asked for what its goods became since the sale', () => {
  const refund = (more: Fields, received: Fields = { cash: 0, card: 0 }): Fields =>
    receipt({ type: 'refund', refundInfo, items: [item(more)], received });

  test.each<[string, Fields, string]>([
    ['marked', { spic: WATER }, 'E-004 0 labels'],
    ['marked, part of a piece', { spic: WATER, amount: 300 }, 'E-004 0 labels E-018 0 amount'],
    ['without the package', { packageCode: '9999' }, 'E-014 0 packageCode'],
    ['barred from cash', { spic: CARD_ONLY }, 'E-003 0 received.cash'],
  ])('%s', (_became, more, ofSale) => {
    const received = { cash: 100, card: 0 };
    expect(codesAt(receipt({ items: [item(more)], received })).join(' ')).toBe(ofSale);
    expect(codesAt(refund(more, received))).toEqual([]);
  });

  test.each<[string, Fields, string[]]>([
    ['fewer labels than pieces', { spic: WATER, labels: ['L1'], amount: 2000 }, ['E-017 0 labels']],
    ['a labelled part of a piece', { spic: WATER, labels: ['L1'], amount: 999 }, ['E-018 0 amount', 'E-017 0 labels']],
    ['a package that is no code', { packageCode: 1000 }, ['E-014 0 packageCode']],
    ['goods of no classification code', { spic: 'unknown' }, ['E-013 0 spic']],
  ])('but refused with %s, as a sale is', (_what, more, expected) => {
    expect(codesAt(refund(more))).toEqual(expected);
  });

  test('but refused in cash where the document itself forbids it', () => {
    expect(codesAt(refund({ cashSale: 0 }, { cash: 100, card: 0 }))).toEqual(['E-003 0 received.cash']);
  });
});
