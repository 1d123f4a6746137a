import { setTimeout as delay } from 'node:timers/promises';
import { sql } from '../../system/database.js';
import { GatewayClient } from '../../system/gateway-client.js';
import type { CaseRun, FaultCase } from '../frame/case.js';
import { Load } from '../frame/load.js';
import { judge } from '../frame/truth.js';

const REPORTS_AT_ONCE = 10;

/** Registered receipts of a merchant that has no register here: copies of one that was sold, so many times as the case says. */
async function fillWithReceipts(run: CaseRun, merchantId: string, count: number): Promise<void> {
  await sql(
    run.stage.system.database,
    `INSERT INTO receipts (id, merchant_id, client_id, operation, body_hash, type, status, device_id, branch_id, cashier_id, document,
                           total_tiyin, vat_total_tiyin, terminal_id, receipt_seq, registered_at, evidence, ofd_status, ofd_sent_at)
     SELECT 'rcp_storm_' || n, $1, client_id, operation, body_hash, type, status, 'dev_storm', 'brn_storm', 'csh_storm', document,
            total_tiyin, vat_total_tiyin, 'STORM', n, now() - n * interval '1 second', evidence, 'sent', now()
       FROM (SELECT * FROM receipts WHERE status = 'registered' LIMIT 1) AS sold, generate_series(1, $2::int) AS n`,
    [merchantId, count],
  );
  await sql(run.stage.system.database, 'ANALYZE receipts');
}

/** Asks for the dearest report again and again until told to stop. @returns how it was answered, by status */
async function askForReports(client: GatewayClient, stopping: AbortSignal): Promise<Map<number, number>> {
  const answers = new Map<number, number>();
  while (!stopping.aborted) {
    const { status, headers } = await client.get('/v1/reports/turnover?by=vat');
    const isPolite = status === 200 || (status === 503 && headers.has('retry-after'));
    const counted = isPolite ? status : -status;
    answers.set(counted, (answers.get(counted) ?? 0) + 1);
    if (status !== 200) await delay(200);
  }
  return answers;
}

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
    await fillWithReceipts(run, reporter.merchantId, size.strikes);
    const stopping = new AbortController();
    const storm = Array.from({ length: REPORTS_AT_ONCE }, () =>
      askForReports(new GatewayClient(system.gatewayUrls, reporter), stopping.signal),
    );
    await delay(1_000);
    const stormBeganMs = performance.now();
    const load = new Load(system.client, { ...options, prefix: `${prefix}-storm` });
    await load.end();
    const stormS = (performance.now() - stormBeganMs) / 1_000;
    stopping.abort();
    const answers = new Map<number, number>();
    for (const one of await Promise.all(storm)) {
      for (const [status, count] of one) answers.set(status, (answers.get(status) ?? 0) + count);
    }
    const verdict = await judge(system, [calm, load], { prefix, tills: system.merchant.tills });
    const failures = [...verdict.failures];
    const odd = [...answers.keys()].filter((status) => status < 0);
    if (odd.length > 0) failures.push(`reports were answered with ${odd.map((status) => -status).join(', ')}`);
    if ((answers.get(200) ?? 0) === 0) failures.push('not one report was made');
    const setbacks = load.sold.flatMap((sold) => sold.setbacks);
    if (setbacks.length > size.receipts / 10) failures.push(`${setbacks.length} sales were refused meanwhile`);
    if (run.judgesTimes && stormS > 2 * calmS) {
      failures.push(`${size.receipts} sales took ${stormS.toFixed(1)} s, without reports ${calmS.toFixed(1)} s`);
    }
    const figures = [
      `sales a second: ${(size.receipts / calmS).toFixed(0)} without reports, ${(size.receipts / stormS).toFixed(0)} with them`,
      `${answers.get(200) ?? 0} reports made, ${answers.get(503) ?? 0} refused with Retry-After`,
    ];
    return { ...verdict, failures, kills: 0, figures };
  },
};
