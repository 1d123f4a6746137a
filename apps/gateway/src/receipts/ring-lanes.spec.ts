// Promise: a receipt's lane is rung, at once or with the end of the receipt before it, whatever news is lost.
import { RingLanes } from './ring-lanes.js';
import { WakeLanes } from './wake-lanes.js';

const [TILL, OTHER] = ['dev_till', 'dev_other'];

function stage(): {
  lanes: RingLanes;
  rung: string[];
  settle: (receiptId: string) => void;
  news: { isListening: boolean };
  pass: (ms: number) => void;
} {
  const rung: string[] = [];
  const listeners: ((receiptId: string) => void)[] = [];
  const news = {
    isListening: true,
    onSettled: (listener: (receiptId: string) => void) => void listeners.push(listener),
  };
  let nowMs = 0;
  const clock = { now: () => new Date(nowMs), monotonicMs: () => nowMs };
  const ring = (deviceId: string): void => void rung.push(deviceId);
  const noRelayIsAwake = new WakeLanes({ notify: fail, ring, isListening: () => true });
  const lanes = new RingLanes({ ring }, noRelayIsAwake, news, clock);
  lanes.onApplicationBootstrap();
  lanes.beforeApplicationShutdown(); // its timer is the test's business
  const pass = (ms: number): void => {
    nowMs += ms;
    lanes.ringOverdue();
  };
  return { lanes, rung, settle: (id) => listeners.forEach((listener) => listener(id)), news, pass };
}

function fail(): never {
  throw new Error('no relay is known for this lane');
}

test('the first receipt rings at once, those behind it once, when it is settled', () => {
  const { lanes, rung, settle } = stage();
  lanes.ring(TILL, 'rcp_1');
  lanes.ring(TILL, 'rcp_2');
  lanes.ring(TILL, 'rcp_3');
  lanes.ring(OTHER, 'rcp_4');
  expect(rung).toEqual([TILL, OTHER]);
  settle('rcp_1');
  expect(rung).toEqual([TILL, OTHER, TILL]);
  settle('rcp_2');
  expect(rung).toHaveLength(3);
  settle('rcp_3');
  lanes.ring(TILL, 'rcp_5');
  expect(rung).toEqual([TILL, OTHER, TILL, TILL]);
});

test('lost news holds a ring back for a second at most', () => {
  const { lanes, rung, pass } = stage();
  lanes.ring(TILL, 'rcp_1');
  lanes.ring(TILL, 'rcp_2');
  pass(999);
  expect(rung).toHaveLength(1);
  pass(1);
  expect(rung).toHaveLength(2);
  pass(1_000);
  lanes.ring(TILL, 'rcp_3');
  expect(rung).toHaveLength(3);
});

test('without the connection that brings news, every receipt rings', () => {
  const { lanes, rung, news, pass } = stage();
  lanes.ring(TILL, 'rcp_1');
  lanes.ring(TILL, 'rcp_2');
  news.isListening = false;
  pass(0);
  expect(rung).toHaveLength(2);
  lanes.ring(TILL, 'rcp_3');
  lanes.ring(TILL, 'rcp_4');
  expect(rung).toHaveLength(4);
});

test('a stop rings what was held back', () => {
  const { lanes, rung } = stage();
  lanes.ring(TILL, 'rcp_1');
  lanes.ring(TILL, 'rcp_2');
  lanes.ring(OTHER, 'rcp_3');
  lanes.beforeApplicationShutdown();
  expect(rung).toEqual([TILL, OTHER, TILL]);
});

test('keeps nothing of lanes that are done', () => {
  const { lanes, settle } = stage();
  for (let each = 0; each < 100; each += 1) {
    lanes.ring(`dev_${each}`, `rcp_${each}`);
    settle(`rcp_${each}`);
  }
  expect(lanes).toMatchObject({ lanes: new Map(), deviceOf: new Map() });
});
