// Promise: no key can take a bounded resource from the others, whatever it does, and no slot is lost or given twice.
import fc from 'fast-check';
import { FairSlots, type ReleaseSlot } from './fair-slots.js';

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('one key gets all but the reserved slots; the last one is for another', () => {
  const slots = new FairSlots({ total: 4 });
  const held = Array.from({ length: 6 }, () => slots.tryTake('greedy'));
  expect(held.filter(Boolean)).toHaveLength(3);
  expect(slots.tryTake('other')).not.toBeNull();
  expect(slots.tryTake('third')).toBeNull();
  held[0]?.();
  expect(slots.tryTake('greedy')).toBeNull();
  expect(slots.tryTake('third')).not.toBeNull();
});

test('a key may have a share of its own', () => {
  const slots = new FairSlots({ total: 10, perKey: 2 });
  expect([1, 2, 3].map(() => slots.tryTake('a') !== null)).toEqual([true, true, false]);
});

test('keys that wait are served in turn, callers of a key in their order', async () => {
  const slots = new FairSlots({ total: 2, reserved: 1, perKey: 2, waitingPerKey: 10 });
  const order: string[] = [];
  const inTurn = (key: string, name: string): void =>
    void slots.run(
      key,
      async () => {
        order.push(name);
        await settled();
      },
      () => new Error('refused'),
    );
  for (const name of ['a1', 'a2', 'a3', 'a4']) inTurn('a', name);
  for (const name of ['b1', 'b2']) inTurn('b', name);
  inTurn('c', 'c1');
  while (slots.held > 0) await settled();
  expect(order.slice(0, 2)).toEqual(['a1', 'b1']);
  expect(order.indexOf('c1')).toBeLessThan(order.indexOf('a3'));
  for (const key of ['a', 'b'])
    expect(order.filter((name) => name.startsWith(key))).toEqual(
      [...order].filter((name) => name.startsWith(key)).sort(),
    );
  expect(order).toHaveLength(7);
});

test('callers beyond those that may wait are refused, also while others are served', async () => {
  const slots = new FairSlots({ total: 2, waitingPerKey: 1 });
  const first = await slots.take('a');
  const second = slots.take('a');
  expect(second).not.toBeNull();
  expect(slots.take('a')).toBeNull();
  await expect(
    slots.run(
      'a',
      () => Promise.resolve(),
      () => new Error('busy'),
    ),
  ).rejects.toThrow('busy');
  first?.();
  first?.();
  (await second)?.();
  expect(slots.held).toBe(0);
});

test('what fails gives its slot back', async () => {
  const slots = new FairSlots({ total: 2 });
  const failing = (): Promise<void> =>
    slots.run(
      'a',
      () => Promise.reject(new Error('work')),
      () => new Error('refused'),
    );
  for (let tries = 0; tries < 5; tries += 1) await expect(failing()).rejects.toThrow('work');
  expect(slots.held).toBe(0);
});

test('the key that holds the fewest is next, until all hold the same; then in turn', async () => {
  const slots = new FairSlots({ total: 7, reserved: 1, waitingPerKey: 20 });
  const held: { key: string; release: ReleaseSlot }[] = [];
  const wait = (key: string): void => void slots.take(key)?.then((release) => held.push({ key, release }));
  const holdsOf = (key: string): number => held.filter((each) => each.key === key).length;
  for (let caller = 0; caller < 20; caller += 1) wait('a');
  await settled();
  for (let caller = 0; caller < 10; caller += 1) wait('b');
  await settled();
  expect([holdsOf('a'), holdsOf('b'), slots.waiting, slots.loadOf('a'), slots.loadOf('c')]).toEqual([6, 1, 23, 20, 0]);
  const shares: number[][] = [];
  for (let ended = 0; ended < 5; ended += 1) {
    held
      .splice(
        held.findIndex(({ key }) => key === 'a'),
        1,
      )[0]
      ?.release();
    await settled();
    shares.push([holdsOf('a'), holdsOf('b')]);
  }
  // The first that is free is kept for a key without one.
  expect(shares).toEqual([
    [5, 1],
    [4, 2],
    [3, 3],
    [3, 3],
    [3, 3],
  ]);
});

test('what had a slot and comes back is served before the new callers of its key, not before another key', async () => {
  const slots = new FairSlots({ total: 2, reserved: 0, perKey: 2, waitingPerKey: 5 });
  const [first, second] = [slots.tryTake('a'), slots.tryTake('a')];
  const order: string[] = [];
  const note = (name: string) => (release: ReleaseSlot) => (order.push(name), release);
  const fresh = slots.take('a')?.then(note('new of a'));
  const again = slots.takeAgain('a').then(note('again of a'));
  const other = slots.take('b')?.then(note('new of b'));
  first?.();
  (await other)?.();
  second?.();
  (await again)();
  (await fresh)?.();
  expect(order).toEqual(['new of b', 'again of a', 'new of a']);
  expect([slots.held, slots.waiting]).toEqual([0, 0]);
});

test('when as many wait as may, a key of which none waits may still have one', () => {
  const slots = new FairSlots({ total: 2, waitingPerKey: 100, waiting: 3 });
  slots.tryTake('a');
  slots.tryTake('b');
  expect(['a', 'a', 'a', 'a', 'b', 'b'].map((key) => slots.take(key) !== null)).toEqual([
    ...[true, true, true, false],
    ...[true, false],
  ]);
});

test('a slot can always be had by a key that has none, while fewer keys than slots are at work', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 2, max: 6 }),
      fc.array(fc.tuple(fc.integer({ min: 0, max: 3 }), fc.boolean(), fc.nat()), { maxLength: 60 }),
      async (total, steps) => {
        const slots = new FairSlots({ total, waitingPerKey: 5 });
        const held: { key: string; release: ReleaseSlot }[] = [];
        const waiting: Promise<unknown>[] = [];
        for (const [number, isTake, at] of steps) {
          const key = `k${number}`;
          if (isTake)
            waiting.push(Promise.resolve(slots.take(key)).then((release) => release && held.push({ key, release })));
          else if (held.length > 0) held.splice(at % held.length, 1)[0]?.release();
          await settled();
          expect(slots.held).toBe(held.length);
          expect(held.length).toBeLessThanOrEqual(total);
          const keys = new Set(held.map((each) => each.key));
          const newcomer = slots.tryTake('newcomer');
          if (keys.size < total && held.length < total) expect(newcomer).not.toBeNull();
          newcomer?.();
          await settled();
        }
        while (held.length > 0) {
          held.shift()?.release();
          await settled();
        }
        await Promise.all(waiting);
        expect(slots.held).toBe(0);
      },
    ),
    { numRuns: 60 },
  );
});
