import { Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import { Redis } from 'ioredis';
import { systemClock, type Logger } from '#runtime';
import type { GatewaySettings } from '../settings.js';
import { LOGGER, SETTINGS_TOKEN } from '../tokens.js';
import { AddressLimit } from './address-limit.js';
import { ClientLimit } from './client-limit.js';
import { RedisBuckets } from './redis-buckets.js';
import { MemoryBuckets } from './token-bucket.js';

/** The connection for shared buckets; null: each gateway counts for itself. */
const LIMITS_REDIS = Symbol('redis of the limits');

/** Limits per address and per client. Shared between gateways where QUEUE_URL is a Redis. */
@Module({
  providers: [
    AddressLimit,
    { provide: LIMITS_REDIS, inject: [SETTINGS_TOKEN, LOGGER], useFactory: openRedis },
    { provide: ClientLimit, inject: [SETTINGS_TOKEN, LIMITS_REDIS, LOGGER], useFactory: clientLimit },
  ],
  exports: [ClientLimit],
})
export class LimitsModule implements OnApplicationShutdown {
  constructor(@Inject(LIMITS_REDIS) private readonly redis: Redis | null) {}

  onApplicationShutdown(): void {
    this.redis?.disconnect();
  }
}

function openRedis({ QUEUE_URL, CLIENT_LIMIT }: GatewaySettings, logger: Logger): Redis | null {
  if (QUEUE_URL === undefined || CLIENT_LIMIT === null) return null;
  const redis = new Redis(QUEUE_URL, {
    // A request waits for its count no longer than this, and not at all while the connection is away.
    ...{ commandTimeout: 250, enableOfflineQueue: false, maxRetriesPerRequest: 0 },
    ...{ connectTimeout: 5_000, socketTimeout: 15_000, keepAlive: 5_000 },
    retryStrategy: (times) => Math.min(times * 100, 1_000),
  });
  redis.on('error', (error: Error) => logger.debug({ err: error }, 'limits: connection to Redis'));
  return redis;
}

function clientLimit({ CLIENT_LIMIT: rate }: GatewaySettings, redis: Redis | null, logger: Logger): ClientLimit {
  if (rate === null) return new ClientLimit(null);
  const own = new MemoryBuckets(rate, systemClock);
  return new ClientLimit({ rate, buckets: redis ? new RedisBuckets(redis, rate, own, logger) : own });
}
