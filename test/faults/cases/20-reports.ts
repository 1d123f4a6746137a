import { setTimeout as delay } from 'node:timers/promises';
import { GatewayClient } from '../../system/gateway-client.js';
import type { FaultCase } from '../frame/case.js';
import { Load } from '../frame/load.js';
import { fillWithReceipts, ReportStorm } from '../frame/report-storm.js';
import { judge } from '../frame/truth.js';

export const reportStorm: FaultCase = {
  number: '20',
  name: 'ten reports at a time over many receipts of one merchant, while all sell',
  stage: 'line',
  full: { receipts: 2_000, strikes: 500_000 },
  tenth: { receipts: 200, strikes: 50_000 },
  quick: { receipts: 60, strikes: 20_000 },
  maxSeconds: 900,
  async run(run) {
    const { system } = run.stage;
    const { size, chance, prefix } = run;
    const reporter = await system.addMerchant({ scopes: ['receipts:read'] });
    const options = { chance, asyncShare: 1, breathMs: 0, total: size.receipts };
    const calm = new Load(system.client, { ...options, prefix: `${prefix}-calm` });
    const beganMs = performance.now();
    await calm.end();
    const calmS = (performance.now() - beganMs) / 1_000;
    await fillWithReceipts(system, reporter.merchantId, size.strikes);
    const storm = new ReportStorm(() => new GatewayClient(system.gatewayUrls, reporter));
    await delay(1_000);
    const stormBeganMs = performance.now();
    const load = new Load(system.client, { ...options, prefix: `${prefix}-storm` });
    await load.end();
    const stormS = (performance.now() - stormBeganMs) / 1_000;
    const answers = await storm.end();
    const verdict = await judge(system, [calm, load], { prefix, tills: system.merchant.tills });
    const failures = [...verdict.failures, ...answers.failures];
    const setbacks = load.sold.flatMap((sold) => sold.setbacks);
    if (setbacks.length > size.receipts / 10) failures.push(`${setbacks.length} sales were refused meanwhile`);
    if (run.judgesTimes && stormS > 2 * calmS) {
      failures.push(`${size.receipts} sales took ${stormS.toFixed(1)} s, without reports ${calmS.toFixed(1)} s`);
    }
    const figures = [
      `sales a second: ${(size.receipts / calmS).toFixed(0)} without reports, ${(size.receipts / stormS).toFixed(0)} with them`,
      answers.figure,
    ];
    return { ...verdict, failures, kills: 0, figures };
  },
};
