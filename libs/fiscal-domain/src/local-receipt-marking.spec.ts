// Promise: the register counts the marking codes of each piece (E-004, E-017, E-018), of marked goods and of others, and refuses nothing else for them.
import { codes, codesAt, item, marked, receipt, type Fields } from './testing/rule-receipts.js';

describe('marking', () => {
  const of = (more: Fields): Fields => receipt({ items: [marked(more)] });

  test.each<[Fields, string[]]>([
    [{}, []],
    [{ labels: ['L1'] }, []],
    [{ label: undefined, labels: ['L1'] }, []],
    [{ label: undefined, labels: ['L1', 'L2'], amount: 2000 }, []],
    [{ label: 'L1', labels: ['L1', 'L2'], amount: 2000 }, []],
    [{ label: 'L1\u001d93abcd' }, []],
    // The specification counts codes; that one names one piece alone is what the gateway asks (item-faults.ts).
    [{ labels: ['L1', 'L1'], amount: 2000 }, []],
    [{ label: undefined }, ['E-004 0 labels']],
    [{ label: '' }, ['E-004 0 labels']],
    [{ label: ' ', labels: [] }, ['E-004 0 labels']],
    [{ label: null, labels: [''] }, ['E-004 0 labels']],
    [{ label: 5, labels: 'L1' }, ['E-004 0 labels']],
    [{ label: undefined, labels: [1, null, {}] }, ['E-004 0 labels']],
    [{ label: undefined, labels: { length: 1, 0: 'L1' } }, ['E-004 0 labels']],
    [{ amount: 2000 }, ['E-017 0 labels']],
    [{ labels: ['L1', 'L2'] }, ['E-017 0 labels']],
    [{ labels: ['L1'], amount: 2000 }, ['E-017 0 labels']],
    [{ labels: ['L1', ''], amount: 2000 }, ['E-017 0 labels']],
    [{ labels: ['L1', ''] }, ['E-017 0 labels']],
    [{ labels: [' ', 'L1', ''] }, ['E-017 0 labels']],
    [{ label: 'L1', labels: ['', ''] }, []],
    [{ amount: 1001 }, ['E-017 0 labels']],
    [{ amount: 1500 }, ['E-017 0 labels']],
    [{ amount: 999 }, ['E-018 0 amount', 'E-017 0 labels']],
    [{ amount: 0 }, ['E-018 0 amount', 'E-017 0 labels']],
    [{ amount: -1000 }, ['E-018 0 amount', 'E-017 0 labels']],
    [{ amount: '1000' }, ['E-018 0 amount', 'E-017 0 labels']],
    [{ amount: 999, label: undefined }, ['E-004 0 labels', 'E-018 0 amount']],
  ])('marked goods, %j: %j', (more, expected) => {
    expect(codesAt(of({ ...more })).filter((text) => !text.startsWith('E-009'))).toEqual(expected);
  });

  test.each<[Fields, string[]]>([
    [{}, []],
    [{ amount: 500 }, []],
    [{ label: 'L1', amount: 500 }, []],
    [{ labels: [], amount: 500 }, []],
    [{ labels: ['L1'] }, []],
    [{ labels: ['L1'], amount: 2000 }, ['E-017']],
    [{ labels: ['L1', 'L2'] }, ['E-017']],
    [{ labels: ['L1', ''] }, ['E-017']],
    [{ labels: ['L1', ''], amount: 2000 }, ['E-017']],
    [{ labels: ['', ''] }, []],
  ])('other goods, %j: %j', (more, expected) => {
    expect(codes(receipt({ items: [item(more)], received: { cash: 0, card: 0 } }))).toEqual(expected);
  });
});
