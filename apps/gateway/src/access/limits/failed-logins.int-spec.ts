// Promise: a client that guesses secrets or tokens is slowed down, on all gateways together; strangers cannot lock a client out.
import 'reflect-metadata';
import { request as httpRequest } from 'node:http';
import { OwnRedis, redisIsInstalled } from '../../../../../libs/queue/src/testing/own-redis.js';
import { newAccessToken } from '../oauth/access-token.js';
import { newClientSecret } from '../oauth/client-secret.js';
import { gatewaysOfEachTest, type OauthGateway } from '../oauth/testing/oauth-gateway.js';

/** Slow enough that nothing comes back while a test runs. */
const THREE = { requests: 3, seconds: 30_000 };
const start = gatewaysOfEachTest();

interface Answer {
  status: number;
  error: unknown;
  retryAfter: number;
  type: string;
}

interface Login {
  id: string;
  secret: string;
  from?: string;
  path?: string;
}

function login(gateway: OauthGateway, { id, secret, from = '127.0.0.1', path = 'token' }: Login): Promise<Answer> {
  const form = { grant_type: 'client_credentials', token: 'x', client_id: id, client_secret: secret };
  const body = new URLSearchParams(form).toString();
  const headers = { 'content-type': 'application/x-www-form-urlencoded', 'content-length': Buffer.byteLength(body) };
  return new Promise((resolve, reject) => {
    const options = { method: 'POST', localAddress: from, agent: false, headers };
    const call = httpRequest(`${gateway.url}/oauth/${path}`, options, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.on('end', () => {
        const { error } = JSON.parse(text) as { error?: unknown };
        const { 'retry-after': retryAfter, 'content-type': type = '' } = response.headers;
        resolve({ status: response.statusCode ?? 0, error, retryAfter: Number(retryAfter), type });
      });
    });
    call.on('error', reject).end(body);
  });
}

test('wrong secrets: 401 as often as the limit says, then 429 in the form of RFC 6749; on the trail once', async () => {
  const gateway = await start({ failedLoginLimit: THREE });
  const client = await gateway.createClient(await gateway.createMerchant());
  const wrong = { ...client, secret: newClientSecret() };
  const answers = [];
  for (const path of ['token', 'introspect', 'revoke', 'token', 'introspect', 'revoke']) {
    answers.push(await login(gateway, { ...wrong, path }));
  }
  expect(answers.map(({ status, error }) => [status, error])).toEqual([
    ...[1, 2, 3].map(() => [401, 'invalid_client']),
    ...[4, 5, 6].map(() => [429, 'slow_down']),
  ]);
  expect(answers[3]?.type).toMatch(/^application\/json/);
  expect(answers[3]?.retryAfter).toBeGreaterThan(9_000);
  expect(answers[3]?.retryAfter).toBeLessThanOrEqual(10_000);
  // Not even the right one is checked from here, until the time is over.
  expect((await login(gateway, client)).status).toBe(429);
  const records = await gateway.prisma.auditRecord.findMany({ where: { targetId: client.id } });
  expect(records).toMatchObject([
    { action: 'client.refuse_login', address: '127.0.0.1', after: { refused: 'too_many_failed_logins' } },
  ]);
});

test('a burst of wrong secrets is no larger than the limit', async () => {
  const gateway = await start({ failedLoginLimit: THREE });
  const client = await gateway.createClient(await gateway.createMerchant());
  const wrong = { ...client, secret: newClientSecret() };
  const answers = await Promise.all(Array.from({ length: 12 }, () => login(gateway, wrong)));
  expect(answers.filter(({ status }) => status === 401)).toHaveLength(3);
  expect(answers.filter(({ status }) => status === 429)).toHaveLength(9);
  expect((await login(gateway, { ...client, from: '127.0.0.9' })).status).toBe(200);
});

test('strangers lock out neither the client that is guessed at, nor a neighbour of the guesser', async () => {
  const gateway = await start({ failedLoginLimit: THREE });
  const merchantId = await gateway.createMerchant();
  const [victim, neighbour] = [await gateway.createClient(merchantId), await gateway.createClient(merchantId)];
  for (let at = 0; at < 30; at += 1) {
    const { status } = await login(gateway, { id: victim.id, secret: 'x', from: `127.0.2.${1 + (at % 15)}` });
    expect([401, 429]).toContain(status);
  }
  for (let at = 0; at < 10; at += 1) await login(gateway, { id: `cli_of_nobody_${at}`, secret: 'x' });
  expect((await login(gateway, { ...victim, from: '127.0.0.9' })).status).toBe(200);
  expect((await login(gateway, neighbour)).status).toBe(200);
  expect((await login(gateway, { ...victim, from: '127.0.2.1' })).status).toBe(429);
  const records = await gateway.prisma.auditRecord.findMany({ where: { targetId: victim.id } });
  expect(records.length).toBeGreaterThan(0);
  expect(records.length).toBeLessThanOrEqual(10);
});

test('wrong tokens: 401, then 429; a good one passes all the same, also one that is not cached yet', async () => {
  const gateway = await start({ failedTokenLimit: THREE });
  const client = await gateway.createClient(await gateway.createMerchant());
  const statuses = [];
  for (let at = 0; at < 5; at += 1) statuses.push((await gateway.mine(newAccessToken())).status);
  expect(statuses).toEqual([401, 401, 401, 429, 429]);
  const refused = await gateway.mine('not-even-one-of-ours');
  expect([refused.status, refused.body['code']]).toEqual([429, 'too_many_requests']);
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(9_000);
  expect((await gateway.mine(client.token)).status).toBe(200);
  expect((await gateway.mine(newAccessToken(), { from: '127.0.0.9' })).status).toBe(401);
  expect((await gateway.ask('/v1/mine')).status).toBe(401);
});

const mayRun = redisIsInstalled() || process.env['CI'] === 'true';

(mayRun ? describe : describe.skip)('with Redis', () => {
  let redis: OwnRedis;
  beforeAll(async () => {
    redis = await OwnRedis.reserve();
    await redis.start();
  });
  afterAll(() => redis.kill());

  test('all gateways count together; without Redis each for itself, and the right secret opens', async () => {
    const settings = { failedLoginLimit: { requests: 20, seconds: 30_000 }, queueUrl: redis.url };
    const [one, two] = [await start(settings), await start(settings)];
    const merchantId = await one.createMerchant();
    // The connections may still be under way; from then on counts are shared, and 20 failures are all that there are.
    let shared = false;
    for (const deadline = Date.now() + 30_000; !shared && Date.now() < deadline;) {
      const { id } = await one.createClient(merchantId);
      const from = `127.0.3.${1 + Math.floor(Math.random() * 250)}`;
      const statuses = [];
      for (let at = 0; at < 12; at += 1) {
        statuses.push((await login(one, { id, secret: 'x', from })).status);
        statuses.push((await login(two, { id, secret: 'x', from })).status);
      }
      shared = statuses.filter((status) => status === 401).length <= 20;
    }
    expect(shared).toBe(true);
    await redis.kill();
    const client = await one.createClient(merchantId);
    for (const gateway of [one, two]) {
      expect((await login(gateway, { ...client, from: '127.0.0.8' })).status).toBe(200);
    }
  });
});

test('429 slow_down when a client asks for more tokens than TOKEN_LIMIT; other calls and other clients go on', async () => {
  const gateway = await start({ tokenLimit: THREE });
  const merchantId = await gateway.createMerchant();
  const [client, other] = [await gateway.createClient(merchantId), await gateway.createClient(merchantId)];
  const before = await gateway.prisma.oauthToken.count({ where: { clientId: client.id } });
  // Strangers who guess do not use it up.
  for (let at = 0; at < 5; at += 1) await login(gateway, { ...client, secret: newClientSecret() });
  const answers = [];
  for (let at = 0; at < 5; at += 1) answers.push(await login(gateway, client));
  expect(answers.map(({ status, error }) => [status, error])).toEqual([
    ...[1, 2, 3].map(() => [200, undefined]),
    ...[4, 5].map(() => [429, 'slow_down']),
  ]);
  expect(answers[3]?.retryAfter).toBeGreaterThan(9_000);
  expect(answers[3]?.type).toMatch(/^application\/json/);
  expect(await gateway.prisma.oauthToken.count({ where: { clientId: client.id } })).toBe(before + 3);
  expect((await login(gateway, other)).status).toBe(200);
  expect((await login(gateway, { ...client, path: 'introspect' })).status).toBe(200);
  const records = await gateway.prisma.auditRecord.findMany({ where: { targetId: client.id } });
  expect(records).toMatchObject([{ action: 'client.refuse_token', after: { refused: 'too_many_tokens' } }]);
});
