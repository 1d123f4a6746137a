import { createLogger } from '#runtime';
import { SendTurns, type SendTurn } from './send-turns.js';

// Promise: a relay that is too slow for its lanes brings some of them through at any time, and all of them in the end.

const GUARD_MS = 1_000;
const USUAL = { isUrgent: false };

/** All that have a turn share one processor, which needs so long for each. Lanes that were late begin anew at once. */
async function bringThrough(turns: SendTurns, lanes: number, processorMs: number): Promise<{ rounds: number }> {
  let left = lanes;
  let rounds = 0;
  const having: SendTurn[] = [];
  const ask = (): void => void turns.take(USUAL).then((turn) => having.push(turn));
  for (let lane = 0; lane < lanes; lane += 1) ask();
  while (left > 0 && rounds < 500) {
    await new Promise(setImmediate);
    rounds += 1;
    const together = having.splice(0);
    const isLate = together.length * processorMs > GUARD_MS;
    for (const turn of together) {
      turn.end(isLate ? 'late' : 'in_time');
      if (isLate) ask();
      else left -= 1;
    }
  }
  expect(left).toBe(0);
  return { rounds };
}

const newTurns = (): SendTurns => new SendTurns(createLogger('test', 'silent'));

describe('turns to send', () => {
  it('bounds nothing while no intent is late', async () => {
    const turns = newTurns();
    expect(await bringThrough(turns, 400, 1)).toEqual({ rounds: 1 });
    expect(turns.bound).toBeGreaterThanOrEqual(400);
  });

  it('brings all lanes through that would all be late together', async () => {
    const turns = newTurns();
    // 200 × 20 ms is four times the guard: without a bound not one is ever sent.
    const { rounds } = await bringThrough(turns, 200, 20);
    expect(rounds).toBeLessThan(40);
  });

  it('lets one lane through after the other when each takes nearly the whole time', async () => {
    const turns = newTurns();
    await bringThrough(turns, 50, 900);
    expect(turns.bound).toBeLessThanOrEqual(2);
  });

  it('takes intents that were late together for one sign, and widens by one for each round in time', async () => {
    const turns = newTurns();
    const first = await Promise.all(Array.from({ length: 8 }, () => turns.take(USUAL)));
    for (const turn of first) turn.end('late');
    expect(turns.bound).toBe(4);
    for (let sent = 0; sent < 4; sent += 1) (await turns.take(USUAL)).end('in_time');
    expect(turns.bound).toBe(5);
  });

  it('serves first what must not wait, each in the order of the calls', async () => {
    const turns = newTurns();
    const only = await turns.take(USUAL);
    only.end('late');
    const order: string[] = [];
    const held = await turns.take(USUAL);
    const asked = ['usual 1', 'urgent 1', 'usual 2', 'urgent 2'].map(async (name) => {
      const turn = await turns.take({ isUrgent: name.startsWith('urgent') });
      order.push(name);
      turn.end('unused');
    });
    held.end('unused');
    await Promise.all(asked);
    expect(order).toEqual(['urgent 1', 'urgent 2', 'usual 1', 'usual 2']);
  });

  it('counts a turn once, and one that sent nothing as no sign', async () => {
    const turns = newTurns();
    const both = [await turns.take(USUAL), await turns.take(USUAL)] as const;
    both[0].end('unused');
    both[0].end('late');
    both[1].end('late');
    expect(turns.bound).toBe(1);
    const turn = await turns.take(USUAL);
    const next = turns.take(USUAL);
    turn.end('unused');
    (await next).end('in_time');
    expect(turns.bound).toBe(2);
  });
});
