import type { FaultCase } from '../frame/case.js';
import { Load, seenBehindBalancer } from '../frame/load.js';
import { judge } from '../frame/truth.js';

export const rollingRestarts: FaultCase = {
  number: '10',
  name: 'rolling SIGTERM restarts of all programs',
  stage: 'fleet',
  full: { receipts: 5_000, strikes: 20 },
  tenth: { receipts: 500, strikes: 2 },
  quick: { receipts: 200, strikes: 1 },
  maxSeconds: 1_200,
  async run({ stage: { system }, size, chance, prefix }) {
    const load = new Load(system.client, { prefix, chance, waitS: 30, breathMs: 150, perTill: 2 });
    const failures: string[] = [];
    for (let round = 0; round < size.strikes; round += 1) {
      for (const program of [...system.gateways, ...system.relays, system.register]) {
        await program.end('SIGTERM');
        if (program.exitCode !== 0) failures.push(`${program.name} ended with ${program.exitCode}`);
        await program.start();
      }
    }
    await load.reaches(size.receipts);
    const sold = await load.end();
    const verdict = await judge(system, [load], { prefix, tills: system.merchant.tills });
    const { refused, unfit } = seenBehindBalancer(sold.flatMap(({ setbacks }) => setbacks));
    if (unfit.length > 0) failures.push(`failed calls: ${unfit.join(', ')}`);
    // A gateway that is asked to stop lets its waiting callers go with 202: accepted, and the receipt follows.
    const answeredEarly = sold.filter(({ prefer, answer }) => prefer !== 'respond-async' && answer.status === 202);
    return {
      ...verdict,
      failures: [...verdict.failures, ...failures],
      kills: size.strikes * (system.gateways.length + system.relays.length + 1),
      figures: [`${refused.length} × 503`, `${answeredEarly.length} waiting callers were answered 202`],
    };
  },
};
