import { Injectable } from '@nestjs/common';
import { PrismaService } from '#database';
import type { Origin } from '../../limits/address-gate.js';
import { Passkeys } from '../credentials/passkeys.js';
import { SecondFactors } from '../credentials/second-factors.js';
import { factorRefused } from '../invitations/accept-invitation.js';
import { PersonRefusals } from '../login/person-refusals.js';
import type { LiveSession } from './live-session.js';
import { RenewSession, type Renewing } from './renew-session.js';

/** Who steps up: a user within its session. */
export interface SteppingUp extends Renewing {
  origin: Origin;
}

/** A session shows a second factor again. The one of another user is worth nothing, and each counts once. */
@Injectable()
export class StepUpSession {
  constructor(
    private readonly prisma: PrismaService,
    private readonly factors: SecondFactors,
    private readonly passkeys: Passkeys,
    private readonly refusals: PersonRefusals,
    private readonly renewal: RenewSession,
  ) {}

  /** @throws Problem 403 second_factor_refused, 429 too_many_requests */
  async withCode(who: SteppingUp, code: string): Promise<LiveSession> {
    const userId = who.caller.actor;
    return this.prove(who, async () => {
      const user = await this.prisma.user.findUnique({ where: { id: userId } });
      const step = this.factors.stepOf(user, code);
      return step !== null && (await this.factors.take(userId, step));
    });
  }

  /** @param challenge null: none was begun, or it was used. @throws Problem 403 second_factor_refused, 429 */
  async withPasskey(
    who: SteppingUp,
    credential: Record<string, unknown>,
    challenge: string | null,
  ): Promise<LiveSession> {
    return this.prove(who, async () => {
      const proof = challenge === null ? null : await this.passkeys.prove(credential, challenge);
      return proof?.userId === who.caller.actor;
    });
  }

  private async prove(who: SteppingUp, isProven: () => Promise<boolean>): Promise<LiveSession> {
    const { actor: userId } = who.caller;
    // Only one who holds a session of the user can use this up.
    const claim = { account: `step-up ${userId}`, userId, isWithinSession: true };
    await this.refusals.refuseTooMany(claim, who.origin);
    if (!(await isProven())) {
      await this.refusals.count(claim, who.origin, 'user.refuse_step_up');
      throw factorRefused();
    }
    return this.renewal.execute(who, { how: 'second factor' });
  }
}
