// Promise: no request without a usable token of the right scope reaches a handler, and every refusal follows RFC 6749/6750.
import 'reflect-metadata';
import { Body, Controller, Get, Post } from '@nestjs/common';
import { createTestDatabase, type TestDatabase } from '#database/testing';
import { type ProblemDocument } from '#http';
import { newId } from '#runtime';
import { Scopes } from '../../http/scopes.js';
import { hashAccessToken, newAccessToken } from './access-token.js';
import { newClientSecret } from './client-secret.js';
import { OauthGateway } from './testing/oauth-gateway.js';

const logged: string[] = [];

@Controller('v1')
class OddController {
  @Post('both')
  @Scopes('receipts:write', 'catalog:write')
  both(@Body() body: Record<string, unknown>): unknown {
    return body;
  }

  @Get('forgotten')
  forgotten(): string {
    return 'open to all';
  }
}

let database: TestDatabase;
let gateway: OauthGateway;
let base: string;
let merchantId: string;

const PUBLIC_URL = 'https://gateway.test/';

const startGateway = (databaseUrl: string): Promise<OauthGateway> =>
  OauthGateway.start(database, {
    ...{ publicUrl: PUBLIC_URL, databaseUrl, controllers: [OddController] },
    log: (line) => void logged.push(line),
  });

beforeAll(async () => {
  database = await createTestDatabase();
  gateway = await startGateway(database.url);
  base = gateway.url;
  merchantId = await gateway.createMerchant();
});

afterAll(async () => {
  await gateway.stop();
  await database.drop();
});

type TestClient = Pick<Awaited<ReturnType<OauthGateway['createClient']>>, 'id' | 'secret'>;

const makeClient = (scopes: string[], more: { requireIdempotencyKey?: boolean } = {}): Promise<TestClient> =>
  gateway.createClient(merchantId, { scopes, ...more });

const basic = ({ id, secret }: TestClient): string => `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`;

function askToken(form: Record<string, string> | string, authorization?: string): Promise<Response> {
  const headers = { ...(authorization !== undefined && { authorization }) };
  return fetch(`${base}/oauth/token`, { method: 'POST', body: new URLSearchParams(form), headers });
}

async function tokenOf(client: TestClient, scope = ''): Promise<string> {
  const response = await askToken({ grant_type: 'client_credentials', scope }, basic(client));
  expect(response.status).toBe(200);
  return ((await response.json()) as { access_token: string }).access_token;
}

const mine = (authorization?: string, url = base): Promise<Response> =>
  fetch(`${url}/v1/mine`, { headers: { ...(authorization !== undefined && { authorization }) } });

async function expectRefusal(response: Response, status: number, code: string): Promise<string> {
  expect(response.headers.get('content-type')).toMatch(/^application\/problem\+json/);
  const document = (await response.json()) as ProblemDocument;
  expect([response.status, document.status, document.code]).toEqual([status, status, code]);
  return response.headers.get('www-authenticate') ?? '';
}

describe('the token endpoint', () => {
  test.each(['basic', 'post'])('client_secret_%s gets a token that works', async (method) => {
    const client = await makeClient(['receipts:read', 'receipts:write'], { requireIdempotencyKey: true });
    const form = { grant_type: 'client_credentials', scope: 'receipts:read' };
    const response = await (method === 'basic'
      ? askToken(form, basic(client))
      : askToken({ ...form, client_id: client.id, client_secret: client.secret }));
    expect([response.status, response.headers.get('cache-control'), response.headers.get('pragma')]).toEqual([
      200,
      'no-store',
      'no-cache',
    ]);
    const answer = (await response.json()) as { access_token: string };
    expect(answer).toEqual({
      access_token: expect.stringMatching(/^fgw_at_/) as unknown,
      token_type: 'Bearer',
      expires_in: 900,
      scope: 'receipts:read',
    });
    const seen = await (await mine(`Bearer ${answer.access_token}`)).json();
    const rights = { scopes: ['receipts:read'], requireIdempotencyKey: true, allowedCidrs: null };
    expect(seen).toEqual({ clientId: client.id, merchantId, ...rights });
  });

  test('without a scope the token has all scopes of the client', async () => {
    const client = await makeClient(['receipts:read', 'catalog:read']);
    const response = await askToken({ grant_type: 'client_credentials' }, basic(client));
    expect(await response.json()).toMatchObject({ scope: 'receipts:read catalog:read' });
  });

  test('refusals in the shape of RFC 6749, the same for unknown, wrong and disabled', async () => {
    const client = await makeClient(['receipts:read']);
    const disabled = await makeClient(['receipts:read']);
    await gateway.prisma.oauthClient.update({ where: { id: disabled.id }, data: { disabledAt: new Date() } });
    const good = { grant_type: 'client_credentials' };
    const bodies = [];
    for (const wrong of [disabled, { ...client, secret: newClientSecret() }, { id: newId('cli'), secret: 'x' }]) {
      const response = await askToken(good, basic(wrong));
      expect([response.status, response.headers.get('cache-control')]).toEqual([401, 'no-store']);
      expect(response.headers.get('www-authenticate')).toMatch(/^Basic realm="/);
      bodies.push(await response.text());
    }
    expect(new Set(bodies).size).toBe(1);
    expect(JSON.parse(bodies[0] ?? '')).toMatchObject({ error: 'invalid_client' });
    const nul = await askToken({ ...good, client_id: 'a\0b', client_secret: 'x' });
    expect([nul.status, await nul.json()]).toMatchObject([401, { error: 'invalid_client' }]);
    for (const [form, error] of [
      [{ grant_type: 'password' }, 'unsupported_grant_type'],
      [{ ...good, scope: 'clients:admin' }, 'invalid_scope'],
      [{ ...good, scope: 'no:such' }, 'invalid_scope'],
      ['grant_type=client_credentials&grant_type=client_credentials', 'invalid_request'],
    ] as const) {
      const response = await askToken(form, basic(client));
      expect([response.status, await response.json()]).toMatchObject([400, { error }]);
    }
  });

  test('two Authorization headers are two ways at once, also where one of them is right', async () => {
    const client = await makeClient(['receipts:read']);
    for (const other of [
      basic(client),
      basic({ ...client, secret: newClientSecret() }),
      `Bearer ${newAccessToken()}`,
    ]) {
      for (const [path, form] of [
        ['token', { grant_type: 'client_credentials' }],
        ['introspect', { token: newAccessToken() }],
        ['revoke', { token: newAccessToken() }],
      ] as const) {
        const headers = ['Authorization', basic(client), 'authorization', other];
        const { status, body } = await gateway.ask(`/oauth/${path}`, { headers, form });
        expect([path, status, body['error']]).toEqual([path, 400, 'invalid_request']);
      }
    }
  });

  test('JSON is not a form', async () => {
    const response = await fetch(`${base}/oauth/token`, {
      method: 'POST',
      body: '{"grant_type":"client_credentials"}',
      headers: { 'content-type': 'application/json' },
    });
    expect([response.status, await response.json()]).toMatchObject([400, { error: 'invalid_request' }]);
  });

  test('neither token nor secret is stored or logged', async () => {
    const client = await makeClient(['receipts:read']);
    const token = await tokenOf(client);
    await mine(`Bearer ${token}`);
    const stored = await gateway.prisma.$queryRaw<{ t: string }[]>`
      SELECT row_to_json(t)::text AS t FROM oauth_tokens t UNION ALL SELECT row_to_json(c)::text FROM oauth_clients c`;
    const everything = stored.map((row) => row.t).join('') + logged.join('');
    expect(everything).toContain(client.id);
    expect(everything).toContain(hashAccessToken(token).toString('hex'));
    expect(everything).not.toContain(token);
    expect(everything).not.toContain(client.secret);
  });
});

describe('a guarded route', () => {
  test('no credentials: 401 with a bare challenge', async () => {
    const challenge = await expectRefusal(await mine(), 401, 'unauthenticated');
    expect(challenge).toBe('Bearer realm="fiscal-gateway"');
    await expectRefusal(await mine('Basic abc'), 401, 'unauthenticated');
  });

  test('malformed credentials: 400 invalid_request', async () => {
    const challenge = await expectRefusal(await mine('Bearer a b'), 400, 'invalid_request');
    expect(challenge).toContain('error="invalid_request"');
    const token = await tokenOf(await makeClient(['receipts:read']));
    const twice = await gateway.ask('/v1/mine', {
      headers: ['Authorization', `Bearer ${token}`, 'Authorization', `Bearer ${token}`],
    });
    expect([twice.status, twice.body['code']]).toEqual([400, 'invalid_request']);
    // Trailing spaces are not part of a value (RFC 9110 §5.5).
    expect((await gateway.ask('/v1/mine', { headers: ['authorization', `bEARER ${token}  `] })).status).toBe(200);
  });

  test('a token in query or body is refused', async () => {
    const token = await tokenOf(await makeClient(['receipts:write', 'catalog:write', 'receipts:read']));
    await expectRefusal(await fetch(`${base}/v1/mine?access_token=${token}`), 400, 'invalid_request');
    const withBody = (headers: Record<string, string>): Promise<Response> =>
      fetch(`${base}/v1/both`, {
        method: 'POST',
        body: JSON.stringify({ access_token: token }),
        headers: { 'content-type': 'application/json', ...headers },
      });
    await expectRefusal(await withBody({ authorization: `Bearer ${token}` }), 400, 'invalid_request');
    // Alone it is no token: the body of an unauthenticated request is not read.
    await expectRefusal(await withBody({}), 401, 'unauthenticated');
  });

  test('unknown, expired and revoked tokens: 401 invalid_token', async () => {
    const client = await makeClient(['receipts:read']);
    for (const column of ['expires_at', 'revoked_at']) {
      const token = await tokenOf(client);
      const hash = hashAccessToken(token);
      await gateway.prisma.$executeRawUnsafe(`UPDATE oauth_tokens SET ${column} = now() WHERE token_hash = $1`, hash);
      const challenge = await expectRefusal(await mine(`Bearer ${token}`), 401, 'invalid_token');
      expect(challenge).toContain('error="invalid_token"');
    }
    await expectRefusal(await mine(`Bearer ${newAccessToken()}`), 401, 'invalid_token');
    await expectRefusal(await mine('Bearer not-one-of-ours'), 401, 'invalid_token');
  });

  test('calls that arrive together are each their own client, never the neighbour', async () => {
    const clients = await Promise.all(Array.from({ length: 4 }, () => makeClient(['receipts:read'])));
    const tokens = await Promise.all(clients.map((client) => tokenOf(client)));
    // No token is cached yet: every lookup is still under way when the next call comes.
    const calls = Array.from({ length: 60 }, async (_, index) => {
      const stranger = index % 5 === 4;
      const authorization = `Bearer ${stranger ? newAccessToken() : (tokens[index % 5] ?? '')}`;
      const response = await fetch(`${base}/v1/mine`, {
        headers: { authorization },
        signal: AbortSignal.timeout(20_000),
      });
      const { clientId, code } = (await response.json()) as { clientId?: string; code?: string };
      return { index, status: response.status, clientId, code };
    });
    for (const { index, ...answer } of await Promise.all(calls)) {
      const client = clients[index % 5];
      expect(answer).toEqual(
        client
          ? { status: 200, clientId: client.id, code: undefined }
          : { status: 401, clientId: undefined, code: 'invalid_token' },
      );
    }
  });

  test('a missing scope: 403 with the scope that is needed', async () => {
    const token = await tokenOf(await makeClient(['receipts:write']));
    const challenge = await expectRefusal(await mine(`Bearer ${token}`), 403, 'insufficient_scope');
    expect(challenge).toContain('error="insufficient_scope", scope="receipts:read"');
    const response = await fetch(`${base}/v1/both`, { method: 'POST', headers: { authorization: `Bearer ${token}` } });
    expect(await expectRefusal(response, 403, 'insufficient_scope')).toContain('scope="receipts:write catalog:write"');
  });

  test('a route below /v1 that names no scope stays closed', async () => {
    const token = await tokenOf(await makeClient(['receipts:read']));
    const response = await fetch(`${base}/v1/forgotten`, { headers: { authorization: `Bearer ${token}` } });
    await expectRefusal(response, 500, 'internal');
  });
});

test('a lost database is 503 with Retry-After, for tokens and for guarded routes', async () => {
  const client = await makeClient(['receipts:read']);
  const token = await tokenOf(client);
  const deadUrl = new URL(database.url);
  // Nothing listens on the discard port here.
  deadUrl.port = '9';
  const dead = await startGateway(deadUrl.href);
  try {
    const response = await mine(`Bearer ${token}`, dead.url);
    expect(response.headers.get('retry-after')).toBe('5');
    await expectRefusal(response, 503, 'database_unavailable');
    await expectRefusal(
      await fetch(`${dead.url}/oauth/token`, {
        method: 'POST',
        body: new URLSearchParams({ grant_type: 'client_credentials' }),
        headers: { authorization: basic(client) },
      }),
      503,
      'database_unavailable',
    );
  } finally {
    await dead.stop();
  }
});
