// Promise: every wake-up reaches a relay by notice, or the queue half a second later.
import { WakeLanes } from './wake-lanes.js';

const [TILL, OTHER] = ['dev_till', 'dev_other'];

function stage(): {
  wakes: WakeLanes;
  notified: string[];
  rung: string[];
  news: { isListening: boolean };
  pass: (ms: number) => void;
} {
  const notified: string[] = [];
  const rung: string[] = [];
  const news = { isListening: true };
  let nowMs = 0;
  let due: { atMs: number; work: () => void } | null = null;
  const wakes = new WakeLanes(
    {
      notify: (deviceId) => void notified.push(deviceId),
      ring: (deviceId) => void rung.push(deviceId),
      isListening: () => news.isListening,
    },
    () => nowMs,
    (work, afterMs) => {
      due = { atMs: nowMs + afterMs, work };
      return () => (due = null);
    },
  );
  const pass = (ms: number): void => {
    nowMs += ms;
    if (due === null || due.atMs > nowMs) return;
    const { work } = due;
    due = null;
    work();
  };
  return { wakes, notified, rung, news, pass };
}

test('a lane that no relay has taken yet is not woken by notice', () => {
  const { wakes, notified } = stage();
  expect(wakes.wake(TILL)).toBe(false);
  wakes.noteTaken(OTHER);
  expect(wakes.wake(TILL)).toBe(false);
  expect(notified).toEqual([]);
});

test('a lane whose relay answers is woken by notice alone', () => {
  const { wakes, notified, rung, pass } = stage();
  wakes.noteTaken(TILL);
  for (let each = 0; each < 3; each += 1) {
    expect(wakes.wake(TILL)).toBe(true);
    pass(100);
    wakes.noteTaken(TILL);
    pass(500);
  }
  expect([notified, rung]).toEqual([[TILL, TILL, TILL], []]);
});

test('what is not answered is rung once, and the queue is used until a relay takes the lane again', () => {
  const { wakes, rung, pass } = stage();
  wakes.noteTaken(TILL);
  wakes.noteTaken(OTHER);
  wakes.wake(TILL);
  pass(300);
  wakes.wake(OTHER);
  wakes.wake(TILL); // its first is not answered yet: the time runs since then
  pass(200);
  expect(rung).toEqual([TILL]);
  expect(wakes.wake(TILL)).toBe(false);
  expect(wakes.wake(OTHER)).toBe(true);
  pass(300);
  expect(rung).toEqual([TILL, OTHER]);
  expect(wakes).toMatchObject({ sent: 4, unanswered: 2 });
  wakes.noteTaken(TILL);
  expect(wakes.wake(TILL)).toBe(true);
});

test('while answers cannot arrive the queue is used', () => {
  const { wakes, news } = stage();
  wakes.noteTaken(TILL);
  news.isListening = false;
  expect(wakes.wake(TILL)).toBe(false);
});

test('a stop rings what is not answered', () => {
  const { wakes, rung } = stage();
  wakes.noteTaken(TILL);
  wakes.wake(TILL);
  wakes.end();
  expect(rung).toEqual([TILL]);
  expect(wakes.wake(TILL)).toBe(false);
});
