// Promise: a client ends its own tokens and learns about its own, proves itself by secret or key, and by each assertion once.
import 'reflect-metadata';
import { generateKeyPairSync } from 'node:crypto';
import { SignJWT } from 'jose';
import { createTestDatabase, type TestDatabase } from '#database/testing';
import { newId } from '#runtime';
import { newAccessToken } from './access-token.js';
import { hashClientSecret, newClientSecret } from './client-secret.js';
import { keyring, OauthGateway } from './testing/oauth-gateway.js';

const PUBLIC_URL = 'https://gateway.test/';
let database: TestDatabase;
let gateway: OauthGateway;
let merchantId: string;

beforeAll(async () => {
  database = await createTestDatabase();
  gateway = await OauthGateway.start(database, { publicUrl: PUBLIC_URL });
  merchantId = await gateway.createMerchant();
});
afterAll(async () => {
  await gateway.stop();
  await database.drop();
});

type TestClient = Awaited<ReturnType<OauthGateway['createClient']>>;

const makeClient = (scopes: string[]): Promise<TestClient> => gateway.createClient(merchantId, { scopes });

const basic = ({ id, secret }: { id: string; secret: string }): string =>
  `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`;

function askToken(form: Record<string, string>, authorization: string): Promise<Response> {
  const headers = { authorization };
  return fetch(`${gateway.url}/oauth/token`, { method: 'POST', body: new URLSearchParams(form), headers });
}

async function tokenOf(client: TestClient, scope = ''): Promise<string> {
  const response = await askToken({ grant_type: 'client_credentials', scope }, basic(client));
  return ((await response.json()) as { access_token: string }).access_token;
}

function about(
  what: 'revoke' | 'introspect',
  token: string,
  authorization?: string,
  url = gateway.url,
): Promise<Response> {
  const headers = { ...(authorization !== undefined && { authorization }) };
  return fetch(`${url}/oauth/${what}`, { method: 'POST', body: new URLSearchParams({ token }), headers });
}

describe('revocation and introspection', () => {
  test('200 for a client’s own token, which is then revoked; 200 for everything else too', async () => {
    const client = await makeClient(['receipts:read', 'catalog:read']);
    const token = await tokenOf(client, 'receipts:read');
    const alive = await about('introspect', token, basic(client));
    expect([alive.status, alive.headers.get('cache-control')]).toEqual([200, 'no-store']);
    const seconds = Math.floor(Date.now() / 1_000);
    const described = (await alive.json()) as { exp: number; iat: number };
    expect(described).toEqual({
      ...{ active: true, scope: 'receipts:read', client_id: client.id, sub: client.id, token_type: 'Bearer' },
      ...{ exp: described.iat + 900, iat: described.iat, iss: 'https://gateway.test' },
    });
    expect(Math.abs(described.iat - seconds)).toBeLessThan(60);
    for (const ended of [token, token, newAccessToken(), 'no token of ours']) {
      const response = await about('revoke', ended, basic(client));
      expect([response.status, await response.text()]).toEqual([200, '{}']);
      expect(await (await about('introspect', ended, basic(client))).json()).toEqual({ active: false });
    }
    expect(await gateway.mine(token)).toMatchObject({ status: 401, body: { code: 'invalid_token' } });
  });

  test('another client’s token is neither shown nor ended', async () => {
    const owner = await makeClient(['receipts:read']);
    const token = await tokenOf(owner);
    const stranger = basic(await makeClient(['receipts:read']));
    expect(await (await about('introspect', token, stranger)).json()).toEqual({ active: false });
    expect((await about('revoke', token, stranger)).status).toBe(200);
    expect((await gateway.mine(token)).status).toBe(200);
  });

  test.each(['revoke', 'introspect'] as const)('%s needs the client itself, and a token to speak of', async (what) => {
    const client = await makeClient(['receipts:read']);
    const token = await tokenOf(client);
    for (const authorization of [undefined, basic({ ...client, secret: 'wrong' }), `Bearer ${token}`]) {
      const response = await about(what, token, authorization);
      expect([response.status, await response.json()]).toMatchObject([401, { error: 'invalid_client' }]);
    }
    const response = await about(what, '', basic(client));
    expect([response.status, await response.json()]).toMatchObject([400, { error: 'invalid_request' }]);
  });
});

describe('private_key_jwt', () => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');

  async function makeKeyClient(): Promise<{ id: string; keyId: string }> {
    const { id } = await makeClient(['receipts:read']);
    const keyId = newId('key');
    const pem = publicKey.export({ type: 'spki', format: 'pem' }).toString();
    await gateway.prisma.clientKey.create({
      data: { id: keyId, clientId: id, use: 'authentication', algorithm: 'EdDSA', publicKey: pem, name: 'k' },
    });
    return { id, keyId };
  }

  const assertionOf = (id: string, more: Record<string, unknown> = {}): Promise<string> =>
    new SignJWT({ iss: id, sub: id, aud: 'https://gateway.test', jti: newId('jti'), ...more })
      .setProtectedHeader({ alg: 'EdDSA' })
      .setIssuedAt()
      .setExpirationTime('1 minute')
      .sign(privateKey);

  const ask = (assertion: string, url = gateway.url): Promise<Response> =>
    fetch(`${url}/oauth/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'client_credentials',
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
        client_assertion: assertion,
      }),
    });

  test('gets a token; the same assertion never again, on no gateway', async () => {
    const second = await OauthGateway.start(database, { publicUrl: PUBLIC_URL });
    try {
      const { id } = await makeKeyClient();
      const assertion = await assertionOf(id);
      const first = await ask(assertion);
      expect([first.status, await first.json()]).toMatchObject([200, { token_type: 'Bearer' }]);
      for (const url of [gateway.url, second.url]) {
        const again = await ask(assertion, url);
        expect([again.status, await again.json()]).toMatchObject([401, { error: 'invalid_client' }]);
      }
      const fresh = await assertionOf(id);
      const raced = await Promise.all([gateway.url, second.url, gateway.url].map((url) => ask(fresh, url)));
      expect(raced.map(({ status }) => status).sort()).toEqual([200, 401, 401]);
      await Promise.all(raced.map((response) => response.text()));
      expect((await gateway.prisma.clientAssertion.findMany({ where: { clientId: id } })).length).toBe(2);
    } finally {
      await second.stop();
    }
  });

  test('a disabled key or client, another client’s name and rubbish are refused alike', async () => {
    const good = await makeKeyClient();
    const other = await makeClient(['receipts:read']);
    const disabledKey = await makeKeyClient();
    await gateway.prisma.clientKey.update({ where: { id: disabledKey.keyId }, data: { disabledAt: new Date() } });
    const disabled = await makeKeyClient();
    await gateway.prisma.oauthClient.update({ where: { id: disabled.id }, data: { disabledAt: new Date() } });
    const assertions = [
      ...(await Promise.all(
        [other.id, disabledKey.id, disabled.id, newId('cli'), 'a\0b'].map((id) => assertionOf(id)),
      )),
      await assertionOf(good.id, { aud: 'https://elsewhere' }),
      await assertionOf(good.id, { sub: other.id }),
      'a.b.c',
    ];
    const bodies = [];
    for (const assertion of assertions) {
      const response = await ask(assertion);
      bodies.push([response.status, await response.text()].join(' '));
    }
    expect(new Set(bodies).size).toBe(1);
    expect(bodies[0]).toContain('401 {"error":"invalid_client"');
  });
});

test('the metadata names what there is, by PUBLIC_URL whatever the request says', async () => {
  const url = `${gateway.url}/.well-known/oauth-authorization-server`;
  const metadata = await (await fetch(url, { headers: { 'x-forwarded-host': 'evil.test' } })).json();
  expect(metadata).toMatchObject({
    issuer: 'https://gateway.test',
    token_endpoint: 'https://gateway.test/oauth/token',
    revocation_endpoint: 'https://gateway.test/oauth/revoke',
    introspection_endpoint: 'https://gateway.test/oauth/introspect',
    grant_types_supported: ['client_credentials'],
    token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'private_key_jwt'],
  });
});

test('after a rotation both secrets open until the older one’s end', async () => {
  const client = await makeClient(['receipts:read']);
  const newer = newClientSecret();
  const secretHash = new Uint8Array(hashClientSecret(newer, keyring));
  const previousSecretHash = new Uint8Array(hashClientSecret(client.secret, keyring));
  const rotate = (previousSecretExpiresAt: Date): Promise<unknown> =>
    gateway.prisma.oauthClient.update({
      where: { id: client.id },
      data: { secretHash, previousSecretHash, previousSecretExpiresAt },
    });
  const statusOf = async (secret: string): Promise<number> => {
    const response = await askToken({ grant_type: 'client_credentials' }, basic({ ...client, secret }));
    await response.text();
    return response.status;
  };
  await rotate(new Date(Date.now() + 3_600_000));
  expect([await statusOf(newer), await statusOf(client.secret)]).toEqual([200, 200]);
  await rotate(new Date(Date.now() - 3_600_000));
  expect([await statusOf(newer), await statusOf(client.secret)]).toEqual([200, 401]);
});
