import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { exportJWK, generateKeyPair, importJWK, SignJWT, type JWK, type JWTPayload } from 'jose';
import { Provider, type Configuration } from 'oidc-provider';

export const CLIENT_ID = 'fiscal-gateway';
export const CLIENT_SECRET = 'a secret of the identity provider';

/** Who logs in next at the provider, and what it says of it. */
export interface Account {
  sub: string;
  claims: Record<string, unknown>;
}

/** A real provider of OpenID Connect, in this process. Who logs in is what the test says; everything else is its own. */
export class TestIdentityProvider {
  account: Account = { sub: 'not-set', claims: {} };
  /** The person at the provider declines. */
  refuses = false;
  /** How long a code may be exchanged. */
  codeSeconds = 60;
  private readonly configuration: Configuration;
  private provider: Provider;
  private keys: Keys;

  private constructor(
    private readonly server: Server,
    readonly issuer: string,
    { configuration, provider, keys }: { configuration: Configuration; provider: Provider; keys: Keys },
  ) {
    this.configuration = configuration;
    this.provider = provider;
    this.keys = keys;
  }

  /** @param backChannel where it says that a person has logged out */
  static async start(
    port: number,
    redirectUri: string,
    { logoutUri, backChannel }: { logoutUri: string; backChannel: string },
  ): Promise<TestIdentityProvider> {
    const issuer = `http://127.0.0.1:${port}`;
    const handlers: { self: TestIdentityProvider | null } = { self: null };
    const configuration: Configuration = {
      clients: [
        {
          ...{ client_id: CLIENT_ID, client_secret: CLIENT_SECRET, redirect_uris: [redirectUri] },
          ...{ post_logout_redirect_uris: [logoutUri], response_types: ['code'], grant_types: ['authorization_code'] },
          ...{ backchannel_logout_uri: backChannel, backchannel_logout_session_required: true },
        },
      ],
      claims: { openid: ['sub', 'groups', 'realm_access'], email: ['email', 'email_verified'], profile: ['name'] },
      conformIdTokenClaims: false,
      cookies: { keys: ['a key of the test'] },
      features: {
        devInteractions: { enabled: false },
        rpInitiatedLogout: { enabled: true },
        backchannelLogout: { enabled: true },
      },
      // Its own calls no address of this machine, where the gateway of the test is.
      fetch: (url, { body = null, headers = {}, method = 'GET' } = {}) => fetch(url, { body, headers, method }),
      findAccount: (_context, id) => ({
        accountId: id,
        claims: () => ({ sub: id, ...(handlers.self?.account.claims ?? {}) }),
      }),
      interactions: { url: (_context, interaction) => `/interaction/${interaction.uid}` },
      loadExistingGrant: async (context) => {
        const grant = new context.oidc.provider.Grant({
          clientId: CLIENT_ID,
          accountId: context.oidc.session?.accountId ?? '',
        });
        grant.addOIDCScope('openid email profile');
        await grant.save();
        return grant;
      },
      pkce: { required: () => true },
      ttl: {
        AuthorizationCode: () => handlers.self?.codeSeconds ?? 60,
        IdToken: 600,
        Session: 600,
        Interaction: 600,
        Grant: 600,
        AccessToken: 600,
      },
    };
    const keys = await newKeys('first');
    const server = createServer((request, response) => void handlers.self?.serve(request, response));
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    const provider = new Provider(issuer, { ...configuration, jwks: keys });
    handlers.self = new TestIdentityProvider(server, issuer, { configuration, provider, keys });
    return handlers.self;
  }

  /** As if the old keys had been stolen: the new ones alone count, at once. */
  async rotateKeys(): Promise<void> {
    this.keys = await newKeys('second');
    this.provider = new Provider(this.issuer, { ...this.configuration, jwks: this.keys });
  }

  /** With the key of this moment, whatever the claims are. */
  async sign(claims: JWTPayload): Promise<string> {
    const [key] = this.keys.keys;
    if (!key) throw new Error('the provider has no key');
    const header = { alg: 'RS256', kid: String(key.kid), typ: 'logout+jwt' };
    return new SignJWT(claims).setProtectedHeader(header).sign(await importJWK(key, 'RS256'));
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!request.url?.startsWith('/interaction/')) {
      await this.provider.callback()(request, response);
      return;
    }
    const result = this.refuses
      ? { error: 'access_denied', error_description: 'the person declined' }
      : { login: { accountId: this.account.sub, ts: Math.floor(Date.now() / 1_000) } };
    await this.provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false });
  }
}

interface Keys {
  keys: JWK[];
}

async function newKeys(kid: string): Promise<Keys> {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  return { keys: [{ ...(await exportJWK(privateKey)), kid, alg: 'RS256', use: 'sig' }] };
}
