// Promise: a bell that rings while its lane is in hand is heard, also when the database fails before the lane is read again.
import { createLogger } from '#runtime';
import { LaneRunner } from './lane-runner.js';

const QUIET = createLogger('test', 'fatal', { write: () => undefined });

/** A drain that is under way until the test lets it come to its last read, which is `read`. */
function runnerWith(read: () => void): {
  runner: LaneRunner;
  rung: string[];
  begun: Promise<void>;
  finish: () => void;
} {
  const rung: string[] = [];
  let finish = (): void => undefined;
  let begin = (): void => undefined;
  const begun = new Promise<void>((resolve) => (begin = resolve));
  const held = new Promise<void>((resolve) => (finish = resolve));
  const drainLane: ConstructorParameters<typeof LaneRunner>[0] = {
    stop: () => undefined,
    drain: async (_deviceId, _place, beforeLastRead = () => undefined) => {
      begin();
      await held;
      beforeLastRead();
      read();
      return { kind: 'idle' };
    },
  };
  const merchants = { of: () => Promise.resolve('mer_a') };
  const bounds = { places: 2, aside: 1 };
  const runner = new LaneRunner(drainLane, merchants, (deviceId) => rung.push(deviceId), bounds, QUIET);
  return { runner, rung, begun, finish };
}

test.each([
  { what: 'the last read has seen it', read: () => undefined, rings: [] },
  { what: 'the last read fails', read: () => fail(), rings: ['dev_a'] },
])('rung while in hand, $what', async ({ read, rings }) => {
  const { runner, rung, begun, finish } = runnerWith(read);
  const first = runner.wake('dev_a');
  await begun;
  const second = runner.wake('dev_a');
  finish();
  await Promise.all([first, second]);
  await runner.stop();
  expect(rung).toEqual(rings);
});

function fail(): never {
  throw new Error('the database is away');
}
