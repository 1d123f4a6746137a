// Promise: what goes back in cash and by card is what came, to the tiyin, and never more of either than was paid.
import fc from 'fast-check';
import { tiyin } from './money.js';
import { proportionalSplit, splitLeft, type PaymentSplit } from './refund-payment.js';

const split = (cash: number, card: number): PaymentSplit => ({ cashTiyin: tiyin(cash), cardTiyin: tiyin(card) });

test('in the proportion in which the sale was paid', () => {
  expect(proportionalSplit(split(300, 700), split(300, 700), tiyin(100))).toEqual(split(30, 70));
  expect(proportionalSplit(split(0, 700), split(0, 700), tiyin(100))).toEqual(split(0, 100));
  expect(proportionalSplit(split(700, 0), split(700, 0), tiyin(100))).toEqual(split(100, 0));
});

test('where one of the two is used up, the other one pays', () => {
  expect(proportionalSplit(split(500, 500), split(0, 400), tiyin(200))).toEqual(split(0, 200));
  expect(proportionalSplit(split(500, 500), split(450, 0), tiyin(200))).toEqual(split(200, 0));
});

test('more than was paid is a mistake of ours', () => {
  expect(() => proportionalSplit(split(5, 5), split(5, 5), tiyin(11))).toThrow(RangeError);
});

test('any sequence of refunds, also with a stated split, returns exactly both parts', () => {
  const money = fc.integer({ min: 0, max: 9_000_000_000_000 });
  const steps = fc.array(fc.record({ share: fc.double({ min: 0, max: 1, noNaN: true }), stated: fc.boolean() }), {
    maxLength: 10,
  });
  fc.assert(
    fc.property(money, money, steps, (cash, card, parts) => {
      const paid = split(cash, card);
      const returned: PaymentSplit[] = [];
      const left = (): PaymentSplit => splitLeft(paid, returned);
      const give = (totalTiyin: number, stated: boolean): void => {
        const { cashTiyin } = left();
        const inCash = Math.min(cashTiyin, totalTiyin);
        const isPossible = totalTiyin - inCash <= left().cardTiyin;
        const own = stated && isPossible ? split(inCash, totalTiyin - inCash) : null;
        returned.push(own ?? proportionalSplit(paid, left(), tiyin(totalTiyin)));
        expect(left().cashTiyin).toBeGreaterThanOrEqual(0);
        expect(left().cardTiyin).toBeGreaterThanOrEqual(0);
      };
      for (const { share, stated } of parts) give(Math.floor((left().cashTiyin + left().cardTiyin) * share), stated);
      give(left().cashTiyin + left().cardTiyin, false);
      expect(left()).toEqual(split(0, 0));
    }),
  );
});
