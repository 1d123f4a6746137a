// Promise: a merchant's administrators manage only its own clients, grant no more than they hold, and cannot lock themselves out by mistake; all of it is on the audit trail.
import 'reflect-metadata';
import { generateKeyPairSync } from 'node:crypto';
import { SignJWT } from 'jose';
import { newId, sha256 } from '#runtime';
import { FleetFixture, type FleetAnswer } from '../../fleet/devices/testing/fleet-fixture.js';
import { SCOPES } from '../../http/scopes.js';

let fleet: FleetFixture;
let token: string;
let ownId: string;

beforeAll(async () => {
  fleet = await FleetFixture.start();
  token = await fleet.gateway.createToken(fleet.merchantId, ['clients:admin', 'receipts:read', 'receipts:write']);
  ownId = await clientOf(token);
});
afterAll(() => fleet?.stop());

const ask = (method: string, path: string, body?: unknown, by = token): Promise<FleetAnswer> =>
  fleet.ask(method, path, body, by);

async function clientOf(accessToken: string): Promise<string> {
  const tokenHash = new Uint8Array(sha256(accessToken));
  return (await fleet.gateway.prisma.oauthToken.findUniqueOrThrow({ where: { tokenHash } })).clientId;
}

const BODY = { name: 'ERP', scopes: ['receipts:read'], ip_policy: 'any' };

const publicPem = (): string =>
  generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'pem' }).toString();

async function make(more: Record<string, unknown> = {}): Promise<{ id: string; secret: string }> {
  const { status, body } = await ask('POST', '/v1/clients', { ...BODY, ...more });
  expect(status).toBe(201);
  return { id: body.id, secret: String(body['client_secret']) };
}

async function tokenFor({ id, secret }: { id: string; secret: string }): Promise<{ status: number; token: string }> {
  const form = { grant_type: 'client_credentials', client_id: id, client_secret: secret };
  const response = await fetch(`${fleet.gateway.base}/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams(form),
  });
  const { access_token: issued = '' } = (await response.json()) as { access_token?: string };
  return { status: response.status, token: issued };
}

/** Until the gateway has received the notice: the promise of one second is tested elsewhere. */
async function eventually(status: number, by: string): Promise<void> {
  const deadline = Date.now() + 20_000;
  for (let now = 0; now !== status; now = (await ask('GET', `/v1/receipts/${newId('rcp')}`, undefined, by)).status) {
    if (Date.now() > deadline) throw new Error(`still ${String(now)}`);
  }
}

test('is made, authenticates with a secret that is shown once, is read and listed; on the trail without its secret', async () => {
  const wanted = {
    ...{ name: 'ERP of the shop', scopes: ['receipts:write', 'receipts:read'], ip_policy: 'listed' },
    ...{ allowed_cidrs: ['127.0.0.1', '2001:DB8:0::/48', '127.0.0.1/32'], require_idempotency_key: true },
    signing_policy: 'off',
  };
  const made = await ask('POST', '/v1/clients', wanted);
  const { client_secret: secret, ...view } = made.body;
  expect([made.status, made.headers.get('cache-control')]).toEqual([201, 'no-store']);
  expect(secret).toMatch(/^fgw_cs_/);
  expect(view).toEqual({
    ...wanted,
    ...{ id: expect.stringMatching(/^cli_/), allowed_cidrs: ['127.0.0.1/32', '2001:db8::/48'] },
    token_endpoint_auth_methods: ['client_secret_basic', 'client_secret_post', 'private_key_jwt'],
    ...{ previous_secret_expires_at: null, disabled_at: null, created_at: expect.any(String) },
  });
  expect((await tokenFor({ id: made.body.id, secret: String(secret) })).status).toBe(200);
  expect((await ask('GET', `/v1/clients/${made.body.id}`)).body).toEqual(view);
  const listed = await ask('GET', '/v1/clients?limit=100');
  expect(listed.body.data).toContainEqual(view);
  const records = await fleet.gateway.audited(made.body.id);
  expect(records).toMatchObject([{ action: 'client.create', actor: ownId, before: null, after: view }]);
  expect(JSON.stringify(records)).not.toContain('fgw_cs_');
});

test('pages', async () => {
  await make();
  await make();
  const first = await ask('GET', '/v1/clients?limit=2');
  expect(first.body.data).toHaveLength(2);
  const next = await ask('GET', `/v1/clients?limit=2&cursor=${String(first.body.next_cursor)}`);
  expect(next.body.data.map(({ id }) => id)).not.toContain(first.body.data[1]?.id);
  expect((await ask('GET', '/v1/clients?cursor=nonsense')).status).toBe(422);
});

test.each<[string, Record<string, unknown>, string, string]>([
  ['no decision about addresses', { ip_policy: undefined }, '/ip_policy', 'required'],
  ['another policy', { ip_policy: 'none' }, '/ip_policy', 'invalid_value'],
  ['no name', { name: ' ' }, '/name', 'invalid_text'],
  ['an unknown scope', { scopes: ['everything'] }, '/scopes', 'invalid_value'],
  ['a scope twice', { scopes: ['receipts:read', 'receipts:read'] }, '/scopes', 'duplicate'],
  ['an unknown field', { secret: 'mine' }, '/secret', 'unknown_field'],
  ['host bits', { allowed_cidrs: ['10.0.0.1/8'] }, '/allowed_cidrs', 'invalid_value'],
  ['everything', { allowed_cidrs: ['10.0.0.0/8', '0.0.0.0/0'] }, '/allowed_cidrs', 'invalid_value'],
  ['all of IPv4 by IPv6', { allowed_cidrs: ['::/64'] }, '/allowed_cidrs', 'invalid_value'],
  ['a mapped network', { allowed_cidrs: ['::ffff:10.0.0.0/104'] }, '/allowed_cidrs', 'invalid_value'],
  ['a zone', { allowed_cidrs: ['fe80::1%eth0'] }, '/allowed_cidrs', 'invalid_value'],
  ['octal', { allowed_cidrs: ['0177.0.0.1'] }, '/allowed_cidrs', 'invalid_value'],
  ['a name', { allowed_cidrs: ['localhost'] }, '/allowed_cidrs', 'invalid_value'],
  ['a number', { allowed_cidrs: [7] }, '/allowed_cidrs', 'invalid_value'],
  [
    'too many',
    { allowed_cidrs: Array.from({ length: 101 }, (_, n) => `10.0.${String(n)}.0/24`) },
    '/allowed_cidrs',
    'too_many',
  ],
  ['another signing policy', { signing_policy: 'sometimes' }, '/signing_policy', 'invalid_value'],
  ['no way in', { token_endpoint_auth_methods: [] }, '/token_endpoint_auth_methods', 'too_few'],
  ['an unknown way in', { token_endpoint_auth_methods: ['none'] }, '/token_endpoint_auth_methods', 'invalid_value'],
])('refused: %s', async (_what, more, pointer, code) => {
  const { status, body } = await ask('POST', '/v1/clients', { ...BODY, ...more });
  expect([status, body.errors.map((error) => [error.pointer, error.code])]).toEqual([422, [[pointer, code]]]);
});

test('changes are in force at once, for tokens that are out too', async () => {
  const client = await make({ scopes: ['receipts:read'] });
  const { token: issued } = await tokenFor(client);
  await eventually(404, issued);
  const patched = await ask('PATCH', `/v1/clients/${client.id}`, {
    ip_policy: 'listed',
    allowed_cidrs: ['192.0.2.0/24'],
  });
  expect(patched.body).toMatchObject({
    ip_policy: 'listed',
    allowed_cidrs: ['192.0.2.0/24'],
    scopes: ['receipts:read'],
  });
  await eventually(403, issued);
  expect((await tokenFor(client)).status).toBe(403);
  await ask('PATCH', `/v1/clients/${client.id}`, { allowed_cidrs: ['127.0.0.0/8'], name: 'Other' });
  await eventually(404, issued);
  await ask('PATCH', `/v1/clients/${client.id}`, { scopes: ['receipts:write'] });
  await eventually(403, issued);
  const actions = (await fleet.gateway.audited(client.id)).map(({ action }) => action);
  expect(actions.filter((action) => action !== 'client.refuse_address')).toEqual([
    'client.create',
    ...['client.change', 'client.change', 'client.change'],
  ]);
});

test('disabled: no tokens, none of the old ones; enabled: new ones, still none of the old', async () => {
  const client = await make();
  const { token: issued } = await tokenFor(client);
  await eventually(404, issued);
  const disabled = await ask('POST', `/v1/clients/${client.id}/disable`);
  expect([disabled.status, disabled.body['disabled_at']]).toEqual([200, expect.any(String)]);
  await eventually(401, issued);
  expect((await tokenFor(client)).status).toBe(401);
  const again = await ask('POST', `/v1/clients/${client.id}/disable`);
  expect(again.body).toEqual(disabled.body);
  const listed = async (query: string): Promise<boolean> =>
    (await ask('GET', `/v1/clients?limit=100${query}`)).body.data.some(({ id }) => id === client.id);
  expect([await listed(''), await listed('&disabled=true')]).toEqual([false, true]);
  expect((await ask('POST', `/v1/clients/${client.id}/enable`)).body['disabled_at']).toBeNull();
  const fresh = await tokenFor(client);
  await eventually(404, fresh.token);
  await eventually(401, issued);
});

test('a new secret beside the old one, for as long as was asked', async () => {
  const client = await make();
  const rotate = (body: unknown): Promise<FleetAnswer> => ask('POST', `/v1/clients/${client.id}/secret`, body);
  const rotated = await rotate({ overlap_seconds: 3_600 });
  const second = { ...client, secret: String(rotated.body['client_secret']) };
  const overlapMs = Date.parse(String(rotated.body['previous_secret_expires_at'])) - Date.now();
  expect(Math.abs(overlapMs - 3_600_000)).toBeLessThan(120_000);
  expect([(await tokenFor(client)).status, (await tokenFor(second)).status]).toEqual([200, 200]);
  const third = { ...client, secret: String((await rotate({})).body['client_secret']) };
  expect([(await tokenFor(client)).status, (await tokenFor(second)).status]).toEqual([401, 200]);
  const { token: issued } = await tokenFor(third);
  await eventually(404, issued);
  const fourth = await rotate({ overlap_seconds: 0, revoke_tokens: true });
  expect(fourth.body['previous_secret_expires_at']).toBeNull();
  expect((await tokenFor(third)).status).toBe(401);
  await eventually(401, issued);
  const [, record] = await fleet.gateway.audited(client.id);
  expect(record).toMatchObject({
    action: 'client.rotate_secret',
    after: { overlap_seconds: 3_600, revoked_tokens: 0 },
  });
  expect(JSON.stringify(record)).not.toContain('fgw_cs_');
  for (const overlap_seconds of [-1, 1.5, 2_592_001, '60'])
    expect((await rotate({ overlap_seconds })).status).toBe(422);
});

test('a new secret asks for no body: the one before stays good for a day', async () => {
  const client = await make();
  const { status, body } = await ask('POST', `/v1/clients/${client.id}/secret`);
  expect([status, body['client_secret']]).toEqual([200, expect.stringMatching(/^fgw_cs_/)]);
  const overlapMs = Date.parse(String(body['previous_secret_expires_at'])) - Date.now();
  expect(Math.abs(overlapMs - 86_400_000)).toBeLessThan(120_000);
});

test('403 for a grant that the caller does not hold itself', async () => {
  const created = await ask('POST', '/v1/clients', { ...BODY, scopes: ['receipts:read', 'operator:resolve'] });
  const error = { pointer: '/scopes/1', code: 'scope_not_held' };
  expect(created).toMatchObject({ status: 403, body: { code: 'scope_not_held', errors: [error] } });
  const weak = await make();
  const widened = await ask('PATCH', `/v1/clients/${weak.id}`, { scopes: ['receipts:read', 'devices:admin'] });
  expect(widened.body.code).toBe('scope_not_held');
});

describe('403 scope_not_held: a client that has a scope which the calling token lacks', () => {
  let strong: string;
  beforeAll(async () => {
    strong = await clientOf(await fleet.gateway.createToken(fleet.merchantId, [...SCOPES]));
  });

  test.each<[string, string, string, unknown]>([
    ['its allow list loosened', 'PATCH', '', { ip_policy: 'any' }],
    ['its signing switched off', 'PATCH', '', { signing_policy: 'off' }],
    ['more ways of authentication', 'PATCH', '', { token_endpoint_auth_methods: ['client_secret_post'] }],
    ['keys no longer required', 'PATCH', '', { require_idempotency_key: false }],
    ['another name', 'PATCH', '', { name: 'x' }],
    ['fewer scopes', 'PATCH', '', { scopes: ['clients:admin'] }],
    ['a new secret', 'POST', '/secret', {}],
    ['disabled', 'POST', '/disable', undefined],
    ['enabled', 'POST', '/enable', undefined],
    ['an HMAC key minted for it', 'POST', '/keys', { name: 'k', algorithm: 'hmac-sha256' }],
    ['a key for the token endpoint', 'POST', '/keys', { name: 'k', use: 'authentication', public_key: publicPem() }],
    ['a key disabled', 'DELETE', `/keys/${newId('key')}`, undefined],
  ])('%s', async (_what, method, path, body) => {
    const before = await fleet.gateway.prisma.oauthClient.findUniqueOrThrow({ where: { id: strong } });
    const answer = await ask(method, `/v1/clients/${strong}${path}`, body);
    expect([answer.status, answer.body.code]).toEqual([403, 'scope_not_held']);
    expect(await fleet.gateway.prisma.oauthClient.findUniqueOrThrow({ where: { id: strong } })).toEqual(before);
    expect(await fleet.gateway.prisma.clientKey.count({ where: { clientId: strong } })).toBe(0);
    expect(await fleet.gateway.audited(strong)).toEqual([]);
  });

  test('also by its own narrower token', async () => {
    const narrow = await fleet.gateway.createToken(fleet.merchantId, ['clients:admin']);
    const own = await clientOf(narrow);
    await fleet.gateway.prisma.oauthClient.update({ where: { id: own }, data: { scopes: [...SCOPES] } });
    const answer = await ask('PATCH', `/v1/clients/${own}`, { signing_policy: 'off' }, narrow);
    expect([answer.status, answer.body.code]).toEqual([403, 'scope_not_held']);
  });

  test('200 for a token that has them all', async () => {
    const peer = await fleet.gateway.createToken(fleet.merchantId, [...SCOPES]);
    expect((await ask('PATCH', `/v1/clients/${strong}`, { name: 'peer' }, peer)).status).toBe(200);
    expect(
      (await ask('POST', `/v1/clients/${strong}/keys`, { name: 'k', algorithm: 'hmac-sha256' }, peer)).status,
    ).toBe(201);
  });
});

test('409 for a change that would lock the caller out', async () => {
  const own = `/v1/clients/${ownId}`;
  const refusals = [
    await ask('POST', `${own}/disable`),
    await ask('PATCH', own, { scopes: ['receipts:read'] }),
    await ask('PATCH', own, { ip_policy: 'listed' }),
    await ask('PATCH', own, { ip_policy: 'listed', allowed_cidrs: ['192.0.2.0/24'] }),
    await ask('PATCH', own, { signing_policy: 'all' }),
    await ask('POST', `${own}/secret`, { overlap_seconds: 0, revoke_tokens: true }),
  ];
  expect(refusals.map(({ status, body }) => [status, body.code])).toEqual(refusals.map(() => [409, 'own_client']));
  expect(await fleet.gateway.audited(ownId)).toEqual([]);
  expect((await ask('PATCH', own, { ip_policy: 'listed', allowed_cidrs: ['127.0.0.0/8'] })).status).toBe(200);
  expect((await ask('PATCH', own, { ip_policy: 'any' })).status).toBe(200);
  expect((await ask('POST', `${own}/secret`, {})).status).toBe(200);
});

describe('ways of authentication', () => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const KEY = { name: 'k', use: 'authentication', public_key: publicKey.export({ type: 'spki', format: 'pem' }) };
  const BY_KEY_ALONE = { token_endpoint_auth_methods: ['private_key_jwt'] };

  async function byAssertion(id: string): Promise<number> {
    const audience = (await fleet.ask('GET', '/.well-known/oauth-authorization-server', undefined, token)).body;
    const assertion = await new SignJWT({ iss: id, sub: id, aud: String(audience['issuer']), jti: newId('jti') })
      .setProtectedHeader({ alg: 'EdDSA' })
      .setExpirationTime('1 minute')
      .sign(privateKey);
    const form = {
      grant_type: 'client_credentials',
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: assertion,
    };
    const response = await fetch(`${fleet.gateway.base}/oauth/token`, {
      method: 'POST',
      body: new URLSearchParams(form),
    });
    await response.text();
    return response.status;
  }

  test('private_key_jwt alone: its secret opens nothing any more, and that is on the trail', async () => {
    const client = await make();
    const { status, body } = await ask('POST', `/v1/clients/${client.id}/keys`, KEY);
    expect(status).toBe(201);
    expect((await ask('PATCH', `/v1/clients/${client.id}`, BY_KEY_ALONE)).body).toMatchObject(BY_KEY_ALONE);
    for (let again = 0; again < 3; again += 1) expect((await tokenFor(client)).status).toBe(401);
    expect(await byAssertion(client.id)).toBe(200);
    const refused = (await fleet.gateway.audited(client.id)).filter(({ action }) => action === 'client.refuse_login');
    const after = { refused: 'auth_method_not_allowed', method: 'client_secret_post' };
    expect(refused).toMatchObject([{ actor: client.id, after }]);
    // And back: by one of the secrets' ways, not by the key.
    await ask('PATCH', `/v1/clients/${client.id}`, { token_endpoint_auth_methods: ['client_secret_post'] });
    expect([(await tokenFor(client)).status, await byAssertion(client.id)]).toEqual([200, 401]);
    expect((await ask('DELETE', `/v1/clients/${client.id}/keys/${body.id}`)).status).toBe(204);
  });

  test('a method without a key for it is refused', async () => {
    const client = await make();
    const refusals = [
      await ask('POST', '/v1/clients', { ...BODY, ...BY_KEY_ALONE }),
      await ask('PATCH', `/v1/clients/${client.id}`, BY_KEY_ALONE),
    ];
    for (const { status, body } of refusals) {
      expect([status, body.code, body.errors[0]?.pointer]).toEqual([
        ...[409, 'no_authentication_key', '/token_endpoint_auth_methods'],
      ]);
    }
    const { body: disabled } = await ask('POST', `/v1/clients/${client.id}/keys`, KEY);
    await ask('DELETE', `/v1/clients/${client.id}/keys/${disabled.id}`);
    expect((await ask('PATCH', `/v1/clients/${client.id}`, BY_KEY_ALONE)).body.code).toBe('no_authentication_key');
    expect((await tokenFor(client)).status).toBe(200);
    // The caller's own last key stays, as long as it has no other way to authenticate.
    const { body: own } = await ask('POST', `/v1/clients/${ownId}/keys`, KEY);
    expect((await ask('PATCH', `/v1/clients/${ownId}`, BY_KEY_ALONE)).status).toBe(200);
    expect((await ask('DELETE', `/v1/clients/${ownId}/keys/${own.id}`)).body.code).toBe('own_client');
    await ask('PATCH', `/v1/clients/${ownId}`, { token_endpoint_auth_methods: ['client_secret_basic'] });
    expect((await ask('DELETE', `/v1/clients/${ownId}/keys/${own.id}`)).status).toBe(204);
  });
});

const NAMING: [method: string, path: string, body?: unknown][] = [
  ['GET', '/v1/clients/:id'],
  ['PATCH', '/v1/clients/:id', { name: 'Mine' }],
  ['POST', '/v1/clients/:id/secret', {}],
  ['POST', '/v1/clients/:id/disable'],
  ['POST', '/v1/clients/:id/enable'],
];

test('foreign, missing and malformed ids are the same 404, and nothing changes', async () => {
  const stranger = await fleet.gateway.createToken(await fleet.gateway.createMerchant(), [...SCOPES]);
  const { id } = await make();
  const rowOf = () => fleet.gateway.prisma.oauthClient.findUniqueOrThrow({ where: { id } });
  const before = await rowOf();
  for (const [method, path, body] of NAMING) {
    const answered = [];
    for (const named of [newId('cli'), id, 'x', '%00', ownId.replace('cli_', 'mer_')]) {
      const answer = await ask(method, path.replace(':id', named), body, stranger);
      answered.push([method, path, answer.status, answer.body.detail]);
    }
    expect(answered).toEqual(answered.map(() => [method, path, 404, 'There is no client with this id.']));
  }
  expect(await rowOf()).toEqual(before);
  expect((await ask('GET', '/v1/clients?limit=100&disabled=true', undefined, stranger)).body.data).toHaveLength(1);
});

test('every route needs clients:admin, or clients:read where it only reads', async () => {
  const others = SCOPES.filter((scope) => !scope.startsWith('clients:'));
  const without = await fleet.gateway.createToken(fleet.merchantId, others);
  const reading = await fleet.gateway.createToken(fleet.merchantId, [...others, 'clients:read']);
  const all: typeof NAMING = [...NAMING, ['GET', '/v1/clients'], ['POST', '/v1/clients', BODY], ['GET', '/v1/audit']];
  for (const [method, path, body] of all) {
    const { status, body: problem } = await ask(method, path.replace(':id', ownId), body, without);
    expect([method, path, status, problem.code]).toEqual([method, path, 403, 'insufficient_scope']);
    const read = await ask(method, path.replace(':id', ownId), body, reading);
    expect([method, path, read.status]).toEqual([method, path, method === 'GET' ? 200 : 403]);
  }
});

describe('GET /v1/audit', () => {
  interface Entry {
    sequence: number;
    action: string;
    subject_id: string;
    actor: string;
    hash: string;
  }
  const entries = (answer: FleetAnswer): Entry[] => answer.body.data as unknown as Entry[];

  test('the merchant’s own trail, the newest first, in pages without gap or repetition', async () => {
    const { id } = await make();
    const all: Entry[] = [];
    for (let cursor = ''; ;) {
      const page = await ask('GET', `/v1/audit?limit=3${cursor}`);
      all.push(...entries(page));
      if (page.body.next_cursor === null) break;
      cursor = `&cursor=${page.body.next_cursor}`;
    }
    expect(all[0]).toMatchObject({
      action: 'client.create',
      subject_id: id,
      actor: ownId,
      address: '127.0.0.1',
      before: null,
    });
    expect(all.map(({ sequence }) => sequence)).toEqual(all.map((_, index) => all.length - index));
    const stored = await fleet.gateway.prisma.auditRecord.findMany({ where: { merchantId: fleet.merchantId } });
    expect(all).toHaveLength(stored.length);
    expect(all.map(({ hash }) => hash).sort()).toEqual(
      stored.map(({ hash }) => Buffer.from(hash).toString('hex')).sort(),
    );
  });

  test('by action and subject; nothing of others', async () => {
    const { id } = await make();
    await ask('POST', `/v1/clients/${id}/disable`);
    const found = async (query: string): Promise<string[]> =>
      entries(await ask('GET', `/v1/audit?limit=100&${query}`)).map(({ action }) => action);
    expect(await found(`subject_id=${id}`)).toEqual(['client.disable', 'client.create']);
    expect(await found(`subject_id=${id}&action=client.disable`)).toEqual(['client.disable']);
    expect(new Set(await found('action=client.create'))).toEqual(new Set(['client.create']));
    const stranger = await fleet.gateway.createToken(await fleet.gateway.createMerchant(), ['clients:admin']);
    expect((await ask('GET', `/v1/audit?subject_id=${id}`, undefined, stranger)).body.data).toEqual([]);
  });

  test.each(['limit=0', 'limit=101', 'cursor=x', 'action=nonsense', "subject_id='", 'color=red', 'cursor=YXVkaXQgLTE'])(
    'refuses %s',
    async (query) => {
      expect((await ask('GET', `/v1/audit?${query}`)).status).toBe(422);
    },
  );
});
