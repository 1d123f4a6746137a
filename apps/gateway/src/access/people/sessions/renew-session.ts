import { Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Problem } from '#problems';
import { AuditedChange } from '../../../audit/audited-change.js';
import type { Caller } from '../../../audit/caller.js';
import type { LiveSession } from './live-session.js';
import { SessionCookie } from './session-cookie.js';
import { hashSessionToken, newSessionToken } from './session-token.js';
import { SessionRepository } from './session.repository.js';

/** Whose session is renewed. */
export interface Renewing {
  caller: Caller;
  sessionId: string;
  /** Takes the session's new cookie. */
  reply: FastifyReply;
}

/** A second factor was shown: where, and the provider's session where it is new. */
interface Shown {
  how: string;
  sid?: string | null;
}

/** A second factor counts for the session under a new secret: what was copied of it before gains nothing by it. */
@Injectable()
export class RenewSession {
  constructor(
    private readonly repository: SessionRepository,
    private readonly changes: AuditedChange,
    private readonly cookie: SessionCookie,
  ) {}

  /** @throws Problem 401 session_invalid */
  async execute({ caller, sessionId, reply }: Renewing, { how, sid = null }: Shown): Promise<LiveSession> {
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
}

function sessionEnded(): Problem {
  return new Problem('session_invalid', 'The session has ended. Log in again.');
}
