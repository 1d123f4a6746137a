import { setTimeout as delay } from 'node:timers/promises';
import type { FaultCase } from '../frame/case.js';
import { Load, strikeAlong } from '../frame/load.js';
import { judge } from '../frame/truth.js';

export const registersKilled: FaultCase = {
  number: '11',
  name: 'kill -9 of the registers in mid-sale',
  stage: 'fleet',
  full: { receipts: 3_000, strikes: 100 },
  tenth: { receipts: 300, strikes: 10 },
  quick: { receipts: 100, strikes: 3 },
  maxSeconds: 900,
  async run({ stage: { system }, size, chance, prefix }) {
    const load = new Load(system.client, { prefix, chance, total: size.receipts, waitS: 10 });
    const kills = await strikeAlong(load, { times: size.strikes, total: size.receipts, chance }, async () => {
      await delay(chance.between(0, 40));
      await system.register.end('SIGKILL');
      await system.register.start();
    });
    await load.end();
    const verdict = await judge(system, [load], { prefix, tills: system.merchant.tills, drainMs: 120_000 });
    return { ...verdict, kills };
  },
};
