import { setTimeout as delay } from 'node:timers/promises';
import { endSessions } from '../../system/database.js';
import type { FaultCase } from '../frame/case.js';
import { Load } from '../frame/load.js';
import { judge } from '../frame/truth.js';

const RECOVERS_WITHIN_S = 15;

export const databaseStopped: FaultCase = {
  number: '6',
  name: 'PostgreSQL: all sessions ended, then `stop -m immediate`, under load',
  stage: 'database',
  full: { receipts: 2_000, strikes: 5 },
  tenth: { receipts: 200, strikes: 1 },
  maxSeconds: 600,
  async run({ stage: { system, server }, size, chance, prefix, judgesTimes }) {
    if (!server) throw new Error('the stage has no database of its own');
    const load = new Load(system.client, { prefix, chance, perTill: 2 });
    let longestS = 0;
    for (let stop = 0; stop < size.strikes; stop += 1) {
      await load.reaches(((stop + chance.next()) / size.strikes) * size.receipts);
      await endSessions(system.database);
      await delay(chance.between(500, 1_000));
      await server.kill('SIGQUIT');
      const refused = load.sellOnce(chance.pick(system.merchant.tills), 'respond-async');
      await delay(chance.between(1_000, 4_000));
      await server.restart();
      const beganMs = performance.now();
      await refused;
      // Every register sells again; no program was restarted.
      const sold = await Promise.all(system.merchant.tills.map((till) => load.sellOnce(till, 'wait=60')));
      if (sold.some((one) => one?.answer.status !== 201)) throw new Error('not every register sold again');
      longestS = Math.max(longestS, (performance.now() - beganMs) / 1_000);
    }
    await load.reaches(size.receipts);
    await load.end();
    const verdict = await judge(system, [load], { prefix, tills: system.merchant.tills });
    const setbacks = load.sold.flatMap((sold) => sold.setbacks);
    const unfit = new Set(setbacks.filter((setback) => !setback.startsWith('503 ')));
    if (unfit.size > 0) verdict.failures.push(`answered otherwise than with 503: ${[...unfit].join(', ')}`);
    if (setbacks.length === 0) verdict.failures.push('no POST met the outage');
    if (judgesTimes && longestS > RECOVERS_WITHIN_S) {
      verdict.failures.push(`every register sold again after ${longestS.toFixed(1)} s, at most ${RECOVERS_WITHIN_S}`);
    }
    const figures = [
      `${setbacks.length} × 503 with Retry-After`,
      `all registers sell again after ${longestS.toFixed(1)} s`,
    ];
    return { ...verdict, kills: size.strikes, figures };
  },
};
