import { Injectable } from '@nestjs/common';
import { Problem } from '#problems';
import { Refusals } from '../../../audit/refusals.js';
import { PLATFORM } from '../../../http/roles.js';
import type { Origin } from '../../limits/address-gate.js';
import { PersonLogins, type LoginAttempt } from '../../limits/failed-logins.js';
import { secondsToWait } from '../../limits/limit-headers.js';

/** One who tries to prove to be someone. */
export interface Claim {
  /** What the attempts are counted for: an account as it was written, or a user whose session steps up. */
  account: string;
  /** It is within a session: attempts from all addresses count together. */
  isWithinSession?: boolean;
}

/** What a check of a claim has found. */
export interface Checked<T> {
  /** Null: nothing. */
  proven: T | null;
  /** Whose trail a refusal stands on; null: there is no such user. */
  userId: string | null;
}

/** How often a login and a second factor may be wrong, and what is left of it on the trail. */
@Injectable()
export class PersonRefusals {
  constructor(
    private readonly logins: PersonLogins,
    private readonly refusals: Refusals,
  ) {}

  /**
   * The claim counts as wrong before it is checked, so that a burst of guesses is no larger than the limit.
   * @param action of the record on the trail when it is wrong
   * @returns what was proven; null: nothing was
   * @throws Problem 429 too_many_requests
   */
  async judge<T>(
    { claim, origin, action }: { claim: Claim; origin: Origin; action: string },
    check: () => Promise<Checked<T>>,
  ): Promise<T | null> {
    const begun = await this.logins.begin(attemptOf(claim, origin));
    const { verdict, isSpent } = begun;
    if (verdict.kind === 'wait') throw tooMany(verdict.retryInMs);
    const { proven, userId } = await check().catch(async (error: unknown) => {
      await this.logins.forgive(begun);
      throw error;
    });
    if (proven !== null) await this.logins.forgive(begun);
    else if (userId !== null) this.record({ userId, action, isSpent }, origin);
    return proven;
  }

  /** Behind the answer: how long an answer takes does not show whether there is such an account. */
  private record(
    { userId, action, isSpent }: { userId: string; action: string; isSpent: boolean },
    origin: Origin,
  ): void {
    const reason = isSpent ? 'too_many_failed_logins' : 'wrong_credentials';
    void this.refusals.record({ clientId: userId, merchantId: PLATFORM, action, reason, ...origin }, 'addresses');
  }
}

function attemptOf({ account, isWithinSession = false }: Claim, { address }: Origin): LoginAttempt {
  return { clientId: account, address: isWithinSession ? null : address };
}

function tooMany(retryInMs: number): Problem {
  const detail = 'Too many attempts were wrong. Wait as Retry-After says.';
  return new Problem('too_many_requests', detail, { retryAfterSeconds: secondsToWait(retryInMs) });
}
