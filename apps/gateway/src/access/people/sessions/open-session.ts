import { isIP } from 'node:net';
import { Inject, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Problem } from '#problems';
import { AuditedChange } from '../../../audit/audited-change.js';
import type { Caller } from '../../../audit/caller.js';
import { PLATFORM } from '../../../http/roles.js';
import type { GatewaySettings } from '../../../settings.js';
import { SETTINGS_TOKEN } from '../../../tokens.js';
import { TokenLimit } from '../../limits/token-limit.js';
import { AuthenticatePerson } from '../authenticate-person.js';
import type { LiveSession, LoginWay } from './live-session.js';
import { refuseTooMany } from './refuse-too-many.js';
import { SessionCookie } from './session-cookie.js';
import { hashSessionToken, newSessionToken } from './session-token.js';
import { SessionRepository } from './session.repository.js';

/** Browsers and command lines in which one user is logged in at the same time; the oldest is logged out for one more. */
export const MAX_SESSIONS = 20;
const MAX_USER_AGENT = 200;

export interface Login {
  userId: string;
  way: LoginWay;
  /** Of the identity provider. */
  idToken?: string | null;
  /** The session there. */
  sid?: string | null;
}

/** Begins and ends sessions. Always under a new secret: one that was known before the login is worth nothing after it. */
@Injectable()
export class OpenSession {
  constructor(
    private readonly repository: SessionRepository,
    private readonly people: AuthenticatePerson,
    private readonly changes: AuditedChange,
    private readonly cookie: SessionCookie,
    private readonly limit: TokenLimit,
    @Inject(SETTINGS_TOKEN) private readonly settings: Pick<GatewaySettings, 'SESSION_MAX_SECONDS'>,
  ) {}

  /** The session that this browser had until now ends. @throws Problem 401 session_invalid, 429 */
  async execute(request: FastifyRequest, reply: FastifyReply, login: Login): Promise<LiveSession> {
    await refuseTooMany(this.limit, login.userId);
    const before = await this.people.sessionOf(request);
    const token = newSessionToken();
    const hash = hashSessionToken(token);
    const { userId, way, idToken = null, sid = null } = login;
    const userAgent = cleanedAgent(request.headers['user-agent']);
    const caller = userCaller(request, userId);
    await this.changes.execute(caller, async (tx) => {
      if (before) await this.repository.revoke(tx, before.userId, before.sessionId);
      const row = { hash, userId, login: way, address: caller.address, userAgent, idToken, sid };
      const id = await this.repository.insert(tx, row);
      await tx.$executeRaw`UPDATE users SET last_login_at = now() WHERE id = ${userId}`;
      await this.repository.endBeyond(tx, userId, MAX_SESSIONS);
      return {
        result: id,
        action: 'user.login',
        targetId: userId,
        before: null,
        after: { session_id: id, login: way },
      };
    });
    if (before) this.people.forgetSessionOf(request);
    const found = await this.repository.findLive(hash);
    // Disabled, or all its sessions ended, at this moment.
    if (!found) throw new Problem('session_invalid', 'The session has ended. Log in again.');
    this.cookie.set(reply, token, this.settings.SESSION_MAX_SECONDS);
    return found.value;
  }

  async end(
    request: FastifyRequest,
    reply: FastifyReply,
    session: { userId: string; sessionId: string },
  ): Promise<void> {
    const { userId, sessionId } = session;
    const caller = { ...userCaller(request, userId), sessionId };
    await this.changes.execute(caller, async (tx) => {
      await this.repository.revoke(tx, userId, sessionId);
      return { result: null, action: 'user.logout', targetId: userId, before: null, after: { session_id: sessionId } };
    });
    this.people.forgetSessionOf(request);
    this.cookie.clear(reply);
  }
}

/** What a user does about itself is on the platform's trail: it concerns no merchant. */
export function userCaller(request: FastifyRequest, userId: string): Caller {
  const address = isIP(request.ip) === 0 ? null : request.ip;
  return { merchantId: PLATFORM, actor: userId, address, requestId: request.id };
}

/** What a caller says of itself, as it may be kept and shown. */
export function cleanedAgent(text: string | undefined): string | null {
  return text === undefined ? null : text.replace(/[^\x20-\x7e]/g, '?').slice(0, MAX_USER_AGENT);
}
