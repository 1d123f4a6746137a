// Promise: a lane whose wake-ups are lost waits for no sweep per receipt, and no number of lanes becomes a storm of polls.
import { FollowedLanes } from './followed-lanes.js';

let nowMs: number;
let lanes: FollowedLanes;
/** `a1` = lane a, where receipt 1 is the first. */
const poll = (...due: string[]): string[] => {
  const polled = lanes.toPoll();
  const seen = due.map((text) => ({ deviceId: text.slice(0, 1), first: text.slice(1) }));
  return lanes.found(seen.filter(({ deviceId }) => polled.includes(deviceId)));
};

beforeEach(() => {
  nowMs = 0;
  lanes = new FollowedLanes(() => nowMs);
});

test('nothing is polled until a lane was found whose wake-up was lost', () => {
  expect(lanes.toPoll()).toEqual([]);
});

test('a followed lane is woken for each receipt, however closely one follows the other', () => {
  lanes.follow('a', 'mer_a');
  expect(poll()).toEqual([]);
  expect(poll('a1')).toEqual(['a']);
  expect(poll('a2')).toEqual(['a']);
  expect(poll()).toEqual([]);
  expect(poll('a3', 'b1')).toEqual(['a']);
});

test('a lane that is not got on with is left to the sweeper: no loop over what fails at once', () => {
  lanes.follow('a', 'mer_a');
  expect(poll('a1')).toEqual(['a']);
  expect(poll('a1')).toEqual([]);
  expect(lanes.size).toBe(0);
  lanes.follow('a', 'mer_a');
  expect(poll('a1')).toEqual(['a']);
  lanes.follow('a', 'mer_a');
  expect(poll('a1')).toEqual([]);
});

test('it ends half a minute after its last work, and at once when its bell rings', () => {
  lanes.follow('a', 'mer_a');
  nowMs = 20_000;
  expect(poll('a1')).toEqual(['a']);
  nowMs = 49_000;
  expect(lanes.toPoll()).toEqual(['a']);
  nowMs = 50_000;
  expect(lanes.toPoll()).toEqual([]);
  lanes.follow('a', 'mer_a');
  lanes.rang('a');
  expect(lanes.size).toBe(0);
});

test('of ten thousand forgotten lanes of one merchant four hundred are followed; which are followed are followed on', () => {
  for (let lane = 0; lane < 10_000; lane += 1) lanes.follow(`dev-${lane}`, 'mer_a');
  expect(lanes.size).toBe(400);
  nowMs = 29_000;
  lanes.follow('dev-7', 'mer_a');
  nowMs = 31_000;
  expect(lanes.toPoll()).toEqual(['dev-7']);
});

test('one lane each of a hundred other merchants is followed beside them, and not more than five hundred', () => {
  for (let lane = 0; lane < 1_000; lane += 1) lanes.follow(`dev-${lane}`, 'mer_a');
  for (let merchant = 0; merchant < 150; merchant += 1)
    for (const lane of [1, 2]) lanes.follow(`dev-${merchant}-${lane}`, `mer_${merchant}`);
  expect(lanes.size).toBe(500);
  expect(lanes.toPoll().filter((deviceId) => /^dev-\d+-1$/.test(deviceId))).toHaveLength(100);
  nowMs = 30_000;
  expect(lanes.toPoll()).toEqual([]);
  lanes.follow('a', 'mer_a');
  expect(lanes.toPoll()).toEqual(['a']);
});
