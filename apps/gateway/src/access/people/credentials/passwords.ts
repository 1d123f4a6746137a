import { hash, verify } from '@node-rs/argon2';
import { Injectable } from '@nestjs/common';
import { Problem } from '#problems';
import { addressGroup } from '#outgoing';
import { FairSlots } from '#runtime';

/** OWASP's least for argon2id: 19 MiB, two rounds, one lane. About 20 ms of one core. */
const COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };

const MIN_LENGTH = 12;
export const MAX_PASSWORD_LENGTH = 256;
const LEAST_DIFFERENT = 6;
/** The start of what people write when twelve characters are asked for. */
const COMMON = /^(?:password|passw0rd|parol|qwerty|azerty|asdfgh|zxcvbn|123456|abcdef|admin|welcome|letmein|iloveyou)/i;

/** Passwords of people, which unlike secrets of clients can be guessed: a slow hash, and bounds on how many at a time. */
@Injectable()
export class Passwords {
  /** Hashing takes 19 MiB and a core: by address, so that one caller cannot take it from the others. */
  private readonly slots = new FairSlots({ total: 4, perKey: 2, waitingPerKey: 8, waiting: 64 });
  private dummy: Promise<string> | null = null;

  /** @param field of the body that holds it @throws Problem 422 password_weak */
  async hashNew(password: string, { email, field }: { email: string; field: string }): Promise<string> {
    const fault = passwordFault(password, email);
    if (fault !== null) throw Problem.at(`/${field}`, 'password_weak', fault);
    return this.inTurn('new', () => hash(password, COST));
  }

  /**
   * @param stored null: there is no such account, or it has no password; it takes as long
   * @throws Problem 429 too_many_requests
   */
  async matches(stored: string | null, password: string, address: string): Promise<boolean> {
    this.dummy ??= hash('no account has this password', COST);
    const against = stored ?? (await this.dummy);
    const fits = await this.inTurn(addressGroup(address) ?? 'none', () => verify(against, password));
    return fits && stored !== null;
  }

  private inTurn<T>(key: string, work: () => Promise<T>): Promise<T> {
    return this.slots.run(key, work, () => {
      const detail = 'Too many logins at this moment.';
      return new Problem('too_many_requests', detail, { retryAfterSeconds: 2 });
    });
  }
}

/** Null: it may be used. */
export function passwordFault(password: string, email: string): string | null {
  const length = [...password].length;
  if (length < MIN_LENGTH) return `the password must have at least ${MIN_LENGTH} characters`;
  if (length > MAX_PASSWORD_LENGTH) return `the password must have at most ${MAX_PASSWORD_LENGTH} characters`;
  const folded = password.toLowerCase();
  const [local = ''] = email.toLowerCase().split('@');
  const isGuessable =
    new Set(folded).size < LEAST_DIFFERENT ||
    (COMMON.test(folded) && length < 2 * MIN_LENGTH) ||
    (local.length >= 4 && folded.includes(local));
  return isGuessable ? 'the password is too easy to guess' : null;
}
