import { Inject, Module, type OnApplicationShutdown, type FactoryProvider } from '@nestjs/common';
import { openRedis, parseQueueUrl } from '#queue';
import { systemClock, type Logger } from '#runtime';
import { AuditModule } from '../../audit/audit.module.js';
import type { GatewaySettings } from '../../settings.js';
import { LOGGER, SETTINGS_TOKEN } from '../../tokens.js';
import { AddressGate } from './address-gate.js';
import { AddressLimit } from './address-limit.js';
import { ClientLimit, type Buckets } from './client-limit.js';
import { CallerLogins, FailedLogins, FailedTokens, PersonLogins } from './failed-logins.js';
import { HeldRefusals } from './held-refusals.js';
import { DEFAULT_CLIENT_LIMIT, type Rate } from '../../http/rate.js';
import { RedisBuckets } from './redis-buckets.js';
import { MemoryBuckets } from './token-bucket.js';
import { TokenLimit } from './token-limit.js';

/** Where the buckets of one limit are; null without a limit. */
type OpenBuckets = (rate: Rate | null) => { rate: Rate; buckets: Buckets } | null;

type LimitsRedis = ReturnType<typeof openRedis>;

/** The connection for shared buckets; null: each gateway counts for itself. */
const LIMITS_REDIS = Symbol('redis of the limits');
const OPEN_BUCKETS = Symbol('where buckets are kept');

/** Allow lists; limits per address and per client, of failed logins, and of the tokens of a client. Limits are shared between gateways where QUEUE_URL is a Redis. */
@Module({
  imports: [AuditModule],
  providers: [
    AddressGate,
    AddressLimit,
    HeldRefusals,
    { provide: LIMITS_REDIS, inject: [SETTINGS_TOKEN, LOGGER], useFactory: openLimitsRedis },
    { provide: OPEN_BUCKETS, inject: [LIMITS_REDIS, LOGGER], useFactory: bucketsIn },
    {
      provide: ClientLimit,
      inject: [SETTINGS_TOKEN, OPEN_BUCKETS],
      useFactory: ({ CLIENT_LIMIT }: GatewaySettings, open: OpenBuckets) =>
        new ClientLimit(CLIENT_LIMIT === DEFAULT_CLIENT_LIMIT ? ownBuckets(CLIENT_LIMIT) : open(CLIENT_LIMIT)),
    },
    sharedLimit(FailedLogins, 'FAILED_LOGIN_LIMIT'),
    sharedLimit(CallerLogins, 'FAILED_LOGIN_LIMIT'),
    sharedLimit(FailedTokens, 'FAILED_TOKEN_LIMIT'),
    sharedLimit(PersonLogins, 'LOGIN_LIMIT'),
    sharedLimit(TokenLimit, 'TOKEN_LIMIT'),
  ],
  exports: [AddressGate, AddressLimit, CallerLogins, ClientLimit, FailedLogins, FailedTokens, PersonLogins, TokenLimit],
})
export class LimitsModule implements OnApplicationShutdown {
  constructor(@Inject(LIMITS_REDIS) private readonly redis: LimitsRedis | null) {}

  onApplicationShutdown(): void {
    this.redis?.cut();
  }
}

function sharedLimit(
  limit: new (buckets: ReturnType<OpenBuckets>) => unknown,
  setting: 'FAILED_LOGIN_LIMIT' | 'FAILED_TOKEN_LIMIT' | 'LOGIN_LIMIT' | 'TOKEN_LIMIT',
): FactoryProvider {
  return {
    provide: limit,
    inject: [SETTINGS_TOKEN, OPEN_BUCKETS],
    useFactory: (settings: GatewaySettings, open: OpenBuckets) => new limit(open(settings[setting])),
  };
}

function openLimitsRedis(
  { QUEUE_URL, CLIENT_LIMIT, FAILED_LOGIN_LIMIT, FAILED_TOKEN_LIMIT, LOGIN_LIMIT, TOKEN_LIMIT }: GatewaySettings,
  logger: Logger,
): LimitsRedis | null {
  const shared = [CLIENT_LIMIT, FAILED_LOGIN_LIMIT, FAILED_TOKEN_LIMIT, LOGIN_LIMIT, TOKEN_LIMIT].filter(
    (rate) => rate !== DEFAULT_CLIENT_LIMIT,
  );
  const isLimited = shared.some((rate) => rate !== null);
  if (QUEUE_URL === undefined || !isLimited) return null;
  const redis = openRedis(parseQueueUrl(QUEUE_URL), {
    // A request waits for its count no longer than this, and not at all while the connection is away.
    ...{ commandTimeout: 250, enableOfflineQueue: false, maxRetriesPerRequest: 0 },
    ...{ connectTimeout: 5_000, socketTimeout: 15_000, keepAlive: 5_000 },
    retryStrategy: (times) => Math.min(times * 100, 1_000),
  });
  redis.on('error', (error: Error) => logger.debug({ err: error }, 'limits: connection to Redis'));
  return redis;
}

function bucketsIn(redis: LimitsRedis | null, logger: Logger): OpenBuckets {
  return (rate) => {
    if (rate === null) return null;
    const own = ownBuckets(rate);
    return redis ? { rate, buckets: new RedisBuckets(redis, rate, own.buckets, logger) } : own;
  };
}

function ownBuckets(rate: Rate): { rate: Rate; buckets: MemoryBuckets } {
  return { rate, buckets: new MemoryBuckets(rate, systemClock) };
}
