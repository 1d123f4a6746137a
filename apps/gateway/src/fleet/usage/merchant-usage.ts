import { Inject, Injectable, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import { onBehalfOfAll, PrismaService } from '#database';
import { announceQuotas, type QuotaUse } from '#ledger';
import { Problem } from '#problems';
import { growingCache, Periodic, type Logger } from '#runtime';
import { LOGGER } from '../../tokens.js';
import { UsageRepository, type Standing, type Used } from './usage.repository.js';

const FLUSH_MS = 1_000;
/** A changed quota, and what other gateways have accepted, is known here within this time. */
const FRESH_MS = 5_000;
/** After so many places of a merchant with a quota the database is written and read: what other gateways do not know of is no more. */
const PLACES_AT_ONCE = 100;
/** After a midnight everything is read anew. */
const ENTRIES = 100_000;

interface Known {
  standing: Standing;
  /** `performance.now()`. */
  readAtMs: number;
  /** Places within a quota that were given since then. */
  given: number;
}

/** A place within the quota, until it is known whether the receipt was accepted. */
export interface Place {
  /** It was. */
  keep(): void;
  release(): void;
}

/**
 * How much a merchant uses, and whether it may use more. Receipts are counted in memory, and added to the database once a second in
 * one statement for all merchants: no row is written per receipt, and only each hundredth one of a merchant with a quota waits for it. A
 * gateway that is killed forgets the last second; each further gateway may accept a hundred receipts more than a quota.
 */
@Injectable()
export class MerchantUsage implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly known = growingCache<string, Known>(ENTRIES);
  private readonly reading = new Map<string, Promise<Known | null>>();
  /** Accepted here, and not in the database yet. */
  private pending = new Map<string, Used>();
  /** The same, in the statement under way. */
  private flushing: ReadonlyMap<string, Used> = new Map();
  /** Places that were given and are not decided. */
  private readonly undecided = new Map<string, Used>();
  private readonly renewing = new Map<string, Promise<boolean>>();
  private lastFlush: Promise<unknown> = Promise.resolve();
  private readonly flushes: Periodic;

  constructor(
    private readonly repository: UsageRepository,
    private readonly prisma: PrismaService,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.flushes = new Periodic({ name: 'counting receipts', everyMs: FLUSH_MS, run: () => this.flush() }, logger);
  }

  onApplicationBootstrap(): void {
    this.flushes.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.flushes.stop();
    await this.flush();
  }

  /** @param bytes of the receipt's document @throws Problem 429 quota_exceeded, 422 storage_limit_reached */
  async admit(merchantId: string, bytes: number): Promise<Place> {
    let known = await this.standingOf(merchantId);
    while (known && hasQuota(known.standing) && known.given >= PLACES_AT_ONCE) {
      if (!(await this.renew(merchantId))) break;
      known = this.known.get(merchantId) ?? null;
    }
    // From here to the place nothing waits: receipts that come together see one another.
    if (known) {
      this.refuseBeyond(known.standing, bytes);
      known.given += 1;
    }
    add(this.undecided, merchantId, { receipts: 1, bytes });
    let isOpen = true;
    const close = (): boolean => {
      const wasOpen = isOpen;
      isOpen = false;
      if (wasOpen) add(this.undecided, merchantId, { receipts: -1, bytes: -bytes });
      return wasOpen;
    };
    return {
      release: close,
      keep: () => {
        if (close()) this.count(merchantId, bytes);
      },
    };
  }

  /** What was accepted and is never refused: refunds. */
  count(merchantId: string, bytes: number): void {
    add(this.pending, merchantId, { receipts: 1, bytes });
  }

  /** What is left of today's receipts, as far as it is known here; null: there is no quota. */
  leftToday(merchantId: string): { limit: number; left: number; resetMs: number } | null {
    const standing = this.known.get(merchantId)?.standing;
    const limit = standing?.quotas.receipts_per_day ?? null;
    if (!standing || limit === null) return null;
    const left = Math.max(0, limit - standing.receiptsToday - this.usedHere(merchantId).receipts);
    return { limit, left, resetMs: standing.dayEndsInMs };
  }

  /** Adds what is counted here to the database, one time after another. @returns false: there is no more */
  flush(): Promise<boolean> {
    // The next one waits for it, whosever it is, and with it the sale that asks.
    const flushed = this.lastFlush.then(() => onBehalfOfAll(() => this.flushOnce()));
    this.lastFlush = flushed.catch(() => undefined);
    return flushed;
  }

  private async flushOnce(): Promise<boolean> {
    if (this.pending.size === 0) return false;
    const taken = this.pending;
    this.pending = new Map();
    this.flushing = taken;
    try {
      const standings = await this.repository.add(taken);
      const readAtMs = performance.now();
      for (const standing of standings) this.known.set(standing.merchantId, { standing, readAtMs, given: 0 });
      this.flushing = new Map();
      await announceQuotas(this.prisma, standings.flatMap(usesOf));
      return false;
    } catch (error) {
      for (const [merchantId, used] of this.flushing) add(this.pending, merchantId, used);
      this.flushing = new Map();
      throw error;
    }
  }

  private refuseBeyond(standing: Standing, bytes: number): void {
    const { quotas, merchantId, dayEndsInMs, receiptsToday, storageBytes } = standing;
    if (!hasQuota(standing)) return;
    const here = this.usedHere(merchantId);
    if (quotas.receipts_per_day !== null && receiptsToday + here.receipts >= quotas.receipts_per_day) {
      const detail = `The quota of ${quotas.receipts_per_day} receipts a day is used up; it is new at midnight in Tashkent.`;
      throw new Problem('quota_exceeded', detail, { retryAfterSeconds: Math.max(1, Math.ceil(dayEndsInMs / 1_000)) });
    }
    if (quotas.storage_bytes !== null && storageBytes + here.bytes + bytes > quotas.storage_bytes)
      throw new Problem('storage_limit_reached', `The quota of ${quotas.storage_bytes} bytes of receipts is used up.`);
  }

  /** Of which the database did not know when it was asked last. */
  private usedHere(merchantId: string): Used {
    const all = [this.pending, this.flushing, this.undecided].map((used) => used.get(merchantId) ?? NOTHING);
    return all.reduce(sum, NOTHING);
  }

  /** Null: the database cannot say; the sale finds out by itself. */
  private async standingOf(merchantId: string): Promise<Known | null> {
    const known = this.known.get(merchantId);
    if (!known) return this.read(merchantId);
    const ageMs = performance.now() - known.readAtMs;
    if (ageMs >= known.standing.dayEndsInMs) return this.read(merchantId);
    // A sale does not wait for what is a little old.
    if (ageMs >= FRESH_MS) void this.refresh(merchantId);
    return known;
  }

  /** Writes what is counted here and reads how the merchant stands. @returns false: it did not answer */
  private renew(merchantId: string): Promise<boolean> {
    const under = this.renewing.get(merchantId);
    if (under) return under;
    const before = this.known.get(merchantId);
    const renewal = this.flush()
      .then(async () => this.known.get(merchantId) !== before || (await this.read(merchantId)) !== null)
      .catch((error: unknown) => {
        this.logger.warn({ err: error, merchant_id: merchantId }, 'the quota of a merchant could not be read');
        return false;
      })
      .finally(() => this.renewing.delete(merchantId));
    this.renewing.set(merchantId, renewal);
    return renewal;
  }

  /** Reads how the merchant stands, once for all that ask at the same moment. */
  async refresh(merchantId: string): Promise<void> {
    await this.read(merchantId);
  }

  private read(merchantId: string): Promise<Known | null> {
    const under = this.reading.get(merchantId);
    if (under) return under;
    const begunAtMs = performance.now();
    const reading = this.repository
      .read(merchantId)
      .then((standing) => {
        if (!standing) return null;
        // A flush has ended meanwhile, or is under way: what was read may lack it, or have it twice with what is counted here.
        const newer = this.known.get(merchantId);
        if (newer && (newer.readAtMs > begunAtMs || this.flushing.has(merchantId))) return newer;
        // What is not written yet stays among those that others do not know of.
        const given = this.pending.get(merchantId)?.receipts ?? 0;
        const known = { standing, readAtMs: performance.now(), given };
        this.known.set(merchantId, known);
        return known;
      })
      .catch((error: unknown) => {
        // A database that is away refuses the sale itself, with its own answer.
        this.logger.warn({ err: error, merchant_id: merchantId }, 'the quota of a merchant could not be read');
        return null;
      })
      .finally(() => this.reading.delete(merchantId));
    this.reading.set(merchantId, reading);
    return reading;
  }
}

function hasQuota({ quotas }: Standing): boolean {
  return quotas.receipts_per_day !== null || quotas.storage_bytes !== null;
}

const NOTHING: Used = { receipts: 0, bytes: 0 };

function sum(one: Used, other: Used): Used {
  return { receipts: one.receipts + other.receipts, bytes: one.bytes + other.bytes };
}

function add(all: Map<string, Used>, merchantId: string, more: Used): void {
  const after = sum(all.get(merchantId) ?? NOTHING, more);
  if (after.receipts === 0) all.delete(merchantId);
  else all.set(merchantId, after);
}

function usesOf({ merchantId, quotas, receiptsToday, storageBytes }: Standing): QuotaUse[] {
  const uses: QuotaUse[] = [];
  const { receipts_per_day: perDay, storage_bytes: bytes } = quotas;
  if (perDay !== null) uses.push({ merchantId, quota: 'receipts_per_day', limit: perDay, used: receiptsToday });
  if (bytes !== null) uses.push({ merchantId, quota: 'storage_bytes', limit: bytes, used: storageBytes });
  return uses;
}
