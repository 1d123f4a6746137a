// Money on its way to a provider changes its unit and nothing else: no tiyin is lost or made by a float.
import fc from 'fast-check';
import { somToTiyin, tiyinToSom, tiyinToSomNumber } from './som.js';

const anySum = fc.integer({ min: 0, max: 10 ** 13 });

it('comes back as it went, as text and as a JSON number', () => {
  fc.assert(
    fc.property(anySum, (amount) => {
      expect(somToTiyin(tiyinToSom(amount))).toEqual({ kind: 'ok', tiyin: amount });
      expect(somToTiyin(JSON.parse(JSON.stringify(tiyinToSomNumber(amount))) as number)).toEqual({
        kind: 'ok',
        tiyin: amount,
      });
    }),
  );
});

it('a JSON number that holds no tiyin is not guessed: it is read exactly, or not at all', () => {
  const last = 2 ** 46 * 100;
  const near = fc.integer({ min: last - 10 ** 6, max: last + 10 ** 6 });
  fc.assert(
    fc.property(fc.oneof(fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }), near), (amount) => {
      const isExact = amount < last || amount % 100 === 0;
      expect(somToTiyin(JSON.parse(tiyinToSom(amount)) as number)).toEqual(
        isExact ? { kind: 'ok', tiyin: amount } : { kind: 'unreadable' },
      );
    }),
  );
});

it.each([
  ['1000', 100_000],
  ['1000.0', 100_000],
  ['1000.00', 100_000],
  ['0.29', 29],
  ['1.10', 110],
  ['1.1000', 110],
])('reads %s som', (som, tiyin) => {
  expect(somToTiyin(som)).toEqual({ kind: 'ok', tiyin });
});

it.each(['', '-1', '1e3', '1.001', '1,00', ' 1', '0x10', '1.', 'NaN', '999999999999999'])('refuses %j', (som) => {
  expect(somToTiyin(som)).toEqual({ kind: 'unreadable' });
});
