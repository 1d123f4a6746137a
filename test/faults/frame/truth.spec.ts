// Promise: the fault suite sees a document that stands before one whose client had been answered earlier.
import { countWrongOrder } from './truth.js';

type Sold = Parameters<typeof countWrongOrder>[0][number];
type Documents = Parameters<typeof countWrongOrder>[1];

const sale = (marker: string, startedMs: number, answeredMs: number): Sold =>
  ({ marker, startedMs, answeredMs }) as unknown as Sold;

const documents = (...seqs: [marker: string, terminal: string, seq: number][]): Documents =>
  new Map(
    seqs.map(([marker, terminal_id, seq]) => [
      marker,
      [{ terminal_id, seq, type: 'sale', fiscal_sign: '', items: [{ name: marker }] }],
    ]),
  );

test.each([
  ['one after the other', [sale('a', 0, 10), sale('b', 20, 30)], documents(['a', 'T', 1], ['b', 'T', 2]), 0],
  ['swapped', [sale('a', 0, 10), sale('b', 20, 30)], documents(['a', 'T', 2], ['b', 'T', 1]), 1],
  ['swapped, but side by side', [sale('a', 0, 25), sale('b', 20, 30)], documents(['a', 'T', 2], ['b', 'T', 1]), 0],
  ['swapped between registers', [sale('a', 0, 10), sale('b', 20, 30)], documents(['a', 'T', 2], ['b', 'U', 1]), 0],
  [
    'the first comes last: two stand before it that should not',
    [sale('a', 0, 10), sale('b', 20, 30), sale('c', 40, 50)],
    documents(['a', 'T', 3], ['b', 'T', 1], ['c', 'T', 2]),
    2,
  ],
  ['without a document', [sale('a', 0, 10), sale('b', 20, 30)], documents(['b', 'T', 1]), 0],
] as const)('%s', (_name, sold, byMarker, wrong) => {
  expect(countWrongOrder(sold, byMarker)).toBe(wrong);
});
