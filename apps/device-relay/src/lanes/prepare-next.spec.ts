// Promise: what cannot be prepared at once costs the answer in hand nothing, and no connection.
import { DEFAULT_PROFILE, type Baseline } from '#fiscal-domain';
import { createLogger } from '#runtime';
import type { LaneInHand } from './lane-in-hand.js';
import { NewIntents } from './new-intents.js';
import { PrepareNext } from './prepare-next.js';
import { SendTurns } from './send-turns.js';
import { Chance } from './simulation/testing/chance.js';
import { documentOf } from './simulation/testing/documents.js';

const QUIET = createLogger('test', 'fatal', { write: () => undefined });
const BASELINE: Baseline = { terminalId: 'UZ1', journalId: 'jrn-1', sequence: 40, reading: null };
const RECEIPT = { id: 'rcp_1', document: documentOf('rcp_1', new Chance(1)), mayBeRegistered: false };

/** A lane whose register has a connection at once, or never. */
class Rig {
  nowMs = 0;
  connections = 0;
  abandoned = 0;
  isSlow = false;
  readonly turns = new SendTurns(QUIET);
  private readonly clock = { now: () => new Date(this.nowMs), monotonicMs: () => this.nowMs };
  readonly following = new PrepareNext(this.turns, new NewIntents(this.clock), this.clock, (_afterMs, run) => {
    if (this.isSlow) run();
    return () => undefined;
  });

  readonly lane = {
    device: { id: 'dev_1', profile: DEFAULT_PROFILE, takesFields: [] },
    baseline: BASELINE,
    laneLock: { isHeld: () => true },
    isStopping: () => false,
    prepareAtOnce: () => {
      this.connections += 1;
      const call = { send: () => Promise.reject(new Error('not sent here')), abandon: () => (this.abandoned += 1) };
      return this.isSlow ? new Promise(() => undefined) : Promise.resolve({ kind: 'ready', call });
    },
  } as unknown as LaneInHand;

  async prepares(): Promise<boolean> {
    const next = await this.following.prepare(this.lane, RECEIPT, BASELINE);
    next?.begun.turn.end('in_time');
    return next !== null;
  }
}

test('without a free turn no connection is opened; with one it is used', async () => {
  const rig = new Rig();
  rig.turns.takeNow()?.end('late');
  const turn = rig.turns.takeNow();
  expect([rig.turns.bound, await rig.prepares(), rig.connections]).toEqual([1, false, 0]);
  turn?.end('in_time');
  expect([await rig.prepares(), rig.connections, rig.abandoned]).toEqual([true, 1, 0]);
});

test('a turn that was taken for a connection that did not come is free again', async () => {
  const rig = new Rig();
  rig.turns.takeNow()?.end('late');
  rig.isSlow = true;
  expect([await rig.prepares(), rig.connections]).toEqual([false, 1]);
  expect(rig.turns.takeNow()).not.toBeNull();
});

test('a turn is free again where the connection failed', async () => {
  const rig = new Rig();
  rig.turns.takeNow()?.end('late');
  rig.lane.prepareAtOnce = () => Promise.reject(new Error('no such key'));
  expect(await rig.prepares()).toBe(false);
  expect(rig.turns.takeNow()).not.toBeNull();
});

test('a register without a connection at once is not waited for at each receipt, but again after a minute', async () => {
  const rig = new Rig();
  rig.isSlow = true;
  expect(await rig.prepares()).toBe(false);
  rig.isSlow = false;
  rig.nowMs = 59_000;
  expect([await rig.prepares(), rig.connections]).toEqual([false, 1]);
  rig.nowMs = 61_000;
  expect([await rig.prepares(), rig.connections]).toEqual([true, 2]);
});
