import { timingSafeEqual } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { Problem } from '#problems';
import { sha256 } from '#runtime';
import { EnvelopeError, open, seal } from '#secrets';
import { AuditedChange } from '../../../audit/audited-change.js';
import type { Person } from '../../../http/current-client.js';
import type { GatewaySettings } from '../../../settings.js';
import { SETTINGS_TOKEN } from '../../../tokens.js';
import { TokenLimit } from '../../limits/token-limit.js';
import type { LiveSession } from '../sessions/live-session.js';
import { cleanedAgent, MAX_SESSIONS, userCaller } from '../sessions/open-session.js';
import { refuseTooMany } from '../sessions/refuse-too-many.js';
import { hashSessionToken, newTerminalToken } from '../sessions/session-token.js';
import { SessionRepository } from '../sessions/session.repository.js';

/** What a code holds. It is sealed: the server keeps nothing of a login that is only begun. */
interface Code {
  sessionId: string;
  userId: string;
  challenge: string;
  until: number;
}

/** The browser brings it to the own machine at once. */
const CODE_SECONDS = 60;
const OWNER = 'code|terminal';

export interface TerminalSession {
  token: string;
  session: LiveSession;
}

/** Sessions of command lines, each confirmed by a person in a browser (RFC 8252: authorization code, PKCE, loopback). */
@Injectable()
export class TerminalSessions {
  constructor(
    private readonly repository: SessionRepository,
    private readonly changes: AuditedChange,
    private readonly limit: TokenLimit,
    @Inject(SETTINGS_TOKEN) private readonly settings: Pick<GatewaySettings, 'SECRETS_KEY'>,
  ) {}

  /** A code for the command line that holds the verifier of this challenge. */
  codeFor({ userId, sessionId }: Person, challenge: string): string {
    const code: Code = { sessionId, userId, challenge, until: Date.now() + CODE_SECONDS * 1_000 };
    return seal(JSON.stringify(code), OWNER, this.settings.SECRETS_KEY).toString('base64url');
  }

  /** Once, and only for the verifier. @throws Problem 401 login_failed, session_invalid; 429 */
  async open(request: FastifyRequest, text: string, verifier: string): Promise<TerminalSession> {
    // Several texts mean the same bytes: what was used up are those.
    const sealed = Buffer.from(text, 'base64url');
    const code = this.opened(sealed);
    if (!code || code.until <= Date.now() || !isVerifierOf(code.challenge, verifier)) throw refused();
    const { userId, sessionId: parentId } = code;
    await refuseTooMany(this.limit, userId);
    const token = newTerminalToken();
    const hash = hashSessionToken(token);
    const caller = userCaller(request, userId);
    const userAgent = cleanedAgent(request.headers['user-agent']);
    await this.changes.execute(caller, async (tx) => {
      if (!(await this.repository.takeChallenge(sha256(sealed), CODE_SECONDS, tx))) throw refused();
      const row = { hash, userId, address: caller.address, userAgent };
      const id = await this.repository.insertOf(tx, parentId, row);
      if (id === null) throw refused();
      await this.repository.endBeyond(tx, userId, MAX_SESSIONS);
      const after = { session_id: id, login: 'terminal', confirmed_in: parentId };
      return { result: id, action: 'user.login', targetId: userId, before: null, after };
    });
    const found = await this.repository.findLive(hash);
    if (!found) throw new Problem('session_invalid', 'The session has ended. Log in again.');
    return { token, session: found.value };
  }

  private opened(sealed: Buffer): Code | null {
    try {
      return JSON.parse(open(sealed, OWNER, this.settings.SECRETS_KEY)) as Code;
    } catch (error) {
      if (error instanceof EnvelopeError) return null;
      throw error;
    }
  }
}

function isVerifierOf(challenge: string, verifier: string): boolean {
  return timingSafeEqual(Buffer.from(sha256(verifier).toString('base64url')), Buffer.from(challenge));
}

/** Whatever is wrong with it. */
function refused(): Problem {
  return new Problem(
    'login_failed',
    'The code is unknown, used or older than a minute. Run fgw login --browser again.',
  );
}
