import { Inject, Injectable } from '@nestjs/common';
import { sha256 } from '#runtime';
import { AddressGate, type Origin } from '../http/address-gate.js';
import type { GatewaySettings } from '../settings.js';
import { SETTINGS_TOKEN } from '../tokens.js';
import { claimedClient, verifyAssertion } from './client-assertion.js';
import type { ClientCredentials } from './client-credentials.js';
import { isClientSecret, NO_SECRET_HASH } from './client-secret.js';
import { issuerOf } from './issuer.js';
import { OauthError } from './oauth-error.js';
import { OauthRepository, type ClientRow } from './oauth.repository.js';

/** Finds out whether a client is who it says, at the token endpoint and its neighbours. */
@Injectable()
export class AuthenticateClient {
  private readonly audiences: readonly string[];

  constructor(
    private readonly repository: OauthRepository,
    private readonly addresses: AddressGate,
    @Inject(SETTINGS_TOKEN) private readonly settings: Pick<GatewaySettings, 'SECRETS_KEY' | 'PUBLIC_URL'>,
  ) {
    this.audiences = Object.values(issuerOf(settings.PUBLIC_URL));
  }

  /**
   * Unknown, disabled, a wrong secret and a wrong or used assertion are one answer.
   * @throws OauthError `invalid_client`; Problem 403 ip_not_allowed
   */
  async execute(credentials: ClientCredentials, origin: Origin): Promise<ClientRow> {
    const client =
      credentials.kind === 'secret' ? await this.bySecret(credentials) : await this.byAssertion(credentials);
    if (!client || client.disabled) {
      throw new OauthError('invalid_client', 'The client is unknown or its credentials are wrong.');
    }
    await this.addresses.check({ ...client, clientId: client.id }, origin);
    return client;
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
