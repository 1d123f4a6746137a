// Promise: whatever is sent, the answer is the right 4xx problem document, nothing is stored, and the key stays free.
import { hashAccessToken, newAccessToken } from '../../apps/gateway/src/access/oauth/access-token.js';
import { newId } from '#runtime';
import { BAD_BODIES, BREAD, item, sale, WRONG_TYPES } from './bad-bodies.js';
import { RowCounter, sql } from './database.js';
import type { TestMerchant } from './merchant.js';
import { expectProblem, faultsOf, type ExpectedProblem } from './problem-document.js';
import { rawCall, type RawAnswer, type RawRequest } from './raw-http.js';
import { startSystem, type TestSystem } from './system.js';
import { GatewayClient } from './gateway-client.js';

let system: TestSystem;
let authorization: string;
let neighbour: TestMerchant;
let rows: RowCounter;
const keys: string[] = [];
beforeAll(async () => {
  system = await startSystem({ scopes: ['receipts:write', 'receipts:read', 'payments:write'] });
  authorization = await system.client.authorization();
  neighbour = await system.addMerchant({ registerUrls: ['http://127.0.0.1:9'] });
  rows = await RowCounter.connect(system.database);
});

afterAll(async () => {
  await rows?.close();
  await system?.stop();
});

const JSON_TYPE = ['content-type', 'application/json'];
const textOf = (body: unknown): string => (typeof body === 'string' ? body : JSON.stringify(body));

function call(request: RawRequest): Promise<RawAnswer> {
  return rawCall(system.gatewayUrls[0] ?? '', request);
}

function post(body: unknown, headers: readonly string[] = []): Promise<RawAnswer> {
  return call({ headers: ['authorization', authorization, ...JSON_TYPE, ...headers], body: textOf(body) });
}

/** Sends something bad; afterwards not one row is new. Whether the key stayed free is the last test's question. */
async function expectNothingStored(send: (key: string) => Promise<RawAnswer>): Promise<RawAnswer> {
  const key = `refused-${keys.length}`;
  keys.push(key);
  const before = await rows.count();
  const answer = await send(key);
  expect(await rows.count()).toEqual(before);
  return answer;
}

describe('bodies', () => {
  test.each(BAD_BODIES)('$what → $status $code', async ({ body, ...expected }) => {
    expectProblem(await expectNothingStored((key) => post(body, ['idempotency-key', key])), expected);
  });

  test.each(WRONG_TYPES)('wrong type: $what', async ({ body, pointer }) => {
    const answer = await expectNothingStored((key) => post(body, ['idempotency-key', key]));
    const { code, errors } = JSON.parse(answer.text) as { code: string; errors: unknown };
    expectProblem(answer, { status: 422, code });
    expect(faultsOf(errors).map((fault) => fault.split(' ')[0])).toEqual([pointer]);
    expect(code).toMatch(/^(invalid_type|invalid_format|invalid_value)$/);
  });

  test('several products of one name', async () => {
    await sql(
      system.database,
      `INSERT INTO products (merchant_id, sku, name, name_key, spic, package_code, units, vat_percent)
       SELECT merchant_id, sku || '-twin', 'Twin', 'twin', spic, package_code, units, vat_percent
         FROM products WHERE merchant_id = $1 ORDER BY sku LIMIT 2`,
      [system.merchant.merchantId],
    );
    const answer = await expectNothingStored((key) =>
      post(sale({ items: [item({ name: 'Twin' })] }), ['idempotency-key', key]),
    );
    expectProblem(answer, { status: 422, code: 'goods_ambiguous', faults: ['/items/0/name goods_ambiguous'] });
    expect(answer.text).toContain('sku-0-twin, sku-1-twin');
  });

  test("another merchant's cashier, branch and device are unknown", async () => {
    const [till] = neighbour.tills;
    const body = sale({ cashier_id: till?.cashierId, device_id: till?.deviceId });
    const answer = await expectNothingStored((key) => post(body, ['idempotency-key', key]));
    expectProblem(answer, { status: 422, code: 'cashier_unknown', faults: ['/cashier_id cashier_unknown'] });
    const device = await post(sale({ device_id: till?.deviceId }));
    expectProblem(device, { status: 422, code: 'device_unknown', faults: ['/device_id device_unknown'] });
  });
});

describe('bodies that are unusual and right', () => {
  test.each([
    [1.005, 1_000, 1_005],
    ['1.005', 1_000, 1_005],
    [1.005, 100_001, 100_501],
    ['0.001', 500, 1],
    [0.333, 3_333_333, 1_110_000],
    ['10', 112_000, 1_120_000],
  ])('qty %p × %d tiyin = %d tiyin', async (qty, price, total) => {
    const answer = await post(sale({ items: [item({ qty, price })] }));
    expect({ http: answer.status, ...(JSON.parse(answer.text) as object) }).toMatchObject({
      ...{ http: 201, total, items: [{ qty: Number(qty), total }] },
      payment: { cash: total, card: 0 },
    });
  });

  test('of duplicate keys the last one wins', async () => {
    const answer = await post(
      `{"cashier_id":"no-such-cashier",${JSON.stringify(sale()).slice(1, -1)},"cashier_id":"cashier-1"}`,
    );
    expect(answer.status).toBe(201);
  });

  test('500 items, the longest key, null for what is optional, other spellings of the name', async () => {
    const items = Array.from({ length: 500 }, () => ({ name: BREAD, price: 1, qty: 1 }));
    const many = await post(sale({ items }), ['idempotency-key', '~'.repeat(255)]);
    expect({ http: many.status, ...(JSON.parse(many.text) as object) }).toMatchObject({ http: 201, total: 500 });
    const nulls = { external_id: null, customer: null, metadata: null, branch_id: null, device_id: null, type: null };
    expect((await post(sale({ ...nulls, items: [item({ sku: null, labels: null, spic: null })] }))).status).toBe(201);
    expect((await post(sale({ items: [item({ name: `  ${BREAD.toUpperCase()} ` })] }))).status).toBe(201);
  });
});

describe('who calls', () => {
  const send = (headers: string[], more: RawRequest = {}): Promise<RawAnswer> =>
    call({ headers: [...JSON_TYPE, ...headers], body: textOf(sale()), ...more });

  async function expectRefused(answer: RawAnswer, expected: ExpectedProblem): Promise<void> {
    expectProblem(answer, { faults: [], ...expected });
    expect(answer.headers['www-authenticate']).toMatch(/^Bearer realm=/);
    await Promise.resolve();
  }

  const UNKNOWN_TOKEN = `Bearer ${newAccessToken()}`;
  test.each<[string, number, string, () => Promise<RawAnswer>]>([
    ['no token', 401, 'unauthenticated', () => send([])],
    ['another scheme', 401, 'unauthenticated', () => send(['authorization', 'Basic YTpi'])],
    ['an unknown token', 401, 'invalid_token', () => send(['authorization', UNKNOWN_TOKEN])],
    ['nonsense for a token', 401, 'invalid_token', () => send(['authorization', 'Bearer x'])],
    ['no text after Bearer', 400, 'invalid_request', () => send(['authorization', 'Bearer'])],
    [
      'two Authorization headers',
      400,
      'invalid_request',
      () => send(['authorization', authorization, 'authorization', authorization]),
    ],
    [
      'the token in the query',
      400,
      'invalid_request',
      () => send([], { path: `/v1/receipts?access_token=${authorization.slice(7)}` }),
    ],
    [
      'the token in the query and in the header',
      400,
      'invalid_request',
      () => send(['authorization', authorization], { path: `/v1/receipts?access_token=${authorization.slice(7)}` }),
    ],
    [
      'the token in the body, which nothing reads before there is one in the header',
      401,
      'unauthenticated',
      () => send([], { body: textOf(sale({ access_token: authorization.slice(7) })) }),
    ],
    [
      'the token in the body and in the header',
      400,
      'invalid_request',
      () => send(['authorization', authorization], { body: textOf(sale({ access_token: authorization.slice(7) })) }),
    ],
  ])('%s → %d %s', async (_what, status, code, request) => {
    await expectRefused(await expectNothingStored(request), { status, code });
  });

  test('an expired, a revoked and a disabled client’s token', async () => {
    const { clientId } = system.merchant;
    for (const [expires, revoked] of [
      ['-1 second', null],
      ['1 hour', 'now()'],
    ] as const) {
      const token = newAccessToken();
      await sql(
        system.database,
        `INSERT INTO oauth_tokens (token_hash, client_id, scopes, issued_at, expires_at, revoked_at)
         VALUES ($1, $2, '{receipts:write}', now() - interval '1 hour', now() + $3::interval, ${revoked ?? 'NULL'})`,
        [hashAccessToken(token), clientId, expires],
      );
      const answer = await expectNothingStored(() => send(['authorization', `Bearer ${token}`]));
      await expectRefused(answer, { status: 401, code: 'invalid_token' });
    }
    const other = await system.addMerchant({});
    const token = await new GatewayClient(system.gatewayUrls, other).authorization();
    await sql(system.database, 'UPDATE oauth_clients SET disabled_at = now() WHERE id = $1', [other.clientId]);
    const answer = await expectNothingStored(() => send(['authorization', token]));
    await expectRefused(answer, { status: 401, code: 'invalid_token' });
  });

  test('a token without the scope, on writing and on reading', async () => {
    const reader = `Bearer ${await system.client.fetchToken('receipts:read')}`;
    const writer = `Bearer ${await system.client.fetchToken('receipts:write')}`;
    const refusedWrite = await expectNothingStored(() => send(['authorization', reader]));
    await expectRefused(refusedWrite, { status: 403, code: 'insufficient_scope' });
    expect(refusedWrite.headers['www-authenticate']).toContain('scope="receipts:write"');
    const path = `/v1/receipts/${newId('rcp')}`;
    const read = await call({ method: 'GET', path, headers: ['authorization', writer] });
    await expectRefused(read, { status: 403, code: 'insufficient_scope' });
  });

  test.each([
    ['an empty key', ''],
    ['a key of 256 characters', 'k'.repeat(256)],
    ['a key with a tab', 'a\tb'],
    ['a key with letters beyond ASCII', Buffer.from('ключ').toString('latin1')],
  ])('%s → 400', async (_what, key) => {
    const answer = await expectNothingStored(() => post(sale(), ['idempotency-key', key]));
    expectProblem(answer, { status: 400, code: 'invalid_header', faults: [] });
  });

  test('no key where the client was set up to require one', async () => {
    const strict = await system.addMerchant({});
    await sql(system.database, 'UPDATE oauth_clients SET require_idempotency_key = true WHERE id = $1', [
      strict.clientId,
    ]);
    const token = await new GatewayClient(system.gatewayUrls, strict).authorization();
    const answer = await expectNothingStored(() => send(['authorization', token]));
    expectProblem(answer, { status: 422, code: 'idempotency_key_missing', faults: [] });
  });
});

describe('requests', () => {
  const plain = (type: string | null, body: string, more: string[] = []): Promise<RawAnswer> =>
    call({
      headers: ['authorization', authorization, ...(type === null ? [] : ['content-type', type]), ...more],
      body,
    });

  test.each<[string, ExpectedProblem, () => Promise<RawAnswer>]>([
    ['no content type', { status: 415, code: 'unsupported_media_type' }, () => plain(null, textOf(sale()))],
    ['text/plain', { status: 415, code: 'unsupported_media_type' }, () => plain('text/plain', textOf(sale()))],
    ['XML', { status: 415, code: 'unsupported_media_type' }, () => plain('application/xml', '<sale/>')],
    [
      'a form',
      { status: 415, code: 'unsupported_media_type' },
      () => plain('application/x-www-form-urlencoded', 'cashier_id=1'),
    ],
    [
      'multipart',
      { status: 415, code: 'unsupported_media_type' },
      () => plain('multipart/form-data; boundary=x', '--x--'),
    ],
    ['nonsense for a type', { status: 415, code: 'unsupported_media_type' }, () => plain('json', textOf(sale()))],
    [
      'a compressed body',
      { status: 415, code: 'unsupported_media_type' },
      () => plain('application/json', textOf(sale()), ['content-encoding', 'gzip']),
    ],
    [
      'no body',
      { status: 422, code: 'required', faults: [' required'] },
      () => call({ headers: ['authorization', authorization] }),
    ],
    ['__proto__ as a field', { status: 400, code: 'malformed_json' }, () => post('{"__proto__":{"a":1}}')],
    [
      'another method',
      { status: 405, code: 'method_not_allowed' },
      () => call({ method: 'DELETE', headers: ['authorization', authorization] }),
    ],
    [
      'another method of a receipt',
      { status: 405, code: 'method_not_allowed' },
      () => call({ method: 'PATCH', path: `/v1/receipts/${newId('rcp')}`, headers: ['authorization', authorization] }),
    ],
    [
      'an unknown path',
      { status: 404, code: 'not_found' },
      () => call({ path: '/v2/receipts', headers: JSON_TYPE, body: '{}' }),
    ],
    [
      'an unknown path below /v1',
      { status: 404, code: 'not_found' },
      () => call({ method: 'GET', path: '/v1/nothing' }),
    ],
    [
      'a broken escape',
      { status: 400, code: 'malformed_request' },
      () => call({ method: 'GET', path: '/v1/receipts/%zz' }),
    ],
  ])('%s → %j', async (_what, expected, request) => {
    const answer = await expectNothingStored(request);
    expectProblem(answer, { faults: [], ...expected });
    if (expected.status === 405) expect(answer.headers['allow']).toMatch(/\b(POST|GET)\b/);
  });

  test('a foreign, a missing and a nonsensical receipt look alike', async () => {
    const mine = JSON.parse((await post(sale())).text) as { id: string };
    const foreigner = await new GatewayClient(system.gatewayUrls, neighbour).authorization();
    const ids = [mine.id, newId('rcp'), 'rcp_1', newId('dev'), '%00', "' OR 1=1", '..%2f..', mine.id.toUpperCase()];
    const answers = await Promise.all(
      ids.map((id) =>
        call({ method: 'GET', path: `/v1/receipts/${encodeURI(id)}`, headers: ['authorization', foreigner] }),
      ),
    );
    for (const answer of answers) {
      expectProblem(answer, { status: 404, code: 'not_found', faults: [] });
      const { request_id: _id, ...document } = JSON.parse(answer.text) as Record<string, unknown>;
      const { request_id: _other, ...first } = JSON.parse(answers[0]?.text ?? '') as Record<string, unknown>;
      expect(document).toEqual(first);
    }
  });

  test.each([
    ['JSON instead of a form', JSON_TYPE, '{"grant_type":"client_credentials"}', 400, 'invalid_request'],
    ['no credentials', [], 'grant_type=client_credentials', 401, 'invalid_client'],
    ['a wrong secret', [], 'grant_type=client_credentials&client_id=cli_x&client_secret=y', 401, 'invalid_client'],
    ['a repeated parameter', [], 'grant_type=a&grant_type=b', 400, 'invalid_request'],
  ])('a token request with %s → RFC 6749 error', async (...[, headers, body, status, error]) => {
    const type = headers.length > 0 ? headers : ['content-type', 'application/x-www-form-urlencoded'];
    const answer = await call({ path: '/oauth/token', headers: type, body });
    const document = JSON.parse(answer.text) as Record<string, unknown>;
    expect({ status: answer.status, error: document['error'] }).toEqual({ status, error });
    expect(Object.keys(document).sort()).toEqual(['error', 'error_description']);
    expect(answer.headers['cache-control']).toBe('no-store');
  });
});

test('every key that was refused is still free', async () => {
  const waiting = [...keys];
  const worker = async (): Promise<void> => {
    for (let key = waiting.pop(); key !== undefined; key = waiting.pop()) {
      const answer = await post(sale(), ['idempotency-key', key, 'prefer', 'respond-async']);
      expect({ status: answer.status, replayed: answer.headers['idempotency-replayed'] }).toEqual({ status: 202 });
    }
  };
  expect(waiting.length).toBeGreaterThan(300);
  await Promise.all(Array.from({ length: 20 }, worker));
});
