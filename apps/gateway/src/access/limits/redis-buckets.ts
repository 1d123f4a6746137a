import type { Logger } from '#runtime';
import type { Rate } from '../../http/rate.js';
import { peekVerdict, verdictOf, type BucketVerdict, type MemoryBuckets } from './token-bucket.js';

/** As much of a Redis client as is needed here. */
export interface ScriptRunner {
  eval(script: string, keyCount: number, ...args: (string | number)[]): Promise<unknown>;
}

/**
 * takeFromBucket of token-bucket.ts, by the clock of Redis, in microseconds. A bucket that is full again is gone.
 * KEYS[1] the bucket; ARGV[1] cost of one request, 0 to take nothing, less to put it back, ARGV[2] capacity, µs. Answers {allowed, missing in µs}.
 */
const TAKE = `
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local cost, capacity = tonumber(ARGV[1]), tonumber(ARGV[2])
local missing = (tonumber(redis.call('GET', KEYS[1])) or now) - now
if missing < 0 then missing = 0 end
if missing + cost > capacity then return {0, missing} end
missing = math.max(0, missing + cost)
if cost == 0 then return {1, math.floor(missing)} end
redis.call('SET', KEYS[1], string.format('%.0f', now + missing), 'PX', math.ceil(missing / 1000) + 1)
return {1, math.floor(missing)}`;

const PREFIX = 'fgw:limit:';

/** Buckets that all gateways share. While Redis does not answer each gateway counts for itself: a limit locks no client out. */
export class RedisBuckets {
  private isAway = false;

  constructor(
    private readonly redis: ScriptRunner,
    private readonly rate: Rate,
    private readonly own: MemoryBuckets,
    private readonly logger: Logger,
  ) {}

  async take(key: string): Promise<BucketVerdict> {
    const answer = await this.ask(key, this.costUs);
    return answer ? verdictOf(this.rate, answer.isAllowed, answer.missingMs) : this.own.take(key);
  }

  async peek(key: string): Promise<BucketVerdict> {
    const answer = await this.ask(key, 0);
    return answer ? peekVerdict(this.rate, answer.missingMs) : this.own.peek(key);
  }

  async give(key: string): Promise<void> {
    if (!(await this.ask(key, -this.costUs))) this.own.give(key);
  }

  private get capacityUs(): number {
    return this.rate.seconds * 1_000_000;
  }

  private get costUs(): number {
    return Math.max(1, Math.round(this.capacityUs / this.rate.requests));
  }

  /** Null: Redis does not answer. */
  private async ask(key: string, costUs: number): Promise<{ isAllowed: boolean; missingMs: number } | null> {
    try {
      const answer = await this.redis.eval(TAKE, 1, `${PREFIX}${key}`, costUs, this.capacityUs);
      const [allowed, missingUs] = readAnswer(answer);
      this.logState(false);
      return { isAllowed: allowed === 1, missingMs: missingUs / 1_000 };
    } catch (error) {
      this.logState(true, error);
      return null;
    }
  }

  private logState(isAway: boolean, error?: unknown): void {
    if (isAway === this.isAway) return;
    this.isAway = isAway;
    if (isAway) this.logger.warn({ err: error }, 'limits: Redis does not answer, each gateway counts for itself');
    else this.logger.info('limits: Redis answers again');
  }
}

function readAnswer(answer: unknown): [allowed: number, missingUs: number] {
  if (!Array.isArray(answer)) throw new Error('the script of the limits answered oddly');
  const [allowed, missingUs] = answer as unknown[];
  if (typeof allowed !== 'number' || typeof missingUs !== 'number')
    throw new Error('the script of the limits answered oddly');
  return [allowed, missingUs];
}
