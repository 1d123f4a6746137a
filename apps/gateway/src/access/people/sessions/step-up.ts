import { Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { PrismaService } from '#database';
import { Problem } from '#problems';
import { AuditedChange } from '../../../audit/audited-change.js';
import type { Caller } from '../../../audit/caller.js';
import type { Origin } from '../../limits/address-gate.js';
import { Passkeys } from '../credentials/passkeys.js';
import { SecondFactors } from '../credentials/second-factors.js';
import { factorRefused } from '../invitations/accept-invitation.js';
import { PersonRefusals } from '../login/person-refusals.js';
import type { LiveSession } from './live-session.js';
import { SessionCookie } from './session-cookie.js';
import { hashSessionToken, newSessionToken } from './session-token.js';
import { SessionRepository } from './session.repository.js';

/** Who steps up: a user within its session. */
export interface SteppingUp {
  caller: Caller;
  sessionId: string;
  origin: Origin;
  /** Takes the session's new cookie. */
  reply: FastifyReply;
}

/** What was shown, and where; the provider's session where it is new. */
interface Shown {
  how: string;
  sid?: string | null;
}

/**
 * A session shows a second factor again. The one of another user is worth nothing, and each counts once. The session goes on under a new
 * secret: what was copied of it before gains nothing by the second factor.
 */
@Injectable()
export class StepUpSession {
  constructor(
    private readonly prisma: PrismaService,
    private readonly repository: SessionRepository,
    private readonly changes: AuditedChange,
    private readonly factors: SecondFactors,
    private readonly passkeys: Passkeys,
    private readonly refusals: PersonRefusals,
    private readonly cookie: SessionCookie,
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

  /** Shown elsewhere: at the identity provider. @throws Problem 401 session_invalid */
  async record(
    { caller, sessionId, reply }: Pick<SteppingUp, 'caller' | 'sessionId' | 'reply'>,
    { how, sid = null }: Shown,
  ): Promise<LiveSession> {
    const token = newSessionToken();
    const hash = hashSessionToken(token);
    const { remainingSeconds } = await this.changes.execute(caller, async (tx) => {
      const renewed = await this.repository.renew(tx, sessionId, { hash, sid });
      if (renewed?.userId !== caller.actor) throw sessionEnded();
      return { result: renewed, action: 'user.step_up', targetId: caller.actor, before: null, after: { how } };
    });
    const found = await this.repository.findLive(hash);
    if (!found) throw sessionEnded();
    this.cookie.set(reply, token, remainingSeconds);
    return found.value;
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
    return this.record(who, { how: 'second factor' });
  }
}

function sessionEnded(): Problem {
  return new Problem('session_invalid', 'The session has ended. Log in again.');
}
