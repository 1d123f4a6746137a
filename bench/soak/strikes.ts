import { setTimeout as delay } from 'node:timers/promises';
import type { Chance } from '../../apps/device-relay/src/lanes/simulation/testing/chance.js';
import { FaultPost } from '../../test/faults/frame/register-faults.js';
import type { Stage } from '../../test/faults/frame/stage.js';
import { endSessions } from '../../test/system/database.js';

export type Strike = readonly [name: string, strike: () => Promise<void>];

const SLEEP_MS = 2_500;
const FAULTS_AT_ONCE = 5;

/**
 * What is broken, one each minute. The first gateway and the first relay are never killed nor paused: what they hold is what is
 * judged, and it must stay flat through all that happens to the others and to what they stand on.
 */
export function strikesOf({ system, redis, redisProxy, server, payments }: Stage, chance: Chance): Strike[] {
  if (!redis || !redisProxy || !server || !payments) throw new Error('the stage lacks its servers');
  const [, gateway] = system.gateways;
  const [, relay] = system.relays;
  if (!gateway || !relay) throw new Error('the stage has one program of a kind');
  const faults = new FaultPost(system, system.merchant.tills, chance);
  return [
    [
      'kill gateway',
      async () => {
        await gateway.end('SIGKILL');
        await delay(chance.between(0, 3_000));
        await gateway.start();
      },
    ],
    [
      'kill relay',
      async () => {
        await relay.end('SIGKILL');
        await delay(chance.between(0, 3_000));
        await relay.start();
      },
    ],
    [
      'pause relay',
      async () => {
        relay.signal('SIGSTOP');
        await delay(chance.between(500, 6_000));
        relay.signal('SIGCONT');
      },
    ],
    [
      'kill Redis',
      async () => {
        await redis.kill();
        await delay(chance.between(0, 8_000));
        await redis.start();
      },
    ],
    ['empty Redis', () => redis.command((client) => client.flushall()).then(() => undefined)],
    ['half-open Redis', () => Promise.resolve(void redisProxy.deafen())],
    [
      'kill PostgreSQL',
      async () => {
        await server.kill('SIGQUIT');
        await delay(chance.between(0, 3_000));
        await server.restart();
      },
    ],
    ['end database sessions', () => endSessions(system.database)],
    [
      'register faults',
      async () => {
        for (let nth = 0; nth < FAULTS_AT_ONCE; nth += 1) await faults.post(nth, SLEEP_MS);
      },
    ],
    [
      'provider faults',
      async () => {
        await payments.faults(['drop_before', 'drop_after', 'error_after'].map((fault) => ({ fault, rate: 0.3 })));
        await delay(10_000);
        await payments.faults([]);
      },
    ],
  ];
}
