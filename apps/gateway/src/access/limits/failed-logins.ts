import { addressGroup } from '#outgoing';
import { sha256 } from '#runtime';
import type { Buckets } from './client-limit.js';
import type { Rate } from '../../http/rate.js';
import type { BucketVerdict } from './token-bucket.js';

/** Who tries to authenticate as which client. Both are the caller's claims; neither is verified. */
export interface LoginAttempt {
  /** Any text. */
  clientId: string;
  /** Null: counted by client alone, for one that is known already. */
  address: string | null;
}

export type LoginVerdict = { kind: 'open' } | { kind: 'wait'; retryInMs: number };

/** What a wrong attempt led to. */
export interface CountedFailure {
  verdict: LoginVerdict;
  /** Nothing is left for this client, here or altogether: worth a word on its trail. */
  isSpent: boolean;
}

/** An attempt that counts as wrong until it is forgiven. */
export interface BegunAttempt extends CountedFailure {
  /** The buckets that it was counted in. */
  taken: readonly string[];
}

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

  /** After credentials turned out wrong. */
  async count(attempt: LoginAttempt): Promise<CountedFailure> {
    if (!this.limit) return { verdict: OPEN, isSpent: false };
    const { buckets } = this.limit;
    const [pair, client, address] = await Promise.all(keysOf(this.kind, attempt).map(async (key) => buckets.take(key)));
    if (!pair || !client || !address) return { verdict: OPEN, isSpent: false };
    const isSpent = isEmpty(pair) || isEmpty(client);
    const isOver = !(pair.isAllowed && client.isAllowed && address.isAllowed);
    const retryInMs = pair.isAllowed ? pair.fullInMs : pair.retryInMs;
    return { verdict: isOver ? waitFor(retryInMs) : OPEN, isSpent };
  }

  /**
   * Before credentials are checked, in place of `mayTry`: the attempt counts as wrong from now on, until `forgive`. Of attempts that come
   * at the same moment so only as many are checked as one after the other would be.
   */
  async begin(attempt: LoginAttempt): Promise<BegunAttempt> {
    const before = await this.mayTry(attempt);
    if (!this.limit || before.kind === 'wait') return { verdict: before, isSpent: false, taken: [] };
    const { rate, buckets } = this.limit;
    const keys = keysOf(this.kind, attempt);
    const verdicts = await Promise.all(keys.map(async (key) => buckets.take(key)));
    const taken = keys.filter((_key, at) => verdicts[at]?.isAllowed === true);
    const [pair, client, address] = verdicts;
    if (!pair || !client || !address) return { verdict: OPEN, isSpent: false, taken };
    const isSpent = isEmpty(pair) || isEmpty(client);
    if (!pair.isAllowed) return { verdict: waitFor(pair.retryInMs), isSpent, taken };
    // What mayTry would have said, had the others that are under way been counted when it was asked.
    const missedBeforeMs = pair.fullInMs - (rate.seconds * 1_000) / rate.requests;
    const isFirst = missedBeforeMs <= 1;
    const isOver = !isFirst && !(client.isAllowed && address.isAllowed);
    return { verdict: isOver ? waitFor(pair.fullInMs) : OPEN, isSpent, taken };
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
export type TokenKind = 'token' | 'logout' | 'callback';

/** How often an address may come with access tokens that are none. A good one of them is never refused for it. */
export class FailedTokens {
  /** @param limit null: no limit */
  constructor(private readonly limit: { rate: Rate; buckets: Buckets } | null) {}

  /** After a token turned out to be none. */
  async count(address: string): Promise<LoginVerdict> {
    if (!this.limit) return OPEN;
    return this.take(this.limit.buckets, 'token', address);
  }

  /** Before what costs more than a read of the database is checked: it counts as wrong until `forgive`. */
  async begin(kind: TokenKind, address: string): Promise<LoginVerdict> {
    return this.limit ? this.take(this.limit.buckets, kind, address) : OPEN;
  }

  /** What was begun turned out to be good, or could not be checked. */
  async forgive(kind: TokenKind, address: string): Promise<void> {
    await this.limit?.buckets.give(`${kind}:${groupOf(address)}`);
  }

  private async take(buckets: Buckets, kind: TokenKind, address: string): Promise<LoginVerdict> {
    const verdict = await buckets.take(`${kind}:${groupOf(address)}`);
    return verdict.isAllowed ? OPEN : waitFor(verdict.retryInMs);
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

function waitFor(retryInMs: number): LoginVerdict {
  return { kind: 'wait', retryInMs };
}
