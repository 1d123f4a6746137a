import { setTimeout as delay } from 'node:timers/promises';
import { endSessions } from '../../system/database.js';
import { startMoreRegisters } from '../../system/more-registers.js';
import { redisIsInstalled } from '../../../libs/queue/src/testing/own-redis.js';
import { skipped, type CaseRun, type FaultCase } from '../frame/case.js';
import { Load } from '../frame/load.js';
import { FaultPost } from '../frame/register-faults.js';
import { judge } from '../frame/truth.js';

const SPECIFICATION_ONLY = { sendTimeoutMs: 1_500, callTimeoutMs: 1_500, settleMs: 3_000, sharing: 'shared' };
const SLEEP_MS = 2_500;
/** All is broken until enough has been sold, but no longer. */
const LONGEST_S = 900;

export const everything: FaultCase = {
  number: '15',
  name: 'everything together, at random',
  stage: 'everything',
  // Here `receipts` is what must at least have been sold, `strikes` the seconds.
  full: { receipts: 3_000, strikes: 600 },
  tenth: { receipts: 300, strikes: 60 },
  quick: { receipts: 30, strikes: 10 },
  mayPark: true,
  maxSeconds: 1_200,
  run: (run) => (redisIsInstalled() ? breakEverything(run) : Promise.resolve(skipped('redis-server is not installed'))),
};

async function breakEverything(run: CaseRun): ReturnType<FaultCase['run']> {
  const { stage, size, chance, prefix } = run;
  const { system } = stage;
  const more = await startMoreRegisters(system, {
    count: 2,
    env: { REGISTER_EXTENSIONS: 'off' },
    profile: SPECIFICATION_ONLY,
  });
  try {
    const load = new Load(system.client, { prefix: `${prefix}-k`, chance, waitS: 5 });
    const plain = new Load(more.client, { prefix: `${prefix}-p`, chance, waitS: 20, perTill: 2 });
    const strikes = strikesOf(run, new FaultPost(system, [...system.merchant.tills, ...more.merchant.tills], chance));
    const begun = performance.now();
    // On a busy machine less is sold in the same time: then it is broken for longer.
    const goesOn = (): boolean => {
      const seconds = (performance.now() - begun) / 1_000;
      return seconds < size.strikes || (seconds < LONGEST_S && load.sold.length + plain.sold.length < size.receipts);
    };
    const counts = new Map<string, number>();
    while (goesOn()) {
      await delay(chance.between(200, 2_000));
      const [name, strike] = chance.pick(strikes);
      await strike();
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
    await Promise.all([load.end(), plain.end()]);
    const withJournal = await judge(system, [load], {
      ...{ prefix: `${prefix}-k`, tills: system.merchant.tills, drainMs: 120_000 },
    });
    const byCounters = await judge(system, [plain], {
      ...{ prefix: `${prefix}-p`, tills: more.merchant.tills, drainMs: 120_000, hasJournal: false },
    });
    const sum = (key: 'receipts' | 'lost' | 'doubled' | 'wrongOrder' | 'parked'): number =>
      withJournal[key] + byCounters[key];
    const failures = [...withJournal.failures, ...byCounters.failures];
    if (withJournal.parked > 0) failures.push(`${withJournal.parked} parked at registers with a journal`);
    if (sum('receipts') < size.receipts) failures.push(`only ${sum('receipts')} receipts were sold`);
    return {
      ...{ receipts: sum('receipts'), lost: sum('lost'), doubled: sum('doubled'), wrongOrder: sum('wrongOrder') },
      ...{ parked: sum('parked'), failures },
      kills: [...counts].reduce((total, [name, count]) => total + (name.includes('kill') ? count : 0), 0),
      figures: [[...counts].map(([name, count]) => `${count} × ${name}`).join(', ')],
    };
  } finally {
    await more.program.end();
  }
}

type Strike = readonly [name: string, strike: () => Promise<void>];

function strikesOf({ stage, chance }: CaseRun, faults: FaultPost): Strike[] {
  const { system, redis, redisProxy, server } = stage;
  if (!redis || !redisProxy || !server) throw new Error('the stage lacks its servers');
  let nth = 0;
  const again = async (program: { end(signal: 'SIGKILL'): Promise<void>; start(): Promise<void> }): Promise<void> => {
    await program.end('SIGKILL');
    await delay(chance.between(0, 1_000));
    await program.start();
  };
  return [
    ['kill relay', () => again(chance.pick(system.relays))],
    ['kill gateway', () => again(chance.pick(system.gateways))],
    ['kill registers', () => again(system.register)],
    [
      'kill Redis',
      async () => {
        await redis.kill();
        await delay(chance.between(0, 3_000));
        await redis.start();
      },
    ],
    ['empty Redis', () => redis.command((client) => client.flushall()).then(() => undefined)],
    ['half-open Redis', () => Promise.resolve(void redisProxy.deafen())],
    [
      'kill PostgreSQL',
      async () => {
        await server.kill('SIGQUIT');
        await delay(chance.between(0, 2_000));
        await server.restart();
      },
    ],
    ['pause relay', () => pauseRelay(stage, chance)],
    ['end database sessions', () => endSessions(system.database)],
    ...(['register fault', 'register fault'] as const).map(
      (name): Strike => [name, () => faults.post((nth += 1), SLEEP_MS).catch(() => undefined)], // it is being restarted
    ),
  ];
}

async function pauseRelay({ system }: CaseRun['stage'], chance: CaseRun['chance']): Promise<void> {
  const relay = chance.pick(system.relays);
  relay.signal('SIGSTOP');
  await delay(chance.between(500, 4_000));
  relay.signal('SIGCONT');
}
