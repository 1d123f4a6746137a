import { setTimeout as delay } from 'node:timers/promises';
import { redisIsInstalled } from '../../../libs/queue/src/testing/own-redis.js';
import { skipped, type CaseRun, type FaultCase } from '../frame/case.js';
import { Load, percentile } from '../frame/load.js';
import { judge } from '../frame/truth.js';

const RESUMES_WITHIN_S = 30;
const POST_P95_MS = 500;
/** In the full table; ten minutes with `--long`. */
const ABSENT_MS = 60_000;
const LONG_ABSENT_MS = 600_000;
const FLUSHES = 3;

export const redisAway: FaultCase = {
  number: '5',
  name: 'Redis killed, emptied, half-open, absent',
  stage: 'redis',
  full: { receipts: 2_000, strikes: 10 },
  tenth: { receipts: 200, strikes: 1 },
  maxSeconds: 1_200,
  run: (run) => (redisIsInstalled() ? breakRedis(run) : Promise.resolve(skipped('redis-server is not installed'))),
};

async function breakRedis(run: CaseRun): ReturnType<FaultCase['run']> {
  const { stage, size, chance, prefix, judgesTimes } = run;
  const { system, redis, redisProxy } = stage;
  if (!redis || !redisProxy) throw new Error('the stage has no Redis');
  const isTenth = size.strikes <= 1;
  const load = new Load(system.client, { prefix, chance, perTill: 2, asyncShare: 0.5 });
  const probe = new Probe(load, run);
  const away: { fromMs: number; toMs: number }[] = [];
  const absent = async (ms: number): Promise<void> => {
    const fromMs = performance.now();
    await redis.kill();
    await delay(ms);
    away.push({ fromMs, toMs: performance.now() });
    await redis.start();
    await probe.expectDispatch();
  };
  for (let kill = 0; kill < size.strikes; kill += 1) {
    await load.reaches((kill / size.strikes) * size.receipts * 0.8);
    await absent(chance.between(200, 3_000));
  }
  for (let flush = 0; flush < (isTenth ? 1 : FLUSHES); flush += 1) {
    await redis.command((client) => client.flushall());
    await probe.expectDispatch();
  }
  redisProxy.deafen();
  await probe.expectDispatch();
  await absent(run.isLong ? LONG_ABSENT_MS : isTenth ? ABSENT_MS / 20 : ABSENT_MS);
  await load.reaches(size.receipts);
  await load.end();
  const verdict = await judge(system, [load], { prefix, tills: system.merchant.tills });
  const posts = load.sold.filter(
    ({ prefer, startedMs }) =>
      prefer === 'respond-async' && away.some(({ fromMs, toMs }) => startedMs >= fromMs && startedMs <= toMs),
  );
  const p95Ms = percentile(
    posts.map(({ tookMs }) => tookMs),
    0.95,
  );
  const setbacks = new Set(load.sold.flatMap((sold) => sold.setbacks));
  if (setbacks.size > 0) verdict.failures.push(`POST did not keep 2xx: ${[...setbacks].join(', ')}`);
  if (judgesTimes && !(p95Ms <= POST_P95_MS))
    verdict.failures.push(`POST p95 ${p95Ms.toFixed(0)} ms, at most ${POST_P95_MS}`);
  if (judgesTimes && probe.longestS > RESUMES_WITHIN_S) {
    verdict.failures.push(`dispatch resumed after ${probe.longestS.toFixed(1)} s, at most ${RESUMES_WITHIN_S}`);
  }
  const figures = [
    `POST p95 ${p95Ms.toFixed(0)} ms while away (${posts.length} posts)`,
    `dispatch at most ${probe.longestS.toFixed(1)} s after its return`,
  ];
  return { ...verdict, kills: size.strikes + 1, figures };
}

/** Measures how long after Redis is back a receipt needs from its POST to its registration. */
class Probe {
  longestS = 0;

  constructor(
    private readonly load: Load,
    private readonly run: CaseRun,
  ) {}

  async expectDispatch(): Promise<void> {
    const beganMs = performance.now();
    const till = this.run.chance.pick(this.run.stage.system.merchant.tills);
    const sold = await this.load.sellOnce(till, 'wait=60');
    if (sold?.answer.status !== 201)
      throw new Error(`not registered within 60 s: ${JSON.stringify(sold?.answer.body)}`);
    this.longestS = Math.max(this.longestS, (performance.now() - beganMs) / 1_000);
  }
}
