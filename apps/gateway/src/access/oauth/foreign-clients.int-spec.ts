// Promise: OAuth clients that others wrote get tokens here and use them, without knowing anything but our address.
import 'reflect-metadata';
import { generateKeyPairSync, type webcrypto } from 'node:crypto';
import * as oauth from 'oauth4webapi';
import * as openid from 'openid-client';
import { ClientCredentials } from 'simple-oauth2';
import { createTestDatabase, type TestDatabase } from '#database/testing';
import { newId } from '#runtime';
import { freePorts } from '../../../../../libs/runtime/src/testing/free-ports.js';
import { OauthGateway } from './testing/oauth-gateway.js';

let database: TestDatabase;
let gateway: OauthGateway;
let issuer: URL;
let client: { id: string; secret: string };
let privateKey: webcrypto.CryptoKey;
let keyId: string;

beforeAll(async () => {
  database = await createTestDatabase();
  // The metadata must name the address under which it is found.
  gateway = await OauthGateway.start(database, { port: await freePorts(1) });
  issuer = new URL(gateway.url);
  client = await gateway.createClient(await gateway.createMerchant());
  const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  keyId = newId('key');
  await gateway.prisma.clientKey.create({
    data: {
      ...{ id: keyId, clientId: client.id, use: 'authentication', algorithm: 'ES256', name: 'k' },
      publicKey: pair.publicKey.export({ type: 'spki', format: 'pem' }).toString(),
    },
  });
  const pkcs8 = pair.privateKey.export({ type: 'pkcs8', format: 'der' });
  privateKey = await crypto.subtle.importKey('pkcs8', pkcs8, { name: 'ECDSA', namedCurve: 'P-256' }, false, ['sign']);
});
afterAll(async () => {
  await gateway.stop();
  await database.drop();
});

const mine = (): URL => new URL('/v1/mine', issuer);

describe('oauth4webapi', () => {
  const insecure = { [oauth.allowInsecureRequests]: true };
  const ways: [string, () => oauth.ClientAuth][] = [
    ['client_secret_basic', () => oauth.ClientSecretBasic(client.secret)],
    ['client_secret_post', () => oauth.ClientSecretPost(client.secret)],
    ['private_key_jwt', () => oauth.PrivateKeyJwt({ key: privateKey, kid: keyId })],
  ];

  test.each(ways)('discovers, gets a token by %s, uses it, asks about it, ends it', async (_name, authentication) => {
    const found = await oauth.discoveryRequest(issuer, { ...insecure, algorithm: 'oauth2' });
    const server = await oauth.processDiscoveryResponse(issuer, found);
    const self: oauth.Client = { client_id: client.id };
    const asked = await oauth.clientCredentialsGrantRequest(
      server,
      self,
      authentication(),
      { scope: 'receipts:read' },
      insecure,
    );
    const { access_token: token, ...rest } = await oauth.processClientCredentialsResponse(server, self, asked);
    expect(rest).toMatchObject({ token_type: 'bearer', expires_in: 900, scope: 'receipts:read' });
    const used = await oauth.protectedResourceRequest(token, 'GET', mine(), undefined, undefined, insecure);
    expect(await used.json()).toMatchObject({ clientId: client.id });
    const about = async (): Promise<oauth.IntrospectionResponse> =>
      oauth.processIntrospectionResponse(
        server,
        self,
        await oauth.introspectionRequest(server, self, authentication(), token, insecure),
      );
    expect(await about()).toMatchObject({ active: true, client_id: client.id, scope: 'receipts:read' });
    await oauth.processRevocationResponse(
      await oauth.revocationRequest(server, self, authentication(), token, insecure),
    );
    expect(await about()).toEqual({ active: false });
    // The library reads the challenge of RFC 6750 and throws it.
    const refusal = oauth.protectedResourceRequest(token, 'GET', mine(), undefined, undefined, insecure);
    await expect(refusal).rejects.toMatchObject({
      cause: [{ scheme: 'bearer', parameters: { error: 'invalid_token', realm: 'fiscal-gateway' } }],
    });
  });

  test('reads our refusal of a wrong secret', async () => {
    const found = await oauth.discoveryRequest(issuer, { ...insecure, algorithm: 'oauth2' });
    const server = await oauth.processDiscoveryResponse(issuer, found);
    const self: oauth.Client = { client_id: client.id };
    const wrong = oauth.ClientSecretPost('wrong');
    const asked = await oauth.clientCredentialsGrantRequest(server, self, wrong, {}, insecure);
    await expect(oauth.processClientCredentialsResponse(server, self, asked)).rejects.toMatchObject({
      cause: [{ scheme: 'basic' }],
    });
  });
});

test.each<[string, () => openid.ClientAuth]>([
  ['a secret', () => openid.ClientSecretBasic(client.secret)],
  ['a key', () => openid.PrivateKeyJwt(privateKey)],
])('openid-client with %s', async (_name, authentication) => {
  const config = await openid.discovery(issuer, client.id, undefined, authentication(), {
    ...{ algorithm: 'oauth2', execute: [openid.allowInsecureRequests] },
  });
  const { access_token: token } = await openid.clientCredentialsGrant(config, { scope: 'receipts:read catalog:read' });
  const used = await openid.fetchProtectedResource(config, token, mine(), 'GET');
  expect([used.status, await used.json()]).toMatchObject([200, { scopes: ['receipts:read', 'catalog:read'] }]);
  expect(await openid.tokenIntrospection(config, token)).toMatchObject({ active: true, iss: gateway.url });
  await openid.tokenRevocation(config, token);
  expect(await openid.tokenIntrospection(config, token)).toEqual({ active: false });
});

test.each(['header', 'body'] as const)('simple-oauth2 with the secret in the %s', async (authorizationMethod) => {
  const grant = new ClientCredentials({
    client: { id: client.id, secret: client.secret },
    auth: { tokenHost: gateway.url },
    options: { authorizationMethod },
  });
  const token = await grant.getToken({ scope: 'receipts:read' });
  const authorization = `Bearer ${String(token.token['access_token'])}`;
  const ask = async (): Promise<number> => {
    const response = await fetch(mine(), { headers: { authorization } });
    await response.text();
    return response.status;
  };
  expect(await ask()).toBe(200);
  await token.revoke('access_token');
  expect(await ask()).toBe(401);
});
