// Promise: the backlog of a register that is away is shared out by work, and no register is overloaded by it.
import { spreadReceipts, type MovableReceipt, type Target } from './spread-receipts.js';

const ids = (count: number): MovableReceipt[] =>
  Array.from({ length: count }, (_, index) => ({ id: `rcp_${index}`, needs: [] }));
const target = (deviceId: string, waiting = 0, isSameBranch = true): Target => ({
  ...{ deviceId, waiting, isSameBranch, takes: [] },
});

function counts(count: number, targets: Target[]): Record<string, number> {
  const result: Record<string, number> = {};
  for (const { deviceId } of spreadReceipts(ids(count), targets)) result[deviceId] = (result[deviceId] ?? 0) + 1;
  return result;
}

test('evenly over equals', () => {
  expect(counts(9, [target('a'), target('b'), target('c')])).toEqual({ a: 3, b: 3, c: 3 });
});

test('who has work already gets less', () => {
  expect(counts(10, [target('a', 8), target('b'), target('c', 2)])).toEqual({ b: 6, c: 4 });
});

test('the branch before the group, the group when the branch has no device', () => {
  expect(counts(4, [target('near', 100), target('far', 0, false)])).toEqual({ near: 4 });
  expect(counts(4, [target('far', 0, false), target('farther', 0, false)])).toEqual({ far: 2, farther: 2 });
});

test('order is kept, and without a target nothing moves', () => {
  expect(spreadReceipts(ids(3), [target('a')]).map(({ receiptId }) => receiptId)).toEqual(['rcp_0', 'rcp_1', 'rcp_2']);
  expect(spreadReceipts(ids(3), [])).toEqual([]);
});

test('a receipt goes only where what it must not lose is taken, else it stays; the others do not wait for it', () => {
  const targets = [target('plain'), { ...target('seller', 5), takes: ['commission'] as const }];
  const receipts: MovableReceipt[] = [
    { id: 'a', needs: ['commission'] },
    { id: 'b', needs: ['commission', 'customer'] },
    { id: 'c', needs: [] },
  ];
  expect(spreadReceipts(receipts, targets)).toEqual([
    { receiptId: 'a', deviceId: 'seller' },
    { receiptId: 'c', deviceId: 'plain' },
  ]);
  const far = { ...target('far', 9, false), takes: ['customer', 'commission'] as const };
  expect(spreadReceipts(receipts, [...targets, far])).toContainEqual({ receiptId: 'b', deviceId: 'far' });
});
