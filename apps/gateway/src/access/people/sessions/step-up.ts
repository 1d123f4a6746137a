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

  /** @returns null: another step-up has renewed the session meanwhile @throws Problem 403 second_factor_refused, 429 too_many_requests */
  async withCode(who: SteppingUp, code: string): Promise<LiveSession | null> {
    const userId = who.caller.actor;
    return this.prove(who, async () => {
      const user = await this.prisma.user.findFirst({ where: { id: userId } });
      const step = this.factors.stepOf(user, code);
      return step !== null && (await this.factors.take(userId, step));
    });
  }

  /** @param take uses up the challenge that was begun; null: there is none. @throws Problem 403 second_factor_refused, 429 */
  async withPasskey(
    who: SteppingUp,
    credential: Record<string, unknown>,
    take: () => Promise<string | null>,
  ): Promise<LiveSession | null> {
    return this.prove(who, async () => {
      const challenge = await take();
      const proof = challenge === null ? null : await this.passkeys.prove(credential, challenge);
      return proof?.userId === who.caller.actor;
    });
  }

  private async prove(who: SteppingUp, isProven: () => Promise<boolean>): Promise<LiveSession | null> {
    const { actor: userId } = who.caller;
    // Only one who holds a session of the user can use this up.
    const claim = { account: `step-up ${userId}`, isWithinSession: true };
    const trial = { claim, origin: who.origin, action: 'user.refuse_step_up' };
    const proven = await this.refusals.judge(trial, async () => ({ proven: (await isProven()) ? true : null, userId }));
    if (proven === null) throw factorRefused();
    return this.renewal.execute(who, { how: 'second factor' });
  }
}
