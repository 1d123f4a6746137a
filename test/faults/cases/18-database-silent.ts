import { setTimeout as delay } from 'node:timers/promises';
import { GatewayClient } from '../../system/gateway-client.js';
import { skipped, type CaseRun, type FaultCase, type Outcome } from '../frame/case.js';
import { Load } from '../frame/load.js';
import { judge } from '../frame/truth.js';

const ACCEPTS_WITHIN_S = 5;
/** Where times are not judged; without what is tried here it would be a quarter of an hour. */
const LIMIT_S = 240;

/** Sells once at this gateway, again and again until it accepts. @returns after how many seconds */
async function secondsUntilAccepted(run: CaseRun, url: string, name: string): Promise<number> {
  const { system } = run.stage;
  const client = new GatewayClient([url], system.merchant);
  const [till] = system.merchant.tills;
  const body = {
    items: [{ sku: 'sku-0', name, price: 112_000, qty: 1 }],
    payment: { method: 'cash' },
    ...{ cashier_id: till?.cashierId, device_id: till?.deviceId },
  };
  const beganMs = performance.now();
  for (;;) {
    const status = await client
      .post('/v1/receipts', body, { 'idempotency-key': name, prefer: 'respond-async' })
      .then((answer) => answer.status)
      .catch(() => null);
    const seconds = (performance.now() - beganMs) / 1_000;
    if (status === 202 || status === 200 || status === 201 || seconds > LIMIT_S) return seconds;
    client.forgetToken();
    await delay(50);
  }
}

async function fallSilent(run: CaseRun): Promise<Outcome> {
  const { system, silenceDatabase } = run.stage;
  if (!silenceDatabase) return skipped('network namespaces need root on Linux');
  const load = new Load(system.client, { prefix: run.prefix, chance: run.chance, perTill: 2, waitS: 20 });
  const failures: string[] = [];
  let slowestS = 0;
  let cut = 0;
  for (let strike = 0; strike < run.size.strikes; strike += 1) {
    await load.reaches(((strike + run.chance.next()) / run.size.strikes) * run.size.receipts);
    cut += silenceDatabase();
    const took = await Promise.all(
      system.gatewayUrls.map((url, index) => secondsUntilAccepted(run, url, `probe-${run.prefix}-${strike}-${index}`)),
    );
    slowestS = Math.max(slowestS, ...took);
    // Every register sells again; no program was restarted.
    const sold = await Promise.all(system.merchant.tills.map((till) => load.sellOnce(till, 'wait=60')));
    if (sold.some((one) => one?.answer.status !== 201)) failures.push('not every register sold again');
  }
  await load.reaches(run.size.receipts);
  await load.end();
  const verdict = await judge(system, [load], { prefix: run.prefix, tills: system.merchant.tills });
  if (cut === 0) failures.push('not one connection was cut');
  const unfit = new Set(load.sold.flatMap(({ setbacks }) => setbacks).filter((setback) => !setback.startsWith('503 ')));
  if (unfit.size > 0) failures.push(`answered otherwise than with 503: ${[...unfit].join(', ')}`);
  const limitS = run.judgesTimes ? ACCEPTS_WITHIN_S : LIMIT_S;
  if (slowestS > limitS) {
    failures.push(`a gateway accepted again after ${slowestS.toFixed(1)} s, at most ${limitS}`);
  }
  const unclear = load.sold
    .flatMap(({ setbacks }) => setbacks)
    .filter((setback) => setback.includes('outcome_unclear'));
  const figures = [
    `${cut} connections silent`,
    `every gateway accepts again after at most ${slowestS.toFixed(1)} s`,
    `${unclear.length} × outcome_unclear`,
  ];
  return { ...verdict, failures: [...verdict.failures, ...failures], kills: run.size.strikes, figures };
}

export const databaseDeaf: FaultCase = {
  number: '18a',
  name: 'all connections to PostgreSQL fall silent and stay open, new ones work',
  stage: 'line',
  full: { receipts: 2_000, strikes: 10 },
  tenth: { receipts: 200, strikes: 1 },
  maxSeconds: 900,
  run: fallSilent,
};

export const databasePacketsLost: FaultCase = {
  number: '18b',
  name: 'the packets of all connections to PostgreSQL are lost by the network, new ones pass',
  stage: 'lossy',
  full: { receipts: 1_000, strikes: 5 },
  tenth: { receipts: 100, strikes: 1 },
  maxSeconds: 900,
  run: fallSilent,
};
