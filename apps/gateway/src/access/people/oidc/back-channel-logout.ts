import { isIP } from 'node:net';
import { Injectable } from '@nestjs/common';
import { Problem } from '#problems';
import { sha256 } from '#runtime';
import { AuditedChange } from '../../../audit/audited-change.js';
import { PLATFORM } from '../../../http/roles.js';
import type { Origin } from '../../limits/address-gate.js';
import { FailedTokens } from '../../limits/failed-logins.js';
import { OauthError, slowDown } from '../../oauth/oauth-error.js';
import { SessionRepository } from '../sessions/session.repository.js';
import { IdentityProvider } from './identity-provider.js';
import { LOGOUT_TOKEN_SECONDS, readLogoutToken, type LogoutToken } from './logout-token.js';

/** The identity provider says that a person has logged out there: its sessions here end (OpenID Connect Back-Channel Logout 1.0). */
@Injectable()
export class BackChannelLogout {
  constructor(
    private readonly provider: IdentityProvider,
    private readonly repository: SessionRepository,
    private readonly changes: AuditedChange,
    private readonly failures: FailedTokens,
  ) {}

  /**
   * A person who has no session here any more is logged out already. The address is counted first: a stranger's tokens cost no more
   * checks of signatures than it may be wrong.
   * @throws OauthError 400 for a token that does not count; Problem 404 without a provider, 503
   */
  async execute(token: string, origin: Origin): Promise<void> {
    const verdict = await this.failures.begin('logout', origin.address);
    if (verdict.kind === 'wait') throw slowDown(verdict.retryInMs, 'Too many tokens from this address were invalid.');
    const read = await this.read(token).catch(async (error: unknown) => {
      await this.failures.forgive('logout', origin.address);
      throw error;
    });
    if (!read) throw new OauthError('invalid_request', 'The logout token is not valid.');
    await this.failures.forgive('logout', origin.address);
    await this.end(read, origin);
  }

  private async read(token: string): Promise<LogoutToken | null> {
    const keys = await this.provider.keys();
    return readLogoutToken(token, keys).catch((error: unknown) => {
      throw new Problem('service_unavailable', 'The keys of the identity provider cannot be read.', { cause: error });
    });
  }

  private async end(token: LogoutToken, { address, requestId }: Origin): Promise<void> {
    const caller = {
      merchantId: PLATFORM,
      actor: 'identity-provider',
      address: isIP(address) === 0 ? null : address,
      requestId,
    };
    await this.changes.execute(caller, async (tx) => {
      // Together with what it ends: the provider sends again what was not carried out.
      const hash = sha256(`logout ${token.issuer} ${token.jti}`);
      if (!(await this.repository.takeChallenge(hash, LOGOUT_TOKEN_SECONDS, tx)))
        throw new OauthError('invalid_request', 'The logout token was used before.');
      const ended = await this.repository.endAtProvider(tx, token);
      const [first] = ended;
      if (!first) return { result: null, action: null };
      const after = { session_ids: ended.map(({ session_id: id }) => id) };
      return { result: null, action: 'user.logout_at_provider', targetId: first.user_id, before: null, after };
    });
  }
}
