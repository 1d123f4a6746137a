// Promise: a merchant alone waits for its connections as it would for the pool's; however many wait, one with few calls is not refused for them.
import type { ReleaseSlot } from '#runtime';
import { ShareBusy, SharedConnections, ShareSpent } from './shared-connections.js';

const CONNECTIONS = 10;
const TIMEOUT_MS = 3_000;
const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function shared(): SharedConnections {
  const connections = SharedConnections.of(CONNECTIONS, TIMEOUT_MS);
  if (!connections) throw new Error('the pool is too small to be shared');
  return connections;
}

test('400 calls of one merchant at once, each of which begins with two statements: none is refused', async () => {
  const connections = shared();
  const statement = async (share: { name: string; hasBegun: boolean }): Promise<void> => {
    const release = await connections.take(share);
    await nextTurn();
    release();
  };
  const call = (): Promise<unknown> => {
    const share = { name: 'bank', hasBegun: false };
    return Promise.all([statement(share), statement(share)]);
  };
  await expect(Promise.all(Array.from({ length: 400 }, call))).resolves.toHaveLength(400);
  expect(connections.waiting).toBe(0);
});

test('four that flood, each with 300 calls that hang: those of another are not refused for them, and have their turn', async () => {
  const connections = shared();
  const begin = (name: string): Promise<ReleaseSlot> => connections.take({ name, hasBegun: false });
  const held: ReleaseSlot[] = [];
  for (let turn = 0; turn < 300; turn += 1)
    for (const name of ['a', 'b', 'c', 'd'])
      void begin(name).then(
        (release) => held.push(release),
        () => undefined,
      );
  await nextTurn();
  const calm = Array.from({ length: 3 }, async () => (await begin('calm'))());
  // Those that hang end, and the next ones hang as well.
  for (let round = 0; round < 2; round += 1) {
    for (const release of held.splice(0)) release();
    await nextTurn();
  }
  await expect(Promise.all(calm)).resolves.toHaveLength(3);
  while (connections.waiting > 0 || held.length > 0) {
    for (const release of held.splice(0)) release();
    await nextTurn();
  }
});

test('a thousand addresses that hang have half the connections together, and one of them half of that', async () => {
  const connections = shared();
  const held: ReleaseSlot[] = [];
  const open = (name: string): void =>
    void connections.take({ name, within: 'open', hasBegun: false }).then(
      (release) => held.push(release),
      () => undefined,
    );
  for (let call = 0; call < 10; call += 1) open('one');
  await nextTurn();
  expect(held).toHaveLength(3);
  for (let address = 0; address < 1_000; address += 1) open(`address ${address}`);
  await nextTurn();
  expect(held).toHaveLength(CONNECTIONS / 2);
  const calm = [1, 2, 3].map(() => connections.take({ name: 'merchant', hasBegun: false }));
  held.push(...(await Promise.all(calm)));
  expect(held).toHaveLength(CONNECTIONS / 2 + 3);
  while (held.length > 0) {
    for (const release of held.splice(0)) release();
    await nextTurn();
  }
  expect(connections.waiting).toBe(0);
});

test('an address whose part waits in vain for a connection was refused before it began', async () => {
  const connections = SharedConnections.of(CONNECTIONS, 50)!;
  const whole = ['a', 'a', 'a', 'a', 'a', 'b', 'b', 'b', 'c'].map((name) =>
    connections.take({ name, hasBegun: false }),
  );
  const held = await Promise.all(whole);
  const address = { name: 'address', within: 'open', hasBegun: false };
  await expect(connections.take(address)).rejects.toThrow(ShareSpent);
  expect(address.hasBegun).toBe(false);
  for (const release of held) release();
});

test('what has begun goes on before what is to begin', async () => {
  const connections = shared();
  const begun = { name: 'a', hasBegun: false };
  (await connections.take(begun))();
  const held = await Promise.all(Array.from({ length: 5 }, () => connections.take({ name: 'a', hasBegun: false })));
  const order: string[] = [];
  const turn = async (which: string, call: { name: string; hasBegun: boolean }): Promise<void> => {
    const release = await connections.take(call);
    order.push(which);
    release();
  };
  const turns = [turn('is to begin', { name: 'a', hasBegun: false }), turn('has begun', begun)];
  for (const release of held.splice(0, 1)) release();
  await Promise.all(turns);
  expect(order).toEqual(['has begun', 'is to begin']);
  for (const release of held) release();
});

test.each([
  ['reads: nothing was done', true, ShareSpent],
  ['may have written', false, ShareBusy],
])('a call that had begun waits in vain for its own share and %s', async (_what, isRead, refusal) => {
  const connections = SharedConnections.of(CONNECTIONS, 50)!;
  const call = { name: 'a', hasBegun: false, isRead };
  (await connections.take(call))();
  const held = await Promise.all(Array.from({ length: 5 }, () => connections.take({ name: 'a', hasBegun: false })));
  await expect(connections.take(call)).rejects.toThrow(refusal);
  for (const release of held) release();
});
