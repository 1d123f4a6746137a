import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { exportJWK, generateKeyPair } from 'jose';
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
  private provider: Provider;

  private constructor(
    private readonly server: Server,
    readonly issuer: string,
    private readonly configuration: Configuration,
    provider: Provider,
  ) {
    this.provider = provider;
  }

  static async start(port: number, redirectUri: string, logoutUri: string): Promise<TestIdentityProvider> {
    const issuer = `http://127.0.0.1:${port}`;
    const handlers: { self: TestIdentityProvider | null } = { self: null };
    const configuration: Configuration = {
      clients: [
        {
          ...{ client_id: CLIENT_ID, client_secret: CLIENT_SECRET, redirect_uris: [redirectUri] },
          ...{ post_logout_redirect_uris: [logoutUri], response_types: ['code'], grant_types: ['authorization_code'] },
        },
      ],
      claims: { openid: ['sub', 'groups', 'realm_access'], email: ['email', 'email_verified'], profile: ['name'] },
      conformIdTokenClaims: false,
      cookies: { keys: ['a key of the test'] },
      features: { devInteractions: { enabled: false }, rpInitiatedLogout: { enabled: true } },
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
    const jwks = await newKeys('first');
    const server = createServer((request, response) => void handlers.self?.serve(request, response));
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    const provider = new Provider(issuer, { ...configuration, jwks });
    handlers.self = new TestIdentityProvider(server, issuer, configuration, provider);
    return handlers.self;
  }

  /** As if the old keys had been stolen: the new ones alone count, at once. */
  async rotateKeys(): Promise<void> {
    this.provider = new Provider(this.issuer, { ...this.configuration, jwks: await newKeys('second') });
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

async function newKeys(kid: string): Promise<{ keys: Record<string, unknown>[] }> {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  return { keys: [{ ...(await exportJWK(privateKey)), kid, alg: 'RS256', use: 'sig' }] };
}
