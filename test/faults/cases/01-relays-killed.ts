import type { FaultCase } from '../frame/case.js';
import { Load, strikeAlong } from '../frame/load.js';
import { judge } from '../frame/truth.js';

export const relaysKilled: FaultCase = {
  number: '1',
  name: 'kill -9 of either of two relays',
  stage: 'fleet',
  full: { receipts: 5_000, strikes: 50 },
  tenth: { receipts: 500, strikes: 5 },
  quick: { receipts: 150, strikes: 3 },
  maxSeconds: 600,
  async run({ stage: { system }, size, chance, prefix }) {
    const load = new Load(system.client, { prefix, chance, total: size.receipts });
    const starting = new Map<number, Promise<void>>();
    const kills = await strikeAlong(load, { times: size.strikes, total: size.receipts, chance }, async () => {
      const which = chance.happens(0.5) ? 0 : 1;
      await starting.get(which);
      await system.relays[which]?.end('SIGKILL');
      // Not awaited: the next kill may come while only the other one works, or none.
      starting.set(which, system.relays[which]?.start() ?? Promise.resolve());
    });
    await Promise.all(starting.values());
    await load.end();
    return { ...(await judge(system, [load], { prefix, tills: system.merchant.tills })), kills };
  },
};
