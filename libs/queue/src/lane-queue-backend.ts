import { createPostgresBackend, createRedisBackend, Queue, Worker } from 'bullmq';
import type { BackendFactory, IQueueBackend, Processor } from 'bullmq';
import { WatchedPool } from '#database';
import type { LaneJob, LaneJobName } from './lane-jobs.js';
import { LANE_QUEUE_NAME } from './lane-jobs.js';
import { parseQueueUrl, type QueueAddress } from './queue-address.js';
import { openRedis, type RedisSettings } from './redis-client.js';

const FAILED_CLAIM_PAUSE_MS = 250;
/** Of a worker that has nothing to do, until it claims again: what BullMQ itself waits for where nothing went wrong. */
const LONGEST_WAIT_SECONDS = 5;
/** Of the queue's own statements on PostgreSQL. */
const STATEMENT_TIMEOUT_MS = 4_000;
const MAX_WAITING = 1_000;

/** Our factories bring their connection with them, so that one type of queue and worker covers both back ends. */
const IN_FACTORY = 'in-factory';
type InFactory = typeof IN_FACTORY;
type LaneBackendFactory = BackendFactory<IQueueBackend, InFactory>;
export type LaneQueue = Queue<LaneJob, void, LaneJobName, LaneJob, void, LaneJobName, IQueueBackend, InFactory>;
export type LaneWorker = Worker<LaneJob, void, LaneJobName, IQueueBackend, number, InFactory>;
export type LaneProcessor = Processor<LaneJob, void, LaneJobName, number>;
type OnError = (error: unknown) => void;

/** A queue or worker with the means to cut whatever connection is left when closing it nicely did not end in time. */
export interface Opened<Client> {
  client: Client;
  cut(): void;
}

export interface LaneQueueBackend {
  readonly kind: 'redis' | 'postgres';
  /** How many devices are announced at once; more would only queue up inside the client. */
  readonly addsAtOnce: number;
  /** Of its keys, where they need another than BullMQ's own. */
  readonly prefix?: string;
  /** Begins to connect. `onError` gets every connection error and must not throw. */
  connect(side: 'bell' | 'listener', onError: OnError): { factory: LaneBackendFactory; cut(): void };
}

/**
 * Chooses the back end by URL: one server, sentinels or a cluster of Redis (queue-address.ts); null → BullMQ's PostgreSQL back end on the ledger's
 * own database, whose schema `bullmq` the owner's migration has prepared. Connects nowhere yet.
 *
 * @throws Error in one sentence when the URL is none of these
 */
export function laneQueueBackend(settings: { queueUrl: string | null; databaseUrl: string }): LaneQueueBackend {
  if (settings.queueUrl === null) return postgresBackend(settings.databaseUrl);
  return redisBackend(parseQueueUrl(settings.queueUrl));
}

function redisBackend(address: QueueAddress): LaneQueueBackend {
  const common: RedisSettings = {
    // Without it a half-open connection leaves the worker deaf for good, without any error (measured).
    socketTimeout: 15_000,
    keepAlive: 5_000,
    connectTimeout: 5_000,
    disconnectTimeout: 500,
    retryStrategy: (times) => Math.min(times * 100, 1_000),
  };
  const forSide: Record<'bell' | 'listener', RedisSettings> = {
    // A ring must fail at once while Redis is away instead of piling up inside the client.
    bell: { ...common, enableOfflineQueue: false, maxRetriesPerRequest: 1, commandTimeout: 2_000 },
    // BullMQ duplicates this connection for its blocking reads and demands null: they must survive a reconnect.
    listener: { ...common, maxRetriesPerRequest: null },
  };
  return {
    kind: 'redis',
    addsAtOnce: 32,
    // All keys of the queue in one slot: scripts touch several.
    ...(address.kind === 'cluster' && { prefix: '{fgw}' }),
    connect(side, onError) {
      const connection = openRedis(address, forSide[side]);
      connection.on('error', onError);
      return {
        factory: (name, options, more) => createRedisBackend(name, { ...options, connection }, more),
        cut: () => connection.cut(),
      };
    },
  };
}

function postgresBackend(databaseUrl: string): LaneQueueBackend {
  // The listener keeps one of its connections for LISTEN.
  const poolSize = { bell: 2, listener: 4 };
  return {
    kind: 'postgres',
    addsAtOnce: poolSize.bell,
    connect(side) {
      // Our own pool: BullMQ neither migrates nor ends a pool that it was given. Its clients do not end the process when
      // PostgreSQL ends their session, and give a silent connection up.
      const pool = new WatchedPool({
        url: databaseUrl,
        applicationName: `lane-${side}`,
        size: poolSize[side],
        maxWaiting: MAX_WAITING,
        statementTimeoutMs: STATEMENT_TIMEOUT_MS,
        // Whatever a crash of the server takes from the queue, the sweeper finds: no wake-up waits for the disk.
        parameters: { search_path: 'bullmq', synchronous_commit: 'off' },
      });
      return {
        factory: (name, options, more) => createPostgresBackend(name, { ...options, connection: pool }, more),
        cut: () => {
          if (!pool.ending) void pool.end();
        },
      };
    },
  };
}

export function openLaneQueue(backend: LaneQueueBackend, onError: OnError): Opened<LaneQueue> {
  const connected = backend.connect('bell', onError);
  const client: LaneQueue = new Queue(
    LANE_QUEUE_NAME,
    {
      connection: IN_FACTORY,
      ...(backend.prefix !== undefined && { prefix: backend.prefix }),
      // BullMQ's event stream has no reader; by default it keeps 10 000 entries.
      streams: { events: { maxLen: 100 } },
      defaultJobOptions: { attempts: 1, removeOnComplete: true, removeOnFail: true },
    },
    connected.factory,
  );
  client.on('error', onError);
  return { client, cut: () => connected.cut() };
}

/** What a worker says meanwhile. Neither may throw. */
interface LaneWorkerEvents {
  error: OnError;
  /** The queue has answered a claim, be it with no job. */
  claimed: () => void;
}

export function openLaneWorker(
  backend: LaneQueueBackend,
  processor: LaneProcessor,
  options: { concurrency: number; lockDurationMs: number },
  on: LaneWorkerEvents,
): Opened<LaneWorker> {
  const connected = backend.connect('listener', on.error);
  const client: LaneWorker = new Worker(
    LANE_QUEUE_NAME,
    processor,
    {
      connection: IN_FACTORY,
      ...(backend.prefix !== undefined && { prefix: backend.prefix }),
      concurrency: options.concurrency,
      autorun: false,
      // A job whose relay died blocks its device's wake-ups until it counts as stalled: its lock and two intervals at
      // most, 25 s instead of 90 s. A worker that was only slow gets a second wake-up beside it, which the lane lock
      // makes harmless.
      lockDuration: options.lockDurationMs,
      stalledInterval: Math.ceil(options.lockDurationMs / 3),
      // The default of 1 would fail a job for good after two crashes.
      maxStalledCount: 1_000,
      // The default of 15 s is how long a worker would stay deaf after its database came back.
      runRetryDelay: 1_000,
      removeOnComplete: { count: 0 },
      removeOnFail: { count: 0 },
    },
    (name, workerOptions, more) => watched(connected.factory(name, workerOptions, more), on.claimed),
  );
  client.on('error', on.error);
  return { client, cut: () => connected.cut() };
}

/**
 * Says when a claim was answered, and waits after one that failed. BullMQ's loop asks again at once when claiming fails with
 * anything but a refused connection: 900 times a second on a Redis out of memory, half a processor on a PostgreSQL that turns our
 * role away (measured).
 */
function watched(backend: IQueueBackend, onClaimed: () => void): IQueueBackend {
  // After an error BullMQ waits for as long as its back end may: an hour on PostgreSQL, in which nothing shows that it hears.
  Object.defineProperty(backend, 'maximumBlockTimeout', { value: LONGEST_WAIT_SECONDS });
  const claim = backend.moveToActive.bind(backend);
  backend.moveToActive = async (...claimed): Promise<unknown[]> => {
    try {
      const answer = await claim(...claimed);
      onClaimed();
      return answer;
    } catch (error) {
      await new Promise((resolve) => setTimeout(resolve, FAILED_CLAIM_PAUSE_MS));
      throw error;
    }
  };
  return backend;
}
