/** Promise at stake: a burst of receipts for one device costs one job, and none of them is left without a wake-up. */
import fc from 'fast-check';
import { PendingRings } from './pending-rings.js';

test('rings for one device are one entry, taken in the order of the first ring', () => {
  const rings = new PendingRings(10);
  for (const deviceId of ['a', 'b', 'a', 'a', 'c', 'b']) expect(rings.ring(deviceId)).toBe(true);
  expect([rings.take(), rings.take(), rings.take(), rings.take()]).toEqual(['a', 'b', 'c', undefined]);
});

test('rings during an add lead to exactly one more add after it', () => {
  const rings = new PendingRings(10);
  rings.ring('a');
  expect(rings.take()).toBe('a');
  for (let i = 0; i < 100; i += 1) rings.ring('a');
  expect(rings.take()).toBeUndefined();
  rings.settle('a', true);
  expect(rings.take()).toBe('a');
  rings.settle('a', true);
  expect(rings.take()).toBeUndefined();
});

test('an add that failed waits again', () => {
  const rings = new PendingRings(10);
  rings.ring('a');
  rings.take();
  rings.settle('a', false);
  expect(rings.waitingCount).toBe(1);
  expect(rings.take()).toBe('a');
});

test('a full set drops new devices and says so, but keeps taking rings of those that wait', () => {
  const rings = new PendingRings(2);
  expect([rings.ring('a'), rings.ring('b'), rings.ring('c'), rings.ring('a')]).toEqual([true, true, false, true]);
  expect(rings.waitingCount).toBe(2);
});

test('whatever happens: never two adds of one device at once, and every ring is followed by the start of an add', () => {
  const step = fc.oneof(
    fc.record({ do: fc.constant('ring' as const), device: fc.constantFrom('a', 'b', 'c') }),
    fc.record({ do: fc.constant('take' as const) }),
    fc.record({ do: fc.constant('settle' as const), added: fc.boolean() }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const rings = new PendingRings(10);
      const inFlight: string[] = [];
      const unrung = new Set<string>();
      const take = (): void => {
        const device = rings.take();
        if (device === undefined) return;
        expect(inFlight).not.toContain(device);
        inFlight.push(device);
        unrung.delete(device);
      };
      const settle = (added: boolean): void => {
        const device = inFlight.shift();
        if (device === undefined) return;
        if (!added) unrung.add(device);
        rings.settle(device, added);
      };
      for (const each of steps) {
        if (each.do === 'ring' && rings.ring(each.device)) unrung.add(each.device);
        if (each.do === 'take') take();
        if (each.do === 'settle') settle(each.added);
      }
      for (let i = 0; i < 20; i += 1) {
        take();
        settle(true);
      }
      expect([...unrung]).toEqual([]);
      expect(rings.waitingCount + rings.inFlightCount).toBe(0);
    }),
  );
});
