// Promise: reports take turns, no merchant takes all places, and one too many is refused at once.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Problem } from '#problems';
import { ReportGate } from './report-gate.js';

const STAYS = (): boolean => false;

/** Reports that end on command. */
class Reports {
  readonly begun: string[] = [];
  private readonly ends = new Map<string, () => void>();

  constructor(private readonly gate: ReportGate) {}

  ask(merchantId: string, name: string, isCallerGone = STAYS): Promise<string> {
    return this.gate.run(merchantId, isCallerGone, () => {
      this.begun.push(name);
      return new Promise((resolve) => this.ends.set(name, () => resolve(name)));
    });
  }

  async end(name: string): Promise<void> {
    await nextTurn();
    this.ends.get(name)?.();
    await nextTurn();
  }
}

test('two places: the second is for another merchant, however many the first has waiting', async () => {
  const reports = new Reports(new ReportGate({ atOnce: 2, maxWaiting: 10, maxWaitingOfOne: 4 }));
  const all = [reports.ask('a', 'a1'), reports.ask('a', 'a2'), reports.ask('a', 'a3'), reports.ask('b', 'b1')];
  await nextTurn();
  expect(reports.begun).toEqual(['a1', 'b1']);
  await reports.end('a1');
  expect(reports.begun).toEqual(['a1', 'b1', 'a2']);
  await reports.end('b1');
  expect(reports.begun).toEqual(['a1', 'b1', 'a2']);
  await reports.end('a2');
  await reports.end('a3');
  expect(await Promise.all(all)).toEqual(['a1', 'a2', 'a3', 'b1']);
});

test('one too many is refused at once with Retry-After, of one merchant and of all', async () => {
  const reports = new Reports(new ReportGate({ atOnce: 1, maxWaiting: 3, maxWaitingOfOne: 2 }));
  const taken = ['a1', 'a2', 'a3'].map((name) => reports.ask('a', name));
  const refused = { code: 'service_unavailable', retryAfterSeconds: 5 };
  await expect(reports.ask('a', 'a4')).rejects.toMatchObject(refused);
  taken.push(reports.ask('b', 'b1'));
  await expect(reports.ask('c', 'c1')).rejects.toMatchObject(refused);
  for (const name of ['a1', 'a2', 'a3', 'b1']) await reports.end(name);
  expect(await Promise.all(taken)).toEqual(['a1', 'a2', 'a3', 'b1']);
});

test('a report whose caller has left is not made; one that fails leaves its place', async () => {
  const gate = new ReportGate({ atOnce: 1, maxWaiting: 3, maxWaitingOfOne: 3 });
  const reports = new Reports(gate);
  const first = reports.ask('a', 'a1');
  const left = reports.ask('b', 'b1', () => true);
  const failing = gate.run('c', STAYS, () => Promise.reject(new Error('too slow')));
  const last = reports.ask('d', 'd1');
  await Promise.all([
    reports.end('a1'),
    expect(left).rejects.toBeInstanceOf(Problem),
    expect(failing).rejects.toThrow('too slow'),
  ]);
  expect(await first).toBe('a1');
  await reports.end('d1');
  expect(await last).toBe('d1');
  expect(reports.begun).toEqual(['a1', 'd1']);
});
