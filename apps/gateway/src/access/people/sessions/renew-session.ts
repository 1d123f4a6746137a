import { Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Problem } from '#problems';
import { AuditedChange } from '../../../audit/audited-change.js';
import type { Caller } from '../../../audit/caller.js';
import { TokenLimit } from '../../limits/token-limit.js';
import type { LiveSession } from './live-session.js';
import { refuseTooMany } from './refuse-too-many.js';
import { SessionCookie } from './session-cookie.js';
import { hashSessionToken, newSessionToken } from './session-token.js';
import { SessionRepository, type Renewal } from './session.repository.js';

/** Whose session is renewed. */
export interface Renewing {
  caller: Caller;
  sessionId: string;
  /** Of the secret with which the second factor was begun. */
  shownHash: Buffer;
  /** Takes the session's new cookie. */
  reply: FastifyReply;
}

/** A second factor was shown: where, and the provider's session where it is new. */
interface Shown {
  how: string;
  atProvider?: Renewal['atProvider'];
}

/** A second factor counts for the session under a new secret: what was copied of it before gains nothing by it. */
@Injectable()
export class RenewSession {
  constructor(
    private readonly repository: SessionRepository,
    private readonly changes: AuditedChange,
    private readonly cookie: SessionCookie,
    private readonly limit: TokenLimit,
  ) {}

  /**
   * Of two at the same moment one renews the session. The other sets no cookie: the browser has the one of the first, which a second new
   * secret would end.
   * @returns null: it was renewed meanwhile by another one
   * @throws Problem 401 session_invalid, 429
   */
  async execute({ caller, sessionId, shownHash, reply }: Renewing, shown: Shown): Promise<LiveSession | null> {
    await refuseTooMany(this.limit, caller.actor);
    const token = newSessionToken();
    const hash = hashSessionToken(token);
    const renewal = { shownHash, hash, atProvider: shown.atProvider ?? null };
    const remainingSeconds = await this.changes.execute<number | null>(caller, async (tx) => {
      const renewed = await this.repository.renew(tx, sessionId, renewal);
      if (renewed?.userId !== caller.actor) throw sessionEnded();
      if (renewed.kind === 'superseded') return { result: null, action: null };
      const after = { how: shown.how };
      return { result: renewed.remainingSeconds, action: 'user.step_up', targetId: caller.actor, before: null, after };
    });
    if (remainingSeconds === null) return null;
    const found = await this.repository.findLive(hash);
    if (!found) throw sessionEnded();
    this.cookie.set(reply, token, remainingSeconds);
    return found.value;
  }
}

export function sessionEnded(): Problem {
  return new Problem('session_invalid', 'The session has ended. Log in again.');
}
