// Promise: the register's rules read the classification register as it is exported.
import { toGoodsEntry } from './classifier.js';

test('cash_allowed, marked, active and the package codes', () => {
  const entry = {
    spic: '02202001001000001',
    name: { ru: 'Вода', uz: 'Suv', en: 'Water' },
    packages: [
      { code: '1000', name: 'bottle' },
      { code: '1001', name: 'box' },
    ],
    units: 796,
    marked: true,
    cash_allowed: false,
    vat_percents: [12],
    active: true,
    version: 3,
  };
  expect(toGoodsEntry(entry)).toEqual({ packages: ['1000', '1001'], marked: true, cashAllowed: false, active: true });
});
