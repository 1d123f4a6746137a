// Promise: whatever the register refuses by an E-rule is refused with that code, that field and in that order; nothing else is.
import fc from 'fast-check';
import { LOCAL_RULES } from './local-api.js';
import { checkLocalReceipt, type GoodsLookup } from './local-receipt-rules.js';
import { MAX_TIYIN } from './money.js';
import {
  BREAD,
  CARD_ONLY,
  check,
  codes,
  codesAt,
  GOODS,
  item,
  marked,
  ofItem,
  OLD,
  receipt,
  refundInfo,
  WATER,
  type Fields,
} from './testing/rule-receipts.js';
import type { VatRule } from './vat.js';

const BAD_NUMBERS: unknown[] = ['1', null, undefined, {}, [], true, 1.5, MAX_TIYIN + 1, 1e300, -1.5];

test('a plain sale has no violation', () => {
  expect(check(receipt())).toEqual([]);
});

test('of more than 500 items none is checked, whatever else is wrong', () => {
  const asked: string[] = [];
  const find: GoodsLookup = (spic) => {
    asked.push(spic);
    return GOODS.get(spic);
  };
  const bad = { items: Array.from({ length: 501 }, () => item({ name: '', price: 0 })), received: null };
  expect(checkLocalReceipt(receipt(bad), find, 'unit')).toEqual([]);
  expect(checkLocalReceipt(receipt({ ...bad, type: 'return' }), find, 'unit')).toMatchObject([{ code: 'E-005' }]);
  expect(asked).toEqual([]);
  const first = checkLocalReceipt(receipt({ ...bad, items: bad.items.slice(1) }), find, 'unit')[0];
  expect(first).toMatchObject({ code: 'E-011', itemIndex: 0 });
});

describe('the receipt', () => {
  test.each(['sale', 'advance', 'credit'])('E-005: %s is a type', (type) => {
    expect(codes(receipt({ type }))).toEqual([]);
  });

  test.each([undefined, null, '', 'SALE', 'return', 1, {}, ['sale'], 'constructor'])('E-005: %p is none', (type) => {
    expect(codesAt(receipt({ type }))).toEqual(['E-005 - type']);
  });

  test.each([undefined, null, [], {}, 'items', 3])('E-006: items %p', (items) => {
    expect(codesAt(receipt({ items }))).toEqual(['E-006 - items']);
  });

  test('E-007: a refund with the whole refundInfo passes', () => {
    expect(codes(receipt({ type: 'refund', refundInfo }))).toEqual([]);
  });

  test.each([undefined, null, 'x', 5, []])('E-007: refundInfo %p', (info) => {
    expect(codesAt(receipt({ type: 'refund', refundInfo: info }))).toEqual(['E-007 - refundInfo']);
  });

  test.each<[string, unknown]>([
    ['terminalId', ''],
    ['terminalId', 5],
    ['receiptSeq', '7'],
    ['receiptSeq', 0],
    ['receiptSeq', 1.5],
    ['dateTime', '20261120111200'],
    ['dateTime', '2026-11-20 11:12:00'],
    ['dateTime', 20261120],
    ['fiscalSign', undefined],
    ['fiscalSign', 123456789012],
  ])('E-007: refundInfo.%s %p', (field, value) => {
    const body = receipt({ type: 'refund', refundInfo: { ...refundInfo, [field]: value } });
    expect(codesAt(body)).toEqual([`E-007 - refundInfo.${field}`]);
  });

  test('E-007: refundInfo of anything but a refund is ignored', () => {
    expect(codes(receipt({ refundInfo: 'nonsense' }))).toEqual([]);
  });
});

describe('an item', () => {
  test.each(['', '  ', '\u00a0', '\u0007', '\u001d \t', '\u0085', undefined, null, 5, {}, ['Bread']])(
    'E-011: name %p',
    (name) => {
      expect(codesAt(ofItem({ name }))).toEqual(['E-011 0 name']);
    },
  );

  test.each([0, -0, -1, ...BAD_NUMBERS])('E-012: price %p', (price) => {
    expect(codesAt(ofItem({ price }))).toEqual(['E-012 0 price']);
  });

  test('E-012: 1 tiyin and 2^53 − 1 are prices', () => {
    const vat = 965_057_063_007_963;
    expect(codes(receipt({ items: [item({ price: 1, vat: 0 })], received: { cash: 1, card: 0 } }))).toEqual([]);
    expect(codes(receipt({ items: [item({ price: MAX_TIYIN, vat })] }))).toEqual([]);
  });

  test.each(['', '99999999999999999', undefined, null, 1905001001000000, {}, ['x'], '__proto__', 'constructor'])(
    'E-013: spic %p',
    (spic) => {
      expect(codesAt(ofItem({ spic }))).toEqual(['E-013 0 spic']);
    },
  );

  test('E-013: a code no longer in force can be refunded, not sold', () => {
    expect(codesAt(ofItem({ spic: OLD }))).toEqual(['E-013 0 spic']);
    expect(codes(receipt({ type: 'refund', refundInfo, items: [item({ spic: OLD })] }))).toEqual([]);
  });

  test.each(['9999', '', 1000, {}, ['1000'], true])('E-014: packageCode %p', (packageCode) => {
    expect(codesAt(ofItem({ packageCode }))).toEqual(['E-014 0 packageCode']);
  });

  test.each(['1001', undefined, null])('E-014: packageCode %p passes', (packageCode) => {
    expect(codes(ofItem({ packageCode }))).toEqual([]);
  });

  test('E-014 is silent beside E-013: without the code there is no list of packages', () => {
    expect(codes(ofItem({ spic: 'unknown', packageCode: '9999' }))).toEqual(['E-013']);
  });

  test.each(['12', 12.5, 15, -12, null, undefined, {}, [12], true])('E-015: vatPercent %p', (vatPercent) => {
    expect(codesAt(ofItem({ vatPercent }))).toEqual(['E-015 0 vatPercent']);
  });

  test.each(BAD_NUMBERS)('E-016: vat %p', (vat) => {
    expect(codesAt(ofItem({ vat }))).toEqual(['E-016 0 vat']);
  });
});

describe('E-016: ±100 passes, ±101 does not', () => {
  // 3 pieces at 100 000 less 250 000: the bases are 100 000, 300 000 and 50 000.
  const line = { price: 100_000, amount: 3000, discount: 250_000 };
  const received = { cash: 0, card: 50_000 };
  const expected: [VatRule, number][] = [
    ['unit', 10_714],
    ['line', 32_143],
    ['line-net', 5_357],
  ];
  const cases = expected.flatMap(([rule, vat]) => [-101, -100, 0, 100, 101].map((off) => [rule, vat, off] as const));

  test.each(cases)('%s: %p %p', (rule, vat, off) => {
    const body = receipt({ items: [item({ ...line, vat: vat + off })], received });
    expect(codes(body, rule)).toEqual(Math.abs(off) > 100 ? ['E-016'] : []);
  });

  test.each([
    ['unit', 100, []],
    ['line', 101, ['E-016']],
    ['line-net', -101, ['E-016']],
  ] as const)('%s: zero-rated, vat %p', (rule, vat, violations) => {
    expect(codes(receipt({ items: [item({ ...line, vatPercent: 0, vat })], received }), rule)).toEqual(violations);
  });

  test('a vat without a computable base is left to the field that is to blame', () => {
    expect(codes(ofItem({ price: 0, vat: 5_000_000 }))).toEqual(['E-012']);
    expect(codes(ofItem({ amount: 'x', vat: 1 }), 'line')).toEqual([]);
    expect(codes(ofItem({ discount: 2_000_001, vat: 1 }), 'line-net')).toEqual([]);
    expect(codes(ofItem({ price: MAX_TIYIN, amount: 2000, vat: 1 }), 'line')).toEqual([]);
  });

  test('a bad amount does not hide a bad vat where only the unit price counts', () => {
    expect(codes(ofItem({ amount: 'x', vat: 1 }))).toEqual(['E-016']);
  });
});

test('a name with anything else in it is one', () => {
  for (const name of ['\u0007Bread', '\u001d1', '·']) expect(codes(ofItem({ name }))).toEqual([]);
});

describe('payment', () => {
  test.each<[number, number, string[]]>([
    [0, 0, []],
    [2_000_000, 0, []],
    [0, 1_999_999, []],
    [1_000_000, 1_000_100, []],
    [0, 2_000_100, []],
    [0, 2_000_101, ['E-009 - received']],
    [1_000_001, 1_000_100, ['E-009 - received']],
    [2_000_101, 0, ['E-009 - received']],
    [-1, 0, ['E-008 - received.cash']],
    [0, -1, ['E-008 - received.card']],
    [-100, 2_000_100, ['E-008 - received.cash']],
    [-5, -5, ['E-008 - received.cash', 'E-008 - received.card']],
    [MAX_TIYIN, MAX_TIYIN, ['E-009 - received']],
  ])('cash %p, card %p: %j', (cash, card, expected) => {
    expect(codesAt(receipt({ received: { cash, card } }))).toEqual(expected);
  });

  test('E-009: the total is the sum of the nets, half up', () => {
    const items = [
      item({ price: 104, amount: 300, vat: 11 }),
      item({ price: 1000, amount: 2000, discount: 500, vat: 107 }),
    ];
    expect(codes(receipt({ items, received: { cash: 0, card: 31 + 1500 + 100 } }))).toEqual([]);
    expect(codes(receipt({ items, received: { cash: 0, card: 31 + 1500 + 101 } }))).toEqual(['E-009']);
  });

  test('E-009: exact where the sums lie beyond 2^53', () => {
    const vat = 965_057_063_007_963;
    const items = [item({ price: MAX_TIYIN, vat }), item({ price: MAX_TIYIN - 101, vat })];
    expect(codes(receipt({ items, received: { cash: MAX_TIYIN, card: MAX_TIYIN - 1 } }))).toEqual([]);
    expect(codes(receipt({ items, received: { cash: MAX_TIYIN, card: MAX_TIYIN } }))).toEqual(['E-009']);
  });

  test.each(BAD_NUMBERS.filter((value) => value !== undefined && value !== null))(
    'E-008: a paid sum of %p',
    (value) => {
      expect(codesAt(receipt({ received: { cash: value, card: 0 } }))).toEqual(['E-008 - received.cash']);
      expect(codesAt(receipt({ received: { cash: 0, card: value } }))).toEqual(['E-008 - received.card']);
    },
  );

  test.each([undefined, null, 5, 'x', []])('E-008: received %p', (received) => {
    expect(codesAt(receipt({ received }))).toEqual(['E-008 - received']);
  });

  test('a part that is left out is 0', () => {
    expect(codes(receipt({ received: { card: 2_000_000 } }))).toEqual([]);
    expect(codes(receipt({ received: { cash: 2_000_000, card: null } }))).toEqual([]);
  });
});

describe('E-003: no cash for goods that may not be sold for cash', () => {
  const cash = { cash: 2_000_000, card: 0 };
  const card = { cash: 0, card: 2_000_000 };

  test.each<[string, Fields, string]>([
    ['by the classification register', { items: [item({ spic: CARD_ONLY })] }, 'E-003 0 received.cash'],
    ['cashSale in the body', { cashSale: 0 }, 'E-003 - received.cash'],
    ['cashSale in the item', { items: [item({ cashSale: 0 })] }, 'E-003 0 received.cash'],
  ])('%s', (_where, more, expected) => {
    expect(codesAt(receipt({ ...more, received: cash }))).toEqual([expected]);
    expect(codesAt(receipt({ ...more, received: { cash: 1, card: 1_999_999 } }))).toEqual([expected]);
    expect(codesAt(receipt({ ...more, received: card }))).toEqual([]);
  });

  test('cashSale in received', () => {
    expect(codesAt(receipt({ received: { ...cash, cashSale: 0 } }))).toEqual(['E-003 - received.cash']);
    expect(codesAt(receipt({ received: { ...card, cashSale: 0 } }))).toEqual([]);
  });

  test.each([1, null, '1', true, 'no', {}])('cashSale %p forbids nothing', (cashSale) => {
    expect(codes(receipt({ cashSale, received: cash }))).toEqual([]);
  });

  test('one violation per item, with its name', () => {
    const items = [item({ spic: CARD_ONLY, name: 'Phone' }), item(), item({ spic: CARD_ONLY, name: 'Laptop' })];
    const violations = check(receipt({ items, received: cash }));
    expect(violations.map(({ itemIndex, itemName }) => [itemIndex, itemName])).toEqual([
      [0, 'Phone'],
      [2, 'Laptop'],
    ]);
    expect(violations[1]?.message).toMatch(/^item 3: /);
  });
});

describe('E-010: totalVAT', () => {
  test.each([undefined, null, 214_286])('%p passes', (totalVAT) => {
    expect(codes(receipt({ totalVAT }))).toEqual([]);
  });

  test.each([214_285, 214_287, 0, '214286', 1e300, {}])('%p does not', (totalVAT) => {
    expect(codesAt(receipt({ totalVAT }))).toEqual(['E-010 - totalVAT']);
  });

  test('is silent when an item has no readable vat', () => {
    expect(codes(receipt({ items: [item(), item({ vat: 'x' })], totalVAT: 1 }))).toEqual(['E-016']);
  });
});

test('all violations come at once, in the documented order', () => {
  const wrong = item({ name: '', price: 0, spic: '', packageCode: 5, vatPercent: 1, vat: 'x' });
  const unmarked = marked({ label: '', amount: 10, cashSale: 0 });
  const body = { type: 'x', items: [wrong, unmarked], received: { cash: 1, card: -1 }, totalVAT: 5 };
  expect(codesAt(body)).toEqual([
    'E-005 - type',
    'E-011 0 name',
    'E-012 0 price',
    'E-013 0 spic',
    'E-014 0 packageCode',
    'E-015 0 vatPercent',
    'E-016 0 vat',
    'E-004 1 labels',
    'E-018 1 amount',
    'E-008 - received.card',
    'E-003 1 received.cash',
  ]);
});

test('payment violations come as E-008, E-009, E-003, E-010', () => {
  const body = receipt({ cashSale: 0, received: { cash: 9_000_000, card: -1 }, totalVAT: 1 });
  expect(codes(body)).toEqual(['E-008', 'E-009', 'E-003', 'E-010']);
});

test('a violation names rule, item, field, value and figures', () => {
  expect(check(receipt({ items: [item(), item({ price: -5, name: 'Milk' })] }))).toEqual([
    {
      code: 'E-012',
      rule: LOCAL_RULES['E-012'],
      message: 'item 2: price must be a whole number of tiyin above 0',
      itemIndex: 1,
      itemName: 'Milk',
      field: 'price',
      value: -5,
      facts: { given: -5, allowed: '> 0', reason: null },
    },
  ]);
});

describe('hostile input', () => {
  test.each([undefined, null, 5, 'x', [], [[]], true])('%p as a body gives codes, not exceptions', (body) => {
    expect(codes(body)).toEqual(['E-005', 'E-006', 'E-008']);
  });

  test.each([null, 5, 'x', [], undefined])('%p as an item gives the codes of its missing fields', (value) => {
    expect(codes(receipt({ items: [value] }))).toEqual(['E-011', 'E-012', 'E-013', 'E-015', 'E-016']);
  });

  test('no parsed JSON makes it throw, under any rule', () => {
    const value = fc.oneof(
      fc.jsonValue(),
      fc.constantFrom<unknown>(0, -0, 1000, MAX_TIYIN, 1e300, BREAD, WATER, 'sale', 'refund', 12, ['L1'], {}),
    );
    const keys = Object.keys({ ...item(), label: 0, labels: 0, discount: 0, cashSale: 0 });
    const anyItem = fc.dictionary(fc.constantFrom(...keys), value);
    const body = fc.record(
      {
        type: value,
        items: fc.oneof(value, fc.array(fc.oneof(anyItem, value), { maxLength: 4 })),
        received: fc.oneof(value, fc.dictionary(fc.constantFrom('cash', 'card', 'cashSale'), value)),
        refundInfo: value,
        totalVAT: value,
        cashSale: value,
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(body, fc.constantFrom<VatRule>('unit', 'line', 'line-net'), (request, rule) => {
        for (const violation of check(request, rule)) expect(violation.rule).not.toBe('');
      }),
      { numRuns: 500 },
    );
  });
});
