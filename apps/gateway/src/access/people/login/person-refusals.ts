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
  /** Null: there is no such user. */
  userId: string | null;
  /** It is within a session: attempts from all addresses count together. */
  isWithinSession?: boolean;
}

/** How often a login and a second factor may be wrong, and what is left of it on the trail. */
@Injectable()
export class PersonRefusals {
  constructor(
    private readonly logins: PersonLogins,
    private readonly refusals: Refusals,
  ) {}

  /** @throws Problem 429 too_many_requests */
  async refuseTooMany(claim: Omit<Claim, 'userId'>, origin: Origin): Promise<void> {
    const verdict = await this.logins.mayTry(attemptOf(claim, origin));
    if (verdict.kind === 'wait') throw tooMany(verdict.retryInMs);
  }

  /** The record is written behind the answer: how long an answer takes does not show whether there is such an account. */
  async count(claim: Claim, origin: Origin, action: string): Promise<void> {
    const { isSpent } = await this.logins.count(attemptOf(claim, origin));
    const { userId } = claim;
    if (userId === null) return;
    const reason = isSpent ? 'too_many_failed_logins' : 'wrong_credentials';
    void this.refusals.record({ clientId: userId, merchantId: PLATFORM, action, reason, ...origin }, 'addresses');
  }
}

function attemptOf({ account, isWithinSession = false }: Omit<Claim, 'userId'>, { address }: Origin): LoginAttempt {
  return { clientId: account, address: isWithinSession ? null : address };
}

function tooMany(retryInMs: number): Problem {
  const detail = 'Too many attempts were wrong. Wait as Retry-After says.';
  return new Problem('too_many_requests', detail, { retryAfterSeconds: secondsToWait(retryInMs) });
}
