// Promise: through whatever the network does, a call of the SDK has its effect once, is signed anew each time, and says in types what came of it.
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { jest } from '@jest/globals';
import {
  ConnectionError,
  FiscalGateway,
  OAuthError,
  ProblemError,
  UsageError,
  WaitTimeoutError,
  type ClientOptions,
  type RequestInfo,
  type ResponseInfo,
  type RetryInfo,
  type SigningOptions,
} from '#sdk';
import { parseKeyring } from '#secrets';
import { OperatorFixture } from '../../apps/gateway/src/operator/testing/operator-fixture.js';
import { freePorts } from '../../libs/runtime/src/testing/free-ports.js';
import { createMerchant, type TestMerchant } from '../system/merchant.js';
import { until } from '../../libs/runtime/src/testing/until.js';
import { FaultProxy, type Fate } from './fault-proxy.js';

const secretsKey = randomBytes(32).toString('base64');
const SCOPES = ['clients:admin', 'receipts:write', 'receipts:read', 'refunds:write', 'webhooks:admin', 'devices:admin'];
const PASS: Fate = { kind: 'pass' };
const QUICK = { baseMs: 10, maxMs: 50, attempts: 20, maxElapsedMs: 60_000 };

let fixture: OperatorFixture;
let proxy: FaultProxy;
let proxyUrl: string;
let merchant: TestMerchant;
/** Fates of the requests below /v1, in their order; then everything passes. */
let fates: Fate[] = [];

beforeAll(async () => {
  const port = await freePorts(1);
  proxyUrl = `http://127.0.0.1:${port}`;
  const settings = { SECRETS_KEY: parseKeyring(secretsKey), PUBLIC_URL: proxyUrl, PUBLIC_HOSTS: [`127.0.0.1:${port}`] };
  fixture = await OperatorFixture.start(settings);
  proxy = new FaultProxy([fixture.base], ({ path }) => (path.startsWith('/v1') ? (fates.shift() ?? PASS) : PASS));
  await proxy.listen(port);
  merchant = await newMerchant();
});
afterAll(async () => {
  await proxy.close();
  await fixture.stop();
});
beforeEach(() => {
  fates = [];
  proxy.seen.length = 0;
});

function newMerchant(): Promise<TestMerchant> {
  const registerUrls = ['http://127.0.0.1:9'];
  return createMerchant(fixture.database.url, { secretsKey, scopes: SCOPES, registerUrls, registerApiKey: 'none' });
}

function sdkOf({ clientId, clientSecret }: TestMerchant, more: Partial<ClientOptions> = {}): FiscalGateway {
  return new FiscalGateway({ baseUrl: proxyUrl, credentials: { clientId, clientSecret }, retry: QUICK, ...more });
}

function saleOf({ goods, tills }: TestMerchant) {
  return {
    items: [{ name: goods[0]!, price: 112_000, qty: 1 }],
    payment: { method: 'cash' as const },
    cashier_id: tills[0]!.cashierId,
  };
}

/** No relay runs here: what is accepted stays so, and is there to be counted. */
const ASYNC = { waitS: 0 };
const posts = () => proxy.seen.filter(({ path }) => path === '/v1/receipts');
const countOf = (key: string): Promise<number> => fixture.prisma.receipt.count({ where: { idempotencyKey: key } });

describe('one effect', () => {
  test('a sale survives everything on its way and is one receipt', async () => {
    fates = [
      { kind: 'drop_answer' },
      { kind: 'cut_answer' },
      { kind: 'drop_request' },
      { kind: 'refuse', status: 503, code: 'service_unavailable' },
      { kind: 'refuse', status: 409, code: 'idempotency_in_progress' },
      { kind: 'refuse', status: 429, code: 'too_many_requests' },
      { kind: 'page', status: 502 },
      { kind: 'slow', delayMs: 400 },
    ];
    const fgw = sdkOf(merchant, { attemptTimeoutMs: 300 });
    const receipt = await fgw.receipts.create(saleOf(merchant), { idempotencyKey: 'storm-1', ...ASYNC });
    expect(receipt).toMatchObject({ status: 'accepted', total: 112_000 });
    expect(await countOf('storm-1')).toBe(1);
    expect(posts().length).toBeGreaterThanOrEqual(9);
    expect(new Set(posts().map(({ headers }) => headers['idempotency-key']))).toEqual(new Set(['storm-1']));
  });

  test('external_id does what a key does', async () => {
    fates = [{ kind: 'drop_answer' }];
    const sale = { ...saleOf(merchant), external_id: 'S-2026-1' };
    const receipt = await sdkOf(merchant).receipts.create(sale, ASYNC);
    const again = await sdkOf(merchant).receipts.create(sale, ASYNC);
    expect(again.id).toBe(receipt.id);
  });

  test('a write without a key is not repeated when its answer is lost, and is repeated after 429', async () => {
    const fgw = sdkOf(merchant);
    const create = (code: string) => fgw.request('POST', '/v1/branches', { body: { code, name: code } });
    fates = [{ kind: 'drop_answer' }];
    await expect(create('north')).rejects.toThrow(ConnectionError);
    expect(proxy.seen.filter(({ path }) => path === '/v1/branches')).toHaveLength(1);
    fates = [{ kind: 'refuse', status: 429, code: 'too_many_requests' }];
    await expect(create('south')).resolves.toMatchObject({ code: 'south' });
    const codes = (await fgw.list('/v1/branches', {}).toArray({ limit: 10 })).map(({ code }) => code);
    expect(codes.sort()).toEqual(['main', 'north', 'south']);
  });

  test('when all tries are used up, the error has the key with which to go on', async () => {
    fates = Array.from({ length: 3 }, () => ({ kind: 'drop_answer' }) as const);
    const fgw = sdkOf(merchant, { retry: { ...QUICK, attempts: 3 } });
    const lost = fgw.receipts.create(saleOf(merchant), { idempotencyKey: 'lost-1', ...ASYNC });
    await expect(lost).rejects.toMatchObject({ name: 'ConnectionError', attempts: 3, idempotencyKey: 'lost-1' });
    await fgw.receipts.create(saleOf(merchant), { idempotencyKey: 'lost-1', ...ASYNC });
    expect(await countOf('lost-1')).toBe(1);
  });

  test('no try begins after the time for it', async () => {
    fates = [{ kind: 'refuse', status: 503, code: 'no_device', retryAfterS: 30 }];
    const fgw = sdkOf(merchant, { retry: { ...QUICK, maxElapsedMs: 1_000 } });
    const refused = fgw.receipts.create(saleOf(merchant), { idempotencyKey: 'late-1', ...ASYNC });
    await expect(refused).rejects.toMatchObject({ code: 'no_device', isRetryable: true, retryAfterMs: 30_000 });
  });

  test('callers without types are refused before anything is sent', async () => {
    const fgw = sdkOf(merchant);
    await expect(fgw.receipts.create(saleOf(merchant), {} as never)).rejects.toThrow(UsageError);
    await expect(fgw.receipts.create(saleOf(merchant), { idempotencyKey: 'with space' })).rejects.toThrow(UsageError);
    await expect(fgw.request('POST', '/v1/webhooks', {} as never, { idempotencyKey: 'k' })).rejects.toThrow(UsageError);
    await expect(fgw.receipts.get('')).rejects.toThrow(UsageError);
    expect(proxy.seen).toEqual([]);
  });
});

describe('signatures', () => {
  const KEYS: [string, { type: 'ed25519' } | { type: 'ec'; namedCurve: 'P-256' } | null][] = [
    ['Ed25519', { type: 'ed25519' }],
    ['ECDSA', { type: 'ec', namedCurve: 'P-256' }],
    ['HMAC', null],
  ];

  /** Registers a key, from which moment on the client has to sign its writes. */
  async function signingOf(one: TestMerchant, kind: (typeof KEYS)[number][1]): Promise<SigningOptions> {
    const path = { id: one.clientId };
    const name = 'erp';
    if (kind === null) {
      const body = { name, algorithm: 'hmac-sha256' as const };
      const made = await sdkOf(one).request('POST', '/v1/clients/{id}/keys', { path, body });
      return { keyId: made.id, secret: made.secret ?? '' };
    }
    const { publicKey, privateKey } = generateKeyPairSync(kind.type as 'ec', { namedCurve: 'P-256' });
    const body = { name, public_key: publicKey.export({ type: 'spki', format: 'pem' }).toString() };
    const made = await sdkOf(one).request('POST', '/v1/clients/{id}/keys', { path, body });
    return { keyId: made.id, privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() };
  }

  test.each(KEYS)('%s: each attempt is signed anew under the same key', async (name, kind) => {
    const one = await newMerchant();
    const signing = await signingOf(one, kind);
    await expect(sdkOf(one).receipts.create(saleOf(one), { idempotencyKey: name, ...ASYNC })).rejects.toMatchObject({
      code: 'signature_missing',
    });
    proxy.seen.length = 0;
    fates = [{ kind: 'drop_answer' }, { kind: 'cut_answer' }];
    const fgw = sdkOf(one, { signing });
    const receipt = await fgw.receipts.create(saleOf(one), { idempotencyKey: name, ...ASYNC });
    expect(receipt.status).toBe('accepted');
    expect(await countOf(name)).toBe(1);
    expect(await fixture.prisma.signatureNonce.count({ where: { keyId: signing.keyId } })).toBe(3);
    // A write without a body is signed, a read is not.
    await fgw.receipts.cancel(receipt.id);
    await fgw.receipts.get(receipt.id);
    expect(proxy.seen.at(-1)?.headers['signature']).toBeUndefined();
  });

  test('reads are signed where the client has to sign all calls', async () => {
    const one = await newMerchant();
    const signing = await signingOf(one, null);
    const fgw = sdkOf(one, { signing: { ...signing, requests: 'all' } });
    await fgw.request('PATCH', '/v1/clients/{id}', { path: { id: one.clientId }, body: { signing_policy: 'all' } });
    await expect(fgw.receipts.list({ status: 'registered' }).toArray({ limit: 1 })).resolves.toEqual([]);
    await expect(sdkOf(one, { signing }).receipts.list().first()).rejects.toMatchObject({ code: 'signature_missing' });
  });
});

describe('access tokens', () => {
  const tokenRequests = () => proxy.seen.filter(({ path }) => path === '/oauth/token');

  test('one request serves all waiting calls', async () => {
    const fgw = sdkOf(merchant);
    await Promise.all(Array.from({ length: 20 }, () => fgw.receipts.list().first()));
    await fgw.receipts.list().first();
    expect(tokenRequests()).toHaveLength(1);
  });

  test('a token that was revoked is replaced, also for a write without a key', async () => {
    const fgw = sdkOf(merchant);
    await fgw.receipts.list().first();
    const token = proxy.seen.at(-1)?.headers.authorization?.slice('Bearer '.length) ?? '';
    const { clientId, clientSecret } = merchant;
    const body = new URLSearchParams({ token, client_id: clientId, client_secret: clientSecret });
    expect((await fetch(`${proxyUrl}/oauth/revoke`, { method: 'POST', body })).status).toBe(200);
    await until(
      'the gateway refuses the old token',
      () => fgw.request('POST', '/v1/branches', { body: { code: `b-${randomBytes(4).toString('hex')}`, name: 'B' } }),
      () => tokenRequests().length === 2,
    );
  });

  test('a function brings it from elsewhere', async () => {
    const bring = () => Promise.resolve({ accessToken: fixture.token, expiresIn: 900 });
    const fgw = sdkOf(merchant, { credentials: bring });
    await expect(fgw.receipts.list().toArray({ limit: 1 })).resolves.toEqual([]);
    expect(tokenRequests()).toEqual([]);
  });

  test('a wrong secret is an error of its own, and a scope that is not held too', async () => {
    const { clientId } = merchant;
    const wrong = sdkOf(merchant, { credentials: { clientId, clientSecret: 'wrong' } });
    await expect(wrong.receipts.list().first()).rejects.toMatchObject({ name: 'OAuthError', code: 'invalid_client' });
    const narrow = { clientId, clientSecret: merchant.clientSecret, scope: 'operator:resolve' };
    await expect(sdkOf(merchant, { credentials: narrow }).receipts.list().first()).rejects.toThrow(OAuthError);
  });

  test('private_key_jwt', async () => {
    const one = await newMerchant();
    const { publicKey, privateKey } = generateKeyPairSync('ed25519');
    const body = {
      name: 'login',
      use: 'authentication' as const,
      public_key: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
    };
    await sdkOf(one).request('POST', '/v1/clients/{id}/keys', { path: { id: one.clientId }, body });
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    const fgw = sdkOf(one, { credentials: { clientId: one.clientId, privateKey: pem } });
    await expect(fgw.receipts.list().toArray({ limit: 1 })).resolves.toEqual([]);
  });
});

describe('what comes back', () => {
  test('a refusal names every fault with its place', async () => {
    const sale = { ...saleOf(merchant), items: [{ name: merchant.goods[0]!, price: -1, qty: 1, spic: '1' }] };
    const refused = sdkOf(merchant).receipts.create(sale, { idempotencyKey: 'bad-1' });
    const error = await refused.catch((caught: unknown) => caught as ProblemError);
    if (!(error instanceof ProblemError)) throw new Error('it was not refused');
    expect(error).toMatchObject({ status: 422, isRetryable: false, receiptId: null, idempotencyKey: 'bad-1' });
    expect(error.faults.map(({ pointer }) => pointer)).toContain('/items/0/spic');
    expect(error.faultsAt('/items/0').length).toBeGreaterThan(0);
    expect(error.faultsAt('/items/1')).toEqual([]);
    expect(error.requestId).toEqual(expect.any(String));
    expect(proxy.seen.filter(({ path }) => path === '/v1/receipts')).toHaveLength(1);
  });

  test('waiting ends with what is final, with `unknown`, or with the time', async () => {
    const fgw = sdkOf(merchant);
    const { id } = await fgw.receipts.create(saleOf(merchant), { idempotencyKey: 'wait-1', ...ASYNC });
    const states: string[] = [];
    const waited = fgw.receipts.waitUntilFinal(id, { timeoutMs: 600, onState: ({ status }) => states.push(status) });
    await expect(waited).rejects.toThrow(WaitTimeoutError);
    expect(new Set(states)).toEqual(new Set(['accepted']));
    const ending = fgw.receipts.waitUntilFinal(id);
    await fgw.receipts.cancel(id);
    await expect(ending).resolves.toMatchObject({ status: 'cancelled', fiscal: null });
    const other = await fgw.receipts.create(saleOf(merchant), { idempotencyKey: 'wait-2', ...ASYNC });
    await fixture.prisma.$executeRaw`UPDATE receipts SET status = 'unknown' WHERE id = ${other.id}`;
    await expect(fgw.receipts.waitUntilFinal(other.id)).resolves.toMatchObject({ status: 'unknown' });
  });

  test('lists give each entry once, over pages and through faults', async () => {
    const one = await newMerchant();
    const fgw = sdkOf(one);
    const sold: string[] = [];
    for (let nth = 0; nth < 5; nth += 1) {
      sold.push((await fgw.receipts.create(saleOf(one), { idempotencyKey: `page-${nth}`, ...ASYNC })).id);
    }
    fates = [{ kind: 'cut_answer' }, PASS, { kind: 'page', status: 504 }];
    const listed: string[] = [];
    for await (const { id } of fgw.receipts.list({ limit: 2 })) listed.push(id);
    expect(listed).toEqual([...sold].reverse());
    const { next_cursor: cursor } = await fgw.receipts.list({ limit: 2 }).first();
    await expect(fgw.receipts.list({ limit: 2, cursor: cursor! }).toArray({ limit: 2 })).resolves.toMatchObject([
      { id: sold[2] },
      { id: sold[1] },
    ]);
    await expect(fgw.list('/v1/devices', { query: { limit: 1 } }).toArray({ limit: 9 })).resolves.toHaveLength(1);
  });

  test('the feed of events is followed until the signal, and taken up again where it was left', async () => {
    const one = await newMerchant();
    const fgw = sdkOf(one);
    const stop = new AbortController();
    const received: unknown[] = [];
    let kept: string | null = null;
    await fgw.receipts.create(saleOf(one), { idempotencyKey: 'feed-1', ...ASYNC });
    const following = (async () => {
      for await (const page of fgw.events.followPages({ types: ['receipt.*'] }, { idleMs: 20, signal: stop.signal })) {
        received.push(...page.data.map(({ type }) => type));
        kept = page.next_cursor;
        if (received.length === 1) await fgw.receipts.create(saleOf(one), { idempotencyKey: 'feed-2', ...ASYNC });
        if (received.length === 2) stop.abort(new Error('enough'));
      }
    })();
    await expect(following).rejects.toThrow('enough');
    expect(received).toEqual(['receipt.accepted', 'receipt.accepted']);
    await fgw.receipts.create(saleOf(one), { idempotencyKey: 'feed-3', ...ASYNC });
    // An event is shown once no older transaction is open, on the whole server: not at the very moment of its own commit.
    const after = await until(
      'the feed goes on',
      () => fgw.events.list({ cursor: kept }).toArray({ limit: 9 }),
      ({ length }) => length > 0,
    );
    expect(after.map(({ type }) => type)).toEqual(['receipt.accepted']);
  });

  test('files and the public receipt come as they are', async () => {
    const fgw = sdkOf(merchant);
    const { id, receipt_url: url } = await fgw.receipts.create(saleOf(merchant), {
      idempotencyKey: 'file-1',
      ...ASYNC,
    });
    await expect((await fgw.receipts.document(id, { format: 'text' })).text()).resolves.toContain(merchant.goods[0]);
    const lines = await (await fgw.receipts.export({ format: 'ndjson' })).text();
    expect(lines).toContain(id);
    const open = new FiscalGateway({ baseUrl: proxyUrl, retry: QUICK });
    await expect((await open.publicReceipt(url)).text()).resolves.toContain(merchant.goods[0]);
    await expect(open.publicReceipt(`${proxyUrl}/v1/receipts`)).rejects.toThrow(UsageError);
    await expect(open.receipts.get(id)).rejects.toThrow(UsageError);
    await expect(open.isReady()).resolves.toBe(true);
  });
});

describe('abort, hooks and tracing', () => {
  test('an aborted call ends at once, with the reason of its signal', async () => {
    fates = [{ kind: 'slow', delayMs: 5_000 }];
    const signal = AbortSignal.timeout(100);
    const waiting = sdkOf(merchant).receipts.list({}, { signal }).first();
    await expect(waiting).rejects.toMatchObject({ name: 'TimeoutError' });
    fates = [{ kind: 'refuse', status: 503, code: 'no_device', retryAfterS: 40 }];
    const between = AbortSignal.timeout(200);
    const paused = sdkOf(merchant).receipts.list({}, { signal: between }).first();
    await expect(paused).rejects.toMatchObject({ name: 'TimeoutError' });
  });

  test('the signal also ends the reading of a file', async () => {
    const stop = new AbortController();
    const file = await sdkOf(merchant).receipts.export({ format: 'csv' }, { signal: stop.signal });
    stop.abort(new Error('enough'));
    await expect(file.text()).rejects.toThrow('aborted');
  });

  test('hooks see every attempt, and cannot break a sale', async () => {
    const requests: RequestInfo[] = [];
    const responses: ResponseInfo[] = [];
    const retries: RetryInfo[] = [];
    const printed = jest.spyOn(console, 'error').mockImplementation(() => undefined);
    try {
      fates = [{ kind: 'refuse', status: 429, code: 'too_many_requests', retryAfterS: 1 }, { kind: 'drop_answer' }];
      let span = 0;
      const fgw = sdkOf(merchant, {
        traceparent: () => `00-${'a'.repeat(32)}-${String((span += 1)).padStart(16, '0')}-01`,
        hooks: {
          onRequest: (info) => void requests.push(info),
          onResponse: (info) => void responses.push(info),
          onRetry: (info) => {
            retries.push(info);
            throw new Error('of the hook');
          },
        },
      });
      await fgw.receipts.create(saleOf(merchant), { idempotencyKey: 'hook-1', ...ASYNC });
      expect(printed).toHaveBeenCalledTimes(2);
    } finally {
      printed.mockRestore();
    }
    const sale = requests.filter(({ path }) => path === '/v1/receipts');
    expect(sale.map(({ attempt, idempotencyKey }) => [attempt, idempotencyKey])).toEqual([
      [1, 'hook-1'],
      [2, 'hook-1'],
      [3, 'hook-1'],
    ]);
    expect(responses.filter(({ path }) => path === '/v1/receipts').map(({ status }) => status)).toEqual([
      429,
      null,
      202,
    ]);
    expect(retries[0]?.waitMs).toBeGreaterThanOrEqual(1_000);
    expect(new Set(posts().map(({ headers }) => headers['traceparent'])).size).toBe(3);
    expect(posts()[0]?.headers['user-agent']).toMatch(/^fiscal-gateway-sdk\//);
  });
});
