import { Inject, Injectable } from '@nestjs/common';
import { createRemoteJWKSet, customFetch as keysFetch, type JWTVerifyGetKey } from 'jose';
import {
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  buildEndSessionUrl,
  calculatePKCECodeChallenge,
  customFetch,
  discovery,
  enableNonRepudiationChecks,
  fetchUserInfo,
  randomNonce,
  randomPKCECodeVerifier,
  randomState,
  type Configuration,
} from 'openid-client';
import { Problem } from '#problems';
import type { Logger } from '#runtime';
import type { GatewaySettings } from '../../../settings.js';
import { LOGGER, SETTINGS_TOKEN } from '../../../tokens.js';
import { consoleAddress } from '../console-address.js';
import { boundedFetch } from './bounded-fetch.js';
import { isProviderName } from './provider-name.js';

/** What the identity provider says of who logged in; checked, its signature too. */
export interface Identity {
  issuer: string;
  subject: string;
  claims: Readonly<Record<string, unknown>>;
  idToken: string;
  /** The session there; null: the provider gives its sessions no names. */
  sid: string | null;
}

export interface BegunLogin {
  url: URL;
  state: string;
  nonce: string;
  verifier: string;
}

/** With which the provider signs what it sends to us by itself. */
export interface ProviderKeys {
  issuer: string;
  clientId: string;
  find: JWTVerifyGetKey;
}

type OidcSettings = Pick<
  GatewaySettings,
  | 'OIDC_ISSUER'
  | 'OIDC_CLIENT_ID'
  | 'OIDC_CLIENT_SECRET'
  | 'OIDC_SCOPES'
  | 'OIDC_STEP_UP_ACR'
  | 'PUBLIC_URL'
  | 'CONSOLE_URL'
>;

/** Strangers who begin logins do not make us ask the provider each time. */
const DISCOVERED_MS = 300_000;
const TIMEOUT_SECONDS = 10;
/** A key that is not known is asked for at most so often, whatever strangers send. */
const KEYS_PAUSE_MS = 5_000;
/** A login that shall be fresh may be so old when it arrives. */
const FRESH_SECONDS = 60;

/** Any provider of OpenID Connect: found by discovery, used by code and PKCE. */
@Injectable()
export class IdentityProvider {
  private remoteKeys: { at: string; find: JWTVerifyGetKey } | null = null;
  private discovered: { at: number; configuration: Promise<Configuration> } | null = null;

  constructor(
    @Inject(SETTINGS_TOKEN) private readonly settings: OidcSettings,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** Of the console's origin: the session's cookie belongs there. */
  get redirectUri(): string {
    const { origin } = consoleAddress(this.settings);
    const own = new URL(this.settings.PUBLIC_URL);
    const isBelow = consoleAddress({ CONSOLE_URL: undefined, PUBLIC_URL: own.href }).origin === origin;
    return `${origin}${isBelow ? own.pathname.replace(/(?<!\/)\/+$/, '') : ''}/auth/oidc/callback`;
  }

  /** @throws Problem 404 without a provider, 503 service_unavailable */
  async begin(isStepUp: boolean): Promise<BegunLogin> {
    const configuration = await this.configuration(true);
    const [verifier, state, nonce] = [randomPKCECodeVerifier(), randomState(), randomNonce()];
    const { OIDC_SCOPES: scope, OIDC_STEP_UP_ACR: acr } = this.settings;
    const url = buildAuthorizationUrl(configuration, {
      ...{ redirect_uri: this.redirectUri, scope, state, nonce },
      ...{ code_challenge: await calculatePKCECodeChallenge(verifier), code_challenge_method: 'S256' },
      ...(isStepUp && { prompt: 'login', max_age: '0' }),
      ...(isStepUp && acr !== undefined && { acr_values: acr }),
    });
    return { url, state, nonce, verifier };
  }

  /**
   * Null: the provider refused, or what came back is not what was asked for. Which of them is logged, and answered to no caller.
   * @param query of the callback, as it came
   */
  async finish(query: string, begun: Omit<BegunLogin, 'url'> & { isStepUp: boolean }): Promise<Identity | null> {
    // Read anew: keys that the provider has just changed are known, and a login is rare.
    const configuration = await this.configuration(false);
    try {
      const tokens = await authorizationCodeGrant(configuration, new URL(`${this.redirectUri}?${query}`), {
        pkceCodeVerifier: begun.verifier,
        expectedState: begun.state,
        expectedNonce: begun.nonce,
        idTokenExpected: true,
        ...(begun.isStepUp && { maxAge: FRESH_SECONDS }),
      });
      const claims = tokens.claims();
      if (!claims || tokens.id_token === undefined) return null;
      const { OIDC_STEP_UP_ACR: acr } = this.settings;
      if (begun.isStepUp && acr !== undefined && claims['acr'] !== acr) return null;
      // Some providers keep groups and address for their user info; what the signed token says comes first.
      const hasMore = configuration.serverMetadata().userinfo_endpoint !== undefined;
      const more = hasMore ? await fetchUserInfo(configuration, tokens.access_token, claims.sub) : {};
      const { iss: issuer, sub: subject, sid } = claims;
      return {
        ...{ issuer, subject, claims: { ...more, ...claims }, idToken: tokens.id_token },
        sid: isProviderName(sid) ? sid : null,
      };
    } catch (error) {
      this.logger.info({ err: error }, 'a login at the identity provider was refused');
      return null;
    }
  }

  /** Where the browser logs out; null: the provider has no such place, or does not answer. */
  async logoutUrl(idToken: string): Promise<string | null> {
    try {
      const configuration = await this.configuration(true);
      if (configuration.serverMetadata().end_session_endpoint === undefined) return null;
      const after = { id_token_hint: idToken, post_logout_redirect_uri: `${consoleAddress(this.settings).url}/login` };
      return buildEndSessionUrl(configuration, after).href;
    } catch (error) {
      // The own session ends all the same.
      this.logger.warn({ err: error }, 'the identity provider could not be asked to log out');
      return null;
    }
  }

  /** @throws Problem 404 without a provider, 503 service_unavailable */
  async keys(): Promise<ProviderKeys> {
    const metadata = (await this.configuration(true)).serverMetadata();
    const { issuer, jwks_uri: keysAt } = metadata;
    if (keysAt === undefined) throw unavailable(new Error('the identity provider names no keys'));
    const isKnown = this.remoteKeys?.at === keysAt;
    if (!isKnown) {
      if (!isOwnMachine(keysAt) && new URL(keysAt).protocol !== 'https:')
        throw unavailable(new Error('the keys of the identity provider are not behind https'));
      const options = {
        ...{ cooldownDuration: KEYS_PAUSE_MS, timeoutDuration: TIMEOUT_SECONDS * 1_000 },
        [keysFetch]: boundedFetch,
      };
      this.remoteKeys = { at: keysAt, find: createRemoteJWKSet(new URL(keysAt), options) };
    }
    if (!this.remoteKeys) throw new Error('keys were not set up');
    return { issuer, clientId: this.settings.OIDC_CLIENT_ID ?? '', find: this.remoteKeys.find };
  }

  private configuration(mayBeKnown: boolean): Promise<Configuration> {
    const known = this.discovered;
    if (mayBeKnown && known && performance.now() - known.at < DISCOVERED_MS) return known.configuration;
    const configuration = this.discover();
    this.discovered = { at: performance.now(), configuration };
    configuration.catch(() => {
      if (this.discovered?.configuration === configuration) this.discovered = null;
    });
    return configuration;
  }

  private async discover(): Promise<Configuration> {
    const { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId, OIDC_CLIENT_SECRET: secret } = this.settings;
    if (issuer === undefined || clientId === undefined)
      throw new Problem('not_found', 'No identity provider is set up (OIDC_ISSUER, OIDC_CLIENT_ID).');
    // Over the network only https, whatever the setting says.
    const execute = [enableNonRepudiationChecks, ...(isOwnMachine(issuer) ? [allowInsecureRequests] : [])];
    try {
      const options = { execute, timeout: TIMEOUT_SECONDS, [customFetch]: boundedFetch };
      return await discovery(new URL(issuer), clientId, secret, undefined, options);
    } catch (error) {
      throw unavailable(error);
    }
  }
}

function isOwnMachine(address: string): boolean {
  return ['localhost', '127.0.0.1', '[::1]'].includes(new URL(address).hostname);
}

function unavailable(cause: unknown): Problem {
  return new Problem('service_unavailable', 'The identity provider does not answer.', { cause });
}
