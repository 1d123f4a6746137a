// Promise: the nearest healthy register with the least work gets the receipt; when none is, the likeliest to return.
import type { DeviceReading } from '#database';
import { firstFit, leastWork, likeliest, type Candidate } from './prefer-device.js';

const NOW = Date.parse('2026-03-01T12:00:00Z');
const HOUR_MS = 3_600_000;

function device(id: string, more: Partial<Omit<Candidate, 'work'>> & { work?: number } = {}): Candidate {
  const { work = 0, ...rest } = more;
  return { id, state: 'online', reading: null, lastSeenMs: NOW, ...rest, work: { receipts: work } };
}

function reading(more: Partial<DeviceReading>): DeviceReading {
  return {
    ...{
      terminalId: 'UZ1',
      receiptSeq: 1,
      unsentReceipts: 0,
      maxUnsentReceipts: 858,
      zReportsUsed: 1,
      zReportsMax: 832,
    },
    ...{ unsentZReports: 0, shift: null, subscriptionState: 'active', oldestUnsentAt: null },
    ...more,
  };
}

/** As ChooseDevice puts them together. */
function preferDevice(circles: Candidate[][], nowMs: number, turn: number): Candidate | undefined {
  const fit = circles.map((circle) => firstFit(circle, nowMs)).find((circle) => circle.length > 0);
  return leastWork(fit ?? likeliest(circles.flat(), nowMs), turn);
}

const chosen = (circles: Candidate[][], turn = 0): string | undefined => preferDevice(circles, NOW, turn)?.id;

test('the nearest circle with a healthy device, also when a farther one has less work', () => {
  expect(chosen([[device('own', { work: 50 })], [device('branch')]])).toBe('own');
  expect(chosen([[device('own', { state: 'unreachable' })], [device('default', { state: 'degraded' })]])).toBe(
    'default',
  );
  expect(chosen([[], [], [device('a', { state: 'blocked' })], [device('group')]])).toBe('group');
  expect(chosen([[], []])).toBeUndefined();
});

test('least work first, equals in turn', () => {
  const circle = [device('a', { work: 2 }), device('b', { work: 1 }), device('c', { work: 1 })];
  expect([0, 1, 2, 3].map((turn) => chosen([circle], turn))).toEqual(['b', 'c', 'b', 'c']);
});

test('a burst is spread evenly when each choice counts', () => {
  const circle = [device('a', { work: 10 }), device('b'), device('c')];
  for (let turn = 0; turn < 50; turn += 1) {
    const picked = preferDevice([circle], NOW, turn);
    if (picked) picked.work.receipts += 1;
  }
  expect(circle.map(({ work }) => work.receipts)).toEqual([20, 20, 20]);
});

test.each<[string, Partial<Omit<Candidate, 'work'>>]>([
  ['is full', { reading: reading({ unsentReceipts: 858 }) }],
  ['has counted its last shift', { reading: reading({ zReportsUsed: 832 }) }],
  ['is near the fuse', { reading: reading({ oldestUnsentAt: new Date(NOW - 40 * HOUR_MS).toISOString() }) }],
  ['has no subscription', { reading: reading({ subscriptionState: 'expired' }) }],
  ['is blocked', { state: 'blocked' }],
  ['is away', { state: 'unreachable' }],
])('one that %s is passed by', (_why, more) => {
  expect(chosen([[device('own', more)], [device('other', { work: 99 })]])).toBe('other');
});

test('a module that says no limits is not full, and an hour of waiting is no fuse', () => {
  const free = reading({ maxUnsentReceipts: 0, zReportsMax: 0, zReportsUsed: 5, unsentReceipts: 9 });
  expect(chosen([[device('own', { reading: free })], [device('other')]])).toBe('own');
  const young = reading({ oldestUnsentAt: new Date(NOW - HOUR_MS).toISOString() });
  expect(chosen([[device('own', { reading: young })], [device('other')]])).toBe('own');
});

test('when none is healthy: asleep before full before blocked before expired; who answered last; the shorter lane', () => {
  const asleep = device('asleep', { state: 'unreachable' });
  const full = device('full', { reading: reading({ unsentReceipts: 858 }) });
  const blocked = device('blocked', { state: 'blocked' });
  const expired = device('expired', { state: 'expired' });
  const all = [expired, blocked, full, asleep];
  const order: (string | undefined)[] = [];
  while (all.length > 0) {
    order.push(chosen([[], all]));
    all.pop();
  }
  expect(order).toEqual(['asleep', 'full', 'blocked', 'expired']);
  const away = (id: string, lastSeenMs: number | null, work = 0): Candidate =>
    device(id, { state: 'unreachable', lastSeenMs, work });
  expect(chosen([[away('long', NOW - HOUR_MS), away('just', NOW - 1_000, 9), away('never', null)]])).toBe('just');
  expect(chosen([[away('busy', NOW, 5), away('idle', NOW, 1)]])).toBe('idle');
});
