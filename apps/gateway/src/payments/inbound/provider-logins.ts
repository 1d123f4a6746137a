import { Inject, Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { FairSlots, type Logger, type ReleaseSlot } from '#runtime';
import { CallerLogins, type BegunAttempt } from '../../access/limits/failed-logins.js';
import { LOGGER } from '../../tokens.js';

/** Longer than any limit of failed logins needs to be full again. */
const KEPT_MS = 15 * 60_000;
const MAX_CALLERS = 10_000;

/**
 * Of callers that have not proven themselves, one call each is checked at a time: after a start a provider's calls come together, and the first
 * of them speaks for all.
 */
const CHECKS = { total: 1_000, perKey: 1, waitingPerKey: 2_000, waiting: 20_000 };

/** What claims to be a provider: an account, and the address that it calls from. */
interface ProviderCaller {
  accountId: string;
  address: string;
}

/** A call whose password is about to be checked. */
export interface BegunCall {
  /** It counts as wrong until it ends; null: its caller has proven itself, or was held back. */
  attempt: BegunAttempt | null;
  /** Whatever its password, it is answered as one that is wrong. */
  isHeldBack: boolean;
  release: ReleaseSlot;
}

const nothing: ReleaseSlot = () => undefined;

/**
 * Wrong passwords of callers that claim to be a provider. They are counted by account and address as failed logins of clients are
 * (docs/adr/0033-failed-logins.md): a caller that was never wrong is always checked, whatever strangers do. A call counts before it is
 * checked, so that a burst of guesses is no larger than the limit; only a caller that was right lately, and not wrong since, is not counted.
 */
@Injectable()
export class ProviderLogins {
  private readonly proven = new LRUCache<string, true>({ max: MAX_CALLERS, ttl: KEPT_MS });
  private readonly checks = new FairSlots(CHECKS);

  constructor(
    private readonly logins: CallerLogins,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** Before the password is checked; `end` follows. */
  async begin(caller: ProviderCaller): Promise<BegunCall> {
    const key = keyOf(caller);
    if (this.proven.has(key)) return { attempt: null, isHeldBack: false, release: nothing };
    const release = await this.checks.take(key);
    if (!release) return { attempt: null, isHeldBack: true, release: nothing };
    try {
      // By one of those that came before it.
      if (this.proven.has(key)) return { attempt: null, isHeldBack: false, release };
      const attempt = await this.logins.begin({ clientId: caller.accountId, address: caller.address });
      return { attempt, isHeldBack: attempt.verdict.kind === 'wait', release };
    } catch (error) {
      release();
      throw error;
    }
  }

  /** @param was `unclear`: the password was not checked, by no fault of the caller's */
  async end(caller: ProviderCaller, begun: BegunCall, was: 'right' | 'wrong' | 'unclear'): Promise<void> {
    try {
      if (begun.isHeldBack) return;
      if (was === 'wrong') await this.countWrong(caller, begun.attempt);
      else if (begun.attempt) await this.logins.forgive(begun.attempt);
      if (was === 'right') this.proven.set(keyOf(caller), true);
    } finally {
      begun.release();
    }
  }

  private async countWrong(caller: ProviderCaller, attempt: BegunAttempt | null): Promise<void> {
    const { accountId, address } = caller;
    this.proven.delete(keyOf(caller));
    const { isSpent } = attempt ?? (await this.logins.count({ clientId: accountId, address }));
    if (isSpent)
      this.logger.warn({ account_id: accountId, address }, 'payment: too many calls with a wrong password, held back');
  }
}

function keyOf({ accountId, address }: ProviderCaller): string {
  return `${accountId} ${address}`;
}
