// Promise: too many requests are turned away early and politely, per address and per client, on all gateways together.
import 'reflect-metadata';
import { OwnRedis, redisIsInstalled } from '../../../../../libs/queue/src/testing/own-redis.js';
import { gatewaysOfEachTest, type OauthGateway } from '../oauth/testing/oauth-gateway.js';
import { openRedis, parseQueueUrl } from '#queue';
import { createLogger } from '#runtime';
import { RedisBuckets } from './redis-buckets.js';
import type { MemoryBuckets } from './token-bucket.js';

const start = gatewaysOfEachTest();

/** Slow enough that nothing comes back while a test runs. */
const THREE = { requests: 3, seconds: 30_000 };

test('per address: before any token is checked, for every path, not for probes', async () => {
  const gateway = await start({ addressLimit: THREE });
  const first = await gateway.ask('/v1/mine');
  expect(first.headers).toMatchObject({
    'ratelimit-policy': '"address";q=3;w=30000',
    ratelimit: '"address";r=2;t=10000',
  });
  expect((await gateway.ask('/no/such/path')).status).toBe(404);
  expect((await gateway.ask('/.well-known/oauth-authorization-server')).status).toBe(200);
  for (const path of ['/v1/mine', '/no/such/path', '/oauth/token', '/.well-known/oauth-authorization-server']) {
    const { status, headers, body } = await gateway.ask(path);
    expect([path, status, body['code'], body['retryable']]).toEqual([path, 429, 'too_many_requests', true]);
    expect(headers).toMatchObject({ ratelimit: expect.stringMatching(/^"address";r=0;t=(9\d{3}|10000)$/) });
    expect(Number(headers['retry-after'])).toBeGreaterThan(9_000);
    expect(headers['content-type']).toMatch(/^application\/problem\+json/);
  }
  // Another address is not concerned.
  expect((await gateway.ask('/v1/mine', { from: '127.0.0.9' })).status).toBe(401);
});

test('per client: whatever token and address it uses; others are not concerned', async () => {
  const gateway = await start({ addressLimit: { requests: 1_000, seconds: 1 }, clientLimit: THREE });
  const merchantId = await gateway.createMerchant();
  const [client, other] = [await gateway.createClient(merchantId), await gateway.createClient(merchantId)];
  const statuses = [];
  for (const from of ['127.0.0.1', '127.0.0.2', '127.0.0.3', '127.0.0.4']) {
    const { status, headers } = await gateway.mine(client.token, { from });
    statuses.push(status);
    expect(headers['ratelimit-policy']).toBe('"address";q=1000;w=1, "client";q=3;w=30000');
    expect(headers['ratelimit']).toMatch(/^"address";r=\d+;t=\d+, "client";r=\d;t=\d+$/);
  }
  expect(statuses).toEqual([200, 200, 200, 429]);
  expect((await gateway.mine(other.token)).status).toBe(200);
});

test('a caller that heeds no refusal is answered later, by client and by address', async () => {
  const gateway = await start({ addressLimit: { requests: 61, seconds: 30_000 }, clientLimit: THREE });
  const client = await gateway.createClient(await gateway.createMerchant());
  const refusalsOf = async (ask: () => Promise<{ status: number }>, count: number): Promise<number[]> => {
    const times = await Promise.all(
      Array.from({ length: count }, async () => {
        const begunMs = performance.now();
        const { status } = await ask();
        return status === 429 ? performance.now() - begunMs : null;
      }),
    );
    return times.filter((time) => time !== null);
  };
  // Three requests are allowed and twenty refusals answered at once, a second one after half of a second.
  const heldMs = 490;
  const expectHeld = async (ask: () => Promise<{ status: number }>, count: number): Promise<void> => {
    const begunMs = performance.now();
    const times = await refusalsOf(ask, count);
    expect(times).toHaveLength(50);
    // Two more are answered at once for each second that the machine takes for all of them.
    const prompt = 21 + Math.ceil((2 * (performance.now() - begunMs)) / 1_000);
    expect(times.filter((time) => time >= heldMs).length).toBeGreaterThanOrEqual(Math.max(1, 50 - prompt));
  };
  await expectHeld(() => gateway.mine(client.token), 53);
  await expectHeld(() => gateway.ask('/v1/mine'), 58);
});

test('without limits nothing is said of them', async () => {
  const gateway = await start({});
  const { headers } = await gateway.ask('/v1/mine');
  expect([headers['ratelimit'], headers['ratelimit-policy']]).toEqual([undefined, undefined]);
});

const mayRun = redisIsInstalled() || process.env['CI'] === 'true';

(mayRun ? describe : describe.skip)('with Redis', () => {
  let redis: OwnRedis;
  beforeAll(async () => {
    redis = await OwnRedis.reserve();
    await redis.start();
  });
  afterAll(() => redis.kill());

  test('what was taken is put back, and no more than a bucket holds', async () => {
    const rate = { requests: 3, seconds: 3_600 };
    const client = openRedis(parseQueueUrl(redis.url), { connectTimeout: 30_000 });
    client.on('error', () => undefined);
    try {
      const away = { take: fail, peek: fail, give: fail } as unknown as MemoryBuckets;
      const buckets = new RedisBuckets(
        client,
        rate,
        away,
        createLogger('gateway', 'error', { write: () => undefined }),
      );
      const take = async (): Promise<boolean> => (await buckets.take('key')).isAllowed;
      for (let index = 0; index < 4; index += 1) await buckets.give('key');
      expect([await take(), await take(), await take(), await take()]).toEqual([true, true, true, false]);
      await buckets.give('key');
      expect([await take(), await take()]).toEqual([true, false]);
    } finally {
      client.cut();
    }
  });

  test('all gateways count together; without Redis each for itself, and no client is locked out', async () => {
    const settings = { clientLimit: THREE, queueUrl: redis.url };
    const [one, two] = [await start(settings), await start(settings)];
    let token = '';
    const statuses = async (gateways: OauthGateway[]): Promise<number[]> => {
      const all = [];
      for (const gateway of gateways) all.push((await gateway.mine(token)).status);
      return all;
    };
    await connected(one, two);
    // Where Redis is slow to answer, a gateway counts for itself: then once more, with a client that has not been counted yet.
    for (let tries = 1, answers: number[] = []; answers.join() !== '200,200,200,429,429'; tries += 1) {
      if (tries > 20) throw new Error(`the gateways do not count together: ${answers.join()}`);
      ({ token } = await one.createClient(await one.createMerchant()));
      answers = await statuses([one, two, one, two, one]);
    }
    await redis.kill();
    expect(await statuses([one, two])).toEqual([200, 200]);
  });
});

function fail(): never {
  throw new Error('Redis did not answer');
}

/** Until Redis, and not the gateway itself, counts: two gateways see what one took. */
async function connected(...gateways: OauthGateway[]): Promise<void> {
  const deadline = Date.now() + 30_000;
  for (const gateway of gateways) {
    for (;;) {
      const other = await gateway.createClient(await gateway.createMerchant());
      const first = await gateway.mine(other.token);
      const second = await gateways[(gateways.indexOf(gateway) + 1) % gateways.length]?.mine(other.token);
      const left = [first, second].map((answer) => /"client";r=(\d)/.exec(String(answer?.headers['ratelimit']))?.[1]);
      if (left[0] === '2' && left[1] === '1') break;
      if (Date.now() > deadline) throw new Error('the gateways never counted together');
    }
  }
}
