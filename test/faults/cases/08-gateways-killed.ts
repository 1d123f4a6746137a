import { setTimeout as delay } from 'node:timers/promises';
import type { FaultCase } from '../frame/case.js';
import { Load, strikeAlong } from '../frame/load.js';
import { judge } from '../frame/truth.js';

export const gatewaysKilled: FaultCase = {
  number: '8',
  name: 'kill -9 of a gateway while clients repeat with fixed keys',
  stage: 'fleet',
  full: { receipts: 4_000, strikes: 20 },
  tenth: { receipts: 400, strikes: 2 },
  quick: { receipts: 150, strikes: 2 },
  maxSeconds: 600,
  async run({ stage: { system }, size, chance, prefix }) {
    const load = new Load(system.client, { prefix, chance, total: size.receipts });
    const kills = await strikeAlong(load, { times: size.strikes, total: size.receipts, chance }, async (nth) => {
      const victim = system.gateways[nth % system.gateways.length];
      await delay(chance.between(0, 50));
      await victim?.end('SIGKILL');
      await victim?.start();
    });
    const sold = await load.end();
    const verdict = await judge(system, [load], { prefix, tills: system.merchant.tills });
    const repeated = sold.filter(({ setbacks }) => setbacks.length > 0).length;
    const replayed = sold.filter(({ answer }) => answer.headers.get('idempotency-replayed') === 'true').length;
    if (repeated === 0) verdict.failures.push('no client had to repeat');
    return { ...verdict, kills, figures: [`${repeated} repeated, ${replayed} of them already known`] };
  },
};
