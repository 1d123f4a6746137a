import { Inject, Injectable } from '@nestjs/common';
import { sha256 } from '#runtime';
import { Refusals } from '../../audit/refusals.js';
import { AddressGate, type Origin } from '../limits/address-gate.js';
import { FailedLogins, type LoginAttempt, type LoginVerdict } from '../limits/failed-logins.js';
import type { GatewaySettings } from '../../settings.js';
import { SETTINGS_TOKEN } from '../../tokens.js';
import { claimedClient, verifyAssertion } from './client-assertion.js';
import { methodOf, type ClientCredentials } from './client-credentials.js';
import { isClientSecret, NO_SECRET_HASH } from './client-secret.js';
import { issuerOf } from './issuer.js';
import { OauthError, slowDown } from './oauth-error.js';
import { OauthRepository, type ClientRow } from './oauth.repository.js';

/** Finds out whether a client is who it says, at the token endpoint and its neighbours. */
@Injectable()
export class AuthenticateClient {
  private readonly audiences: readonly string[];

  constructor(
    private readonly repository: OauthRepository,
    private readonly addresses: AddressGate,
    private readonly refusals: Refusals,
    private readonly failures: FailedLogins,
    @Inject(SETTINGS_TOKEN) private readonly settings: Pick<GatewaySettings, 'SECRETS_KEY' | 'PUBLIC_URL'>,
  ) {
    this.audiences = Object.values(issuerOf(settings.PUBLIC_URL));
  }

  /**
   * Unknown, disabled, a wrong secret, a wrong or used assertion and a way that the client may not use are one answer.
   * @throws OauthError `invalid_client`, `slow_down`; Problem 403 ip_not_allowed
   */
  async execute(credentials: ClientCredentials, origin: Origin): Promise<ClientRow> {
    const attempt = { clientId: claimedBy(credentials), address: origin.address };
    const judged = await this.failures.judge(attempt, () => this.verified(credentials, origin));
    if (judged.kind === 'wait') throw slowDown(judged.retryInMs);
    if (judged.kind === 'wrong') throw await this.failed(attempt, judged, origin);
    const client = judged.value;
    await this.addresses.check({ ...client, clientId: client.id }, origin);
    return client;
  }

  private async verified(credentials: ClientCredentials, origin: Origin): Promise<ClientRow | null> {
    const client =
      credentials.kind === 'secret' ? await this.bySecret(credentials) : await this.byAssertion(credentials);
    return client && !client.disabled && (await this.isLetIn(client, credentials, origin)) ? client : null;
  }

  /** Records it on the merchant's audit trail once many were wrong. */
  private async failed(
    { clientId: claimed }: LoginAttempt,
    { answer, isSpent }: { answer: LoginVerdict; isSpent: boolean },
    origin: Origin,
  ): Promise<OauthError> {
    const client = isSpent ? await this.find(claimed) : null;
    if (client) {
      const { id: clientId, merchantId } = client;
      const refusal = { clientId, merchantId, action: 'client.refuse_login', reason: 'too_many_failed_logins' };
      await this.refusals.record({ ...refusal, ...origin }, 'addresses');
    }
    if (answer.kind === 'wait') return slowDown(answer.retryInMs);
    return new OauthError('invalid_client', 'The client is unknown or its credentials are wrong.');
  }

  /** Right credentials by a method that was taken away: credentials that are no longer needed are still in use. */
  private async isLetIn(client: ClientRow, credentials: ClientCredentials, origin: Origin): Promise<boolean> {
    const method = methodOf(credentials);
    if (client.authMethods.includes(method)) return true;
    const { id: clientId, merchantId } = client;
    const refusal = { clientId, merchantId, action: 'client.refuse_login', reason: 'auth_method_not_allowed' };
    await this.refusals.record({ ...refusal, details: { method }, ...origin }, 'addresses');
    return false;
  }

  /** All refusals cost the same. */
  private async bySecret({ clientId, secret }: { clientId: string; secret: string }): Promise<ClientRow | null> {
    const client = await this.find(clientId);
    const { SECRETS_KEY } = this.settings;
    const isPresent = isClientSecret(secret, client?.secretHash ?? NO_SECRET_HASH, SECRETS_KEY);
    const isPrevious = isClientSecret(secret, client?.previousSecretHash ?? NO_SECRET_HASH, SECRETS_KEY);
    return isPresent || isPrevious ? client : null;
  }

  private async byAssertion(given: { clientId: string | null; assertion: string }): Promise<ClientRow | null> {
    const clientId = claimedClient(given.assertion);
    if (clientId === null || (given.clientId !== null && given.clientId !== clientId)) return null;
    const client = await this.find(clientId);
    if (!client) return null;
    const keys = await this.repository.authenticationKeys(clientId);
    const rules = { clientId, audiences: this.audiences, now: new Date() };
    const verified = await verifyAssertion(given.assertion, keys, rules);
    if (!verified) return null;
    const jtiHash = sha256(verified.jti);
    const isFirst = await this.repository.takeAssertion({ clientId, jtiHash, usableUntil: verified.usableUntil });
    return isFirst ? client : null;
  }

  /** PostgreSQL cannot store NUL, so no client has such an id. */
  private find(clientId: string): Promise<ClientRow | null> {
    return clientId.includes('\0') ? Promise.resolve(null) : this.repository.findClient(clientId);
  }
}

/** Whom it says to be; empty for an assertion that names no client. */
function claimedBy(credentials: ClientCredentials): string {
  return credentials.kind === 'secret' ? credentials.clientId : (claimedClient(credentials.assertion) ?? '');
}
