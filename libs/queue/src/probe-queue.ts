import type { Cluster, Redis } from 'ioredis';
import { parseQueueUrl } from './queue-address.js';
import { openRedis } from './redis-client.js';

export type QueueProbe = { kind: 'up'; policy: string; appendOnly: string } | { kind: 'down'; reason: string };

const TIMEOUT_MS = 3_000;

/** Asks a Redis once whether it answers, and whether it keeps what it is given. */
export async function probeQueue(url: string): Promise<QueueProbe> {
  const redis = openRedis(parseQueueUrl(url), {
    ...{ lazyConnect: true, connectTimeout: TIMEOUT_MS, commandTimeout: TIMEOUT_MS },
    ...{ maxRetriesPerRequest: 0, retryStrategy: () => null },
  });
  // Its failures come with the calls below; an 'error' without a listener would end the process.
  redis.on('error', () => undefined);
  try {
    await redis.connect();
    await redis.ping();
    return {
      kind: 'up',
      policy: await settingOf(redis, 'maxmemory-policy'),
      appendOnly: await settingOf(redis, 'appendonly'),
    };
  } catch (error) {
    return { kind: 'down', reason: error instanceof Error ? error.message : String(error) };
  } finally {
    redis.cut();
  }
}

/** Managed services forbid CONFIG: what cannot be read is not known, and no reason for alarm. */
async function settingOf(redis: Redis | Cluster, name: string): Promise<string> {
  try {
    const [, value] = await redis.config('GET', name);
    return value ?? 'unknown';
  } catch {
    return 'unknown';
  }
}
