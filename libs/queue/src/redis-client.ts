import { Cluster, Redis, type ClusterNode, type ClusterOptions, type RedisOptions } from 'ioredis';
import type { QueueAddress } from './queue-address.js';

/** RedisOptions without the one member that its own constructor overloads disagree on. */
export type RedisSettings = Omit<RedisOptions, 'replyMapping'>;
type ClusterSettings = Omit<ClusterOptions, 'replyMapping' | 'redisOptions'> & {
  redisOptions: Omit<NonNullable<ClusterOptions['redisOptions']>, 'replyMapping'>;
};

const SENTINEL_TIMEOUT_MS = 2_000;

/** A client for the address; `cut()` ends it and its copies at once, whatever state they are in. */
export function openRedis(address: QueueAddress, options: RedisSettings): CuttableRedis | CuttableCluster {
  switch (address.kind) {
    case 'server':
      return new CuttableRedis(address.url, options);
    case 'sentinel':
      return new CuttableRedis('redis://behind-sentinels', sentinelOptions(address, options));
    case 'cluster':
      return new CuttableCluster([...address.hosts], clusterOptions(address, options));
  }
}

/**
 * Our own client instead of one that BullMQ makes, because BullMQ's close() waits for a server that is away while its
 * clients go on reconnecting: they would keep the process alive. It copies this client for its blocking reads.
 */
class CuttableRedis extends Redis {
  private readonly copies: Redis[] = [];

  constructor(url: string, options: RedisSettings) {
    super(url, options);
  }

  override duplicate(options?: Partial<RedisOptions>): Redis {
    const copy = super.duplicate(options);
    this.copies.push(copy);
    return copy;
  }

  cut(): void {
    for (const redis of [this, ...this.copies]) {
      if (redis.status === 'end') continue;
      // Between two tries to reconnect, disconnect() emits nothing and leaves waiting commands waiting (measured on 6.0.0);
      // during a try it ends them all.
      if (redis.status === 'reconnecting') redis.connect().catch(() => undefined);
      redis.disconnect();
    }
  }
}

/** The same for a cluster. */
class CuttableCluster extends Cluster {
  private readonly copies: Cluster[] = [];

  constructor(nodes: ClusterNode[], options: ClusterSettings) {
    super(nodes, options);
  }

  override duplicate(nodes?: ClusterNode[], options?: Partial<ClusterOptions>): Cluster {
    const copy = super.duplicate(nodes, options);
    this.copies.push(copy);
    return copy;
  }

  cut(): void {
    for (const cluster of [this, ...this.copies]) {
      if (cluster.status === 'end') continue;
      if (cluster.status === 'reconnecting') cluster.connect().catch(() => undefined);
      cluster.disconnect();
    }
  }
}

type SentinelAddress = Extract<QueueAddress, { kind: 'sentinel' }>;
type ClusterAddress = Extract<QueueAddress, { kind: 'cluster' }>;

function sentinelOptions({ hosts, master, account, isTls }: SentinelAddress, options: RedisSettings): RedisSettings {
  return {
    ...options,
    ...account,
    sentinels: [...hosts],
    name: master,
    // One account for Redis and its sentinels.
    ...(account.password !== undefined && { sentinelPassword: account.password }),
    ...(account.username !== undefined && { sentinelUsername: account.username }),
    ...(isTls && { tls: {}, sentinelTLS: {}, enableTLSForSentinelMode: true }),
    // No failoverDetector: one that learns of the failover while its client connects ends that client for good (6.0.0, seen in tests).
    // Without it a dead master is left as any dead server is, and one that was demoted ends its connections.
    sentinelCommandTimeout: SENTINEL_TIMEOUT_MS,
    ...(options.retryStrategy && { sentinelRetryStrategy: options.retryStrategy }),
    // The old master, as long as it does not know yet that it is none.
    reconnectOnError: ({ message }) => message.startsWith('READONLY'),
  };
}

function clusterOptions({ account, isTls }: ClusterAddress, options: RedisSettings): ClusterSettings {
  const { enableOfflineQueue, retryStrategy, ...ofNodes } = options;
  return {
    ...(enableOfflineQueue !== undefined && { enableOfflineQueue }),
    ...(retryStrategy && { clusterRetryStrategy: (times) => retryStrategy(times) }),
    slotsRefreshTimeout: SENTINEL_TIMEOUT_MS,
    redisOptions: { ...ofNodes, ...account, ...(isTls && { tls: {} }) },
    // Certificates name hosts, not addresses.
    ...(isTls && { dnsLookup: (host, found) => found(null, host) }),
  };
}
