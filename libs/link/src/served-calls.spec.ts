// Promise: a request whose link ended, or that no caller waits for any more, is not sent to the register when its connection opens at last.
import type { ExchangeLimits, Opening, RawAnswer } from '#local-api';
import { decodeFrame } from './frames.js';
import { ServedCalls } from './served-calls.js';

const LIMITS: ExchangeLimits = { timeoutMs: 1_000, maxAnswerBytes: 1_000 };
const CALL = {
  ...{ type: 'call' as const, id: 1, limits: LIMITS },
  head: { method: 'POST' as const, path: '/z-report/open', headers: {}, connectTimeoutMs: 1_000 },
};

/** A register whose connection opens when the test says so. */
function slowRegister(): { calls: ServedCalls; connect: () => void; settled: Promise<RawAnswer>; written: unknown[] } {
  let connect: () => void = () => undefined;
  let settle: (answer: RawAnswer) => void = () => undefined;
  const settled = new Promise<RawAnswer>((resolve) => (settle = resolve));
  const written: unknown[] = [];
  const send = (_limits: ExchangeLimits, mayStillSend: () => boolean): Promise<RawAnswer> => {
    const answer: RawAnswer = mayStillSend()
      ? { kind: 'failed', reason: 'timeout' }
      : { kind: 'not_sent', reason: 'guard' };
    settle(answer);
    return Promise.resolve(answer);
  };
  const opening = new Promise<Opening>((resolve) => {
    connect = () => resolve({ kind: 'open', call: { send, abandon: () => undefined } });
  });
  const calls = new ServedCalls({
    transport: { open: () => opening, close: () => undefined, retire: () => undefined },
    write: (frame) => void written.push(decodeFrame(frame)?.header),
    violate: (_code, reason) => void written.push(reason),
  });
  return { calls, connect, settled, written };
}

test('the link ended meanwhile: nothing is sent, and nothing is written to a link that is gone', async () => {
  const { calls, connect, settled, written } = slowRegister();
  calls.receive(CALL, Buffer.from('{}'));
  calls.end();
  connect();
  expect(await settled).toEqual({ kind: 'not_sent', reason: 'guard' });
  expect(written).toEqual([]);
});

test('abandoned by its caller: nothing is sent, and the relay is notified', async () => {
  const { calls, connect, settled, written } = slowRegister();
  calls.receive(CALL, Buffer.from('{}'));
  calls.receive({ type: 'cancel', id: 1 }, Buffer.alloc(0));
  connect();
  await settled;
  await Promise.resolve();
  expect(written).toEqual([{ type: 'result', id: 1, kind: 'not_sent', reason: 'guard' }]);
});

test('else it is sent', async () => {
  const { calls, connect, settled } = slowRegister();
  calls.receive(CALL, Buffer.from('{}'));
  connect();
  expect(await settled).toMatchObject({ kind: 'failed' });
});
