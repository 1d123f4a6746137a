import { Inject, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { sha256 } from '#runtime';
import { EnvelopeError, open, seal } from '#secrets';
import type { GatewaySettings } from '../../settings.js';
import { SETTINGS_TOKEN } from '../../tokens.js';
import { consoleAddress, type ConsoleAddress } from './console-address.js';
import { cookieName, cookieValues, setCookie } from './cookies.js';
import { SessionRepository } from './sessions/session.repository.js';

type PasskeyUse = 'passkey_login' | 'passkey_step_up' | 'passkey_new';

/** What a login, or another use of a factor, has begun with; it comes back with the next step. */
export type LoginTransaction =
  | { [K in PasskeyUse]: { kind: K; challenge: string; subject: string } }[PasskeyUse]
  | {
      kind: 'invited';
      invitationId: string;
      /** Of the passkey that the browser may make. */
      challenge: string;
      /** What this browser's authenticator secret is derived from, and no other browser's. */
      nonce: string;
    }
  | {
      kind: 'oidc';
      state: string;
      nonce: string;
      verifier: string;
      returnTo: string;
      /** The session that steps up; null: a login. */
      stepUpOf: string | null;
      /** Of that session's secret when it began, in hex. */
      shownHash: string;
      invitation: string | null;
    };

type Kind = LoginTransaction['kind'];

export const TRANSACTION_SECONDS = 600;
/** Who has opened an invitation has an app to install and a password to think of. */
const INVITED_SECONDS = 3_600;
const OWNER = 'cookie|fgw_login';

/** A sealed cookie: the server keeps nothing of a login that is only begun, so strangers can fill no table. */
@Injectable()
export class LoginCookie {
  private readonly address: ConsoleAddress;

  constructor(
    private readonly sessions: SessionRepository,
    @Inject(SETTINGS_TOKEN)
    private readonly settings: Pick<GatewaySettings, 'SECRETS_KEY' | 'CONSOLE_URL' | 'PUBLIC_URL'>,
  ) {
    this.address = consoleAddress(settings);
  }

  /** Lax for OIDC: a Strict cookie does not come back with the identity provider's redirect. */
  set(reply: FastifyReply, transaction: LoginTransaction): void {
    const seconds = transaction.kind === 'invited' ? INVITED_SECONDS : TRANSACTION_SECONDS;
    const text = JSON.stringify({ ...transaction, until: Date.now() + seconds * 1_000 });
    const value = seal(text, OWNER, this.settings.SECRETS_KEY).toString('base64url');
    const sameSite = transaction.kind === 'oidc' ? 'Lax' : 'Strict';
    setCookie(reply, this.address, { name: 'fgw_login', value, sameSite, maxAgeSeconds: seconds });
  }

  clear(reply: FastifyReply): void {
    setCookie(reply, this.address, { name: 'fgw_login', value: '', sameSite: 'Lax', maxAgeSeconds: 0 });
  }

  /** Null: there is none of this kind, it is too old, or several came. */
  read<K extends Kind>(request: FastifyRequest, kind: K): Extract<LoginTransaction, { kind: K }> | null {
    const [value, ...more] = cookieValues(request, cookieName('fgw_login', this.address));
    if (value === undefined || more.length > 0) return null;
    const found = this.opened(value);
    return found !== null && found.until > Date.now() && found.kind === kind
      ? (found as unknown as Extract<LoginTransaction, { kind: K }>)
      : null;
  }

  /** Once only, on all gateways together. @returns false: it was taken before */
  take(unique: string): Promise<boolean> {
    return this.sessions.takeChallenge(sha256(unique), TRANSACTION_SECONDS);
  }

  private opened(value: string): (LoginTransaction & { until: number }) | null {
    try {
      const text = open(Buffer.from(value, 'base64url'), OWNER, this.settings.SECRETS_KEY);
      return JSON.parse(text) as LoginTransaction & { until: number };
    } catch (error) {
      if (error instanceof EnvelopeError) return null;
      throw error;
    }
  }
}
