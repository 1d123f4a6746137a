// Promise: whatever waits is written, by no more statements at a time than allowed, whatever pause lies between them.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { untilTrue } from '../../runtime/src/testing/until.js';
import { StatementPump, type PumpPace } from './statement-pump.js';

async function pumpAll(
  rows: number,
  pace?: PumpPace,
): Promise<{ written: number[]; statements: number; most: number }> {
  const waiting: number[] = [];
  const written: number[] = [];
  let [statements, running, most] = [0, 0, 0];
  const pump = new StatementPump(
    () => waiting.length,
    async () => {
      const group = waiting.splice(0);
      statements += 1;
      running += 1;
      most = Math.max(most, running);
      await nextTurn();
      running -= 1;
      written.push(...group);
    },
    pace,
  );
  for (let row = 0; row < rows; row += 1) {
    waiting.push(row);
    pump.schedule();
    if (row % 3 === 0) await nextTurn();
  }
  while (written.length < rows) await nextTurn();
  return { written, statements, most };
}

test.each<[PumpPace | undefined, number]>([
  [undefined, 2],
  [{ maxStatements: 1 }, 1],
  [{ maxStatements: 1, pauseMs: 20 }, 1],
])('%j', async (pace, allowed) => {
  const { written, most } = await pumpAll(200, pace);
  expect(written.sort((a, b) => a - b)).toEqual(Array.from({ length: 200 }, (_, row) => row));
  expect(most).toBeLessThanOrEqual(allowed);
});

test('a pause makes fewer statements of the same rows', async () => {
  const [without, withPause] = [await pumpAll(300), await pumpAll(300, { pauseMs: 50 })];
  expect(withPause.statements).toBeLessThan(without.statements);
});

test('statements that never end hold up the rows behind them for a moment only, where that is bounded', async () => {
  const waiting = [0];
  const written: number[] = [];
  let statements = 0;
  const pump = new StatementPump(
    () => waiting.length,
    async () => {
      const group = waiting.splice(0);
      statements += 1;
      if (statements <= 2) return new Promise<never>(() => undefined);
      written.push(...group);
      return Promise.resolve();
    },
    { lateMs: 20 },
  );
  pump.schedule();
  await untilTrue(() => statements === 1, 'the first is at work');
  waiting.push(1);
  pump.schedule();
  await untilTrue(() => statements === 2, 'the first is late');
  waiting.push(2, 3);
  pump.schedule();
  await untilTrue(() => written.length === 2, 'the second is late');
  expect([statements, written]).toEqual([3, [2, 3]]);
});
