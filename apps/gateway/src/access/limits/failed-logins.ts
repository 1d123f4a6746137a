import { addressGroup } from '#outgoing';
import { sha256 } from '#runtime';
import type { Buckets } from './client-limit.js';
import type { Rate } from '../../http/rate.js';
import { LoginTurns } from './login-turns.js';
import type { BucketVerdict } from './token-bucket.js';

/** Who tries to authenticate as which client. Both are the caller's claims; neither is verified. */
export interface LoginAttempt {
  /** Any text. */
  clientId: string;
  /** Null: counted by client alone, for one that is known already. */
  address: string | null;
}

export type LoginVerdict = { kind: 'open' } | { kind: 'wait'; retryInMs: number };

/** An attempt that counts as wrong until it is forgiven. */
export interface BegunAttempt {
  /** Whether its credentials are checked. */
  verdict: LoginVerdict;
  /** What it is answered if they are wrong. */
  ifWrong: LoginVerdict;
  /** Nothing is left for this client, here or altogether: worth a word on its trail. */
  isSpent: boolean;
  /** The buckets that it was counted in. */
  taken: readonly string[];
}

/** What became of an attempt. `wait`: it was not checked. */
export type JudgedAttempt<T> =
  | { kind: 'proven'; value: T }
  | { kind: 'wrong'; answer: LoginVerdict; isSpent: boolean }
  | { kind: 'wait'; retryInMs: number };

const OPEN: LoginVerdict = { kind: 'open' };

/**
 * How often proving oneself at the token endpoint may fail, per address, per client, and per client from one address.
 *
 * Only the caller's own failures make it wait: credentials are always checked when they were never wrong for this
 * client from this address, whatever strangers do with its client id, and neighbours at its address. A client that could be
 * locked out by a stranger who knows its name could be kept from selling (docs/adr/0033-failed-logins.md).
 */
export class FailedLogins {
  /**
   * @param limit null: no limit
   * @param kind of callers, each counted for itself
   */
  constructor(
    private readonly limit: { rate: Rate; buckets: Buckets } | null,
    private readonly kind = 'login',
    private readonly turns = new LoginTurns(),
  ) {}

  /** Before credentials are checked. */
  async mayTry(attempt: LoginAttempt): Promise<LoginVerdict> {
    if (!this.limit) return OPEN;
    const { buckets } = this.limit;
    const [pair, client, address] = await Promise.all(keysOf(this.kind, attempt).map(async (key) => buckets.peek(key)));
    if (!pair || !client || !address) return OPEN;
    if (!pair.isAllowed) return waitFor(pair.retryInMs);
    // All attempts as this client fail, or all that come from this address: then every own failure counts fully.
    return pair.fullInMs > 0 && !(client.isAllowed && address.isAllowed) ? waitFor(pair.fullInMs) : OPEN;
  }

  /**
   * Before credentials are checked: the attempt counts as wrong from now on, until `forgive`. Of attempts that come at the same moment so
   * only as many are checked as one after the other would be.
   */
  async begin(attempt: LoginAttempt): Promise<BegunAttempt> {
    const before = await this.mayTry(attempt);
    if (!this.limit || before.kind === 'wait') return { verdict: before, ifWrong: before, isSpent: false, taken: [] };
    const { rate, buckets } = this.limit;
    const keys = keysOf(this.kind, attempt);
    const verdicts = await Promise.all(keys.map(async (key) => buckets.take(key)));
    const taken = keys.filter((_key, at) => verdicts[at]?.isAllowed === true);
    const [pair, client, address] = verdicts;
    if (!pair || !client || !address) return { verdict: OPEN, ifWrong: OPEN, isSpent: false, taken };
    const isSpent = isEmpty(pair) || isEmpty(client);
    if (!pair.isAllowed) return { ...refused(pair.retryInMs), isSpent, taken };
    // What mayTry would have said, had the others that are under way been counted when it was asked.
    const missedBeforeMs = pair.fullInMs - (rate.seconds * 1_000) / rate.requests;
    const isFirst = missedBeforeMs <= 1;
    const isUnderAttack = !(client.isAllowed && address.isAllowed);
    if (isUnderAttack && !isFirst) return { ...refused(pair.fullInMs), isSpent, taken };
    return { verdict: OPEN, ifWrong: isUnderAttack ? waitFor(pair.fullInMs) : OPEN, isSpent, taken };
  }

  /**
   * Begins an attempt, checks it and ends it. For programs, which log in with many requests at once: an attempt that is kept from being
   * checked by others of the same caller, which may all be right, waits for them a little instead of being refused.
   * @param check null: the credentials are wrong; what it throws says nothing about them
   */
  async judge<T>(attempt: LoginAttempt, check: () => Promise<T | null>): Promise<JudgedAttempt<T>> {
    const [pair] = keysOf(this.kind, attempt);
    return this.turns.run(pair, async (hasFreed) => {
      const begun = await this.begin(attempt);
      const { verdict, ifWrong, isSpent } = begun;
      const forgive = async (): Promise<void> => {
        await this.forgive(begun);
        if (begun.taken.length > 0) hasFreed();
      };
      if (verdict.kind === 'wait') {
        await forgive();
        return { kind: 'wait', retryInMs: verdict.retryInMs };
      }
      const value = await check().catch(async (error: unknown) => {
        await forgive();
        throw error;
      });
      if (value === null) return { kind: 'wrong', answer: ifWrong, isSpent };
      await forgive();
      return { kind: 'proven', value };
    });
  }

  /** The credentials of an attempt that was begun were right, or could not be checked: what it has taken is given back, and no more. */
  async forgive({ taken }: Pick<BegunAttempt, 'taken'>): Promise<void> {
    const buckets = this.limit?.buckets;
    await Promise.all(taken.map(async (key) => buckets?.give(key)));
  }
}

/** The same for people: by account, and by user for a second factor within a session. */
export class PersonLogins extends FailedLogins {
  /** @param limit null: no limit */
  constructor(limit: { rate: Rate; buckets: Buckets } | null) {
    super(limit, 'person');
  }
}

/** The same for payment providers that prove themselves by a password: by account. */
export class CallerLogins extends FailedLogins {
  /** @param limit null: no limit */
  constructor(limit: { rate: Rate; buckets: Buckets } | null) {
    super(limit, 'provider');
  }
}

/** What an address comes with that may turn out to be none; each is counted for itself. */
export type TokenKind = 'token' | 'logout' | 'callback' | 'terminal';

/** How often an address may come with access tokens that are none. A good one of them is never refused for it. */
export class FailedTokens {
  /** @param limit null: no limit */
  constructor(private readonly limit: { rate: Rate; buckets: Buckets } | null) {}

  /** After a token turned out to be none; or before what costs more than a read of the database is checked: it counts as wrong until `forgive`. */
  async begin(kind: TokenKind, address: string): Promise<LoginVerdict> {
    const verdict = await this.limit?.buckets.take(`${kind}:${groupOf(address)}`);
    return !verdict || verdict.isAllowed ? OPEN : waitFor(verdict.retryInMs);
  }

  /** What was begun turned out to be good, or could not be checked. */
  async forgive(kind: TokenKind, address: string): Promise<void> {
    await this.limit?.buckets.give(`${kind}:${groupOf(address)}`);
  }
}

/** Hashed: a client id is any text of any length until a client is found, and some callers put their secret there. */
function keysOf(kind: string, { clientId, address }: LoginAttempt): [pair: string, client: string, address: string] {
  const id = sha256(clientId).toString('base64url').slice(0, 22);
  const group = address === null ? `of-${id}` : groupOf(address);
  return [`${kind}:${id}:${group}`, `${kind}:${id}`, `${kind}:${group}`];
}

function groupOf(address: string): string {
  return addressGroup(address) ?? 'none';
}

function isEmpty({ isAllowed, remaining }: BucketVerdict): boolean {
  return !isAllowed || remaining === 0;
}

function refused(retryInMs: number): Pick<BegunAttempt, 'verdict' | 'ifWrong'> {
  return { verdict: waitFor(retryInMs), ifWrong: waitFor(retryInMs) };
}

function waitFor(retryInMs: number): LoginVerdict {
  return { kind: 'wait', retryInMs };
}
