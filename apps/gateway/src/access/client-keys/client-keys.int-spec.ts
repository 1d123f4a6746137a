// Promise: only a merchant's own administrator decides which keys its clients authenticate with; no secret is shown twice.
import { generateKeyPairSync, getDiffieHellman, type KeyObject } from 'node:crypto';
import { newId } from '#runtime';
import { SigningRig, type Reply, type RigClient } from '../signing/testing/signing-rig.js';

let rig: SigningRig;
let client: RigClient;
/** Without a key of its own: need not sign. */
let administrator: RigClient;

beforeAll(async () => {
  rig = await SigningRig.start();
  administrator = await rig.createClient(['clients:admin', 'devices:admin', 'receipts:write']);
});
beforeEach(async () => {
  client = await rig.createClient(['receipts:write']);
});
afterAll(() => rig.stop());

const pem = (key: KeyObject): string => key.export({ type: 'spki', format: 'pem' }).toString();
const ed25519 = generateKeyPairSync('ed25519');
const p256 = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const rsa = generateKeyPairSync('rsa', { modulusLength: 2_048 });

const register = (body: Record<string, unknown>, to = client, by = administrator): Promise<Reply> =>
  rig.registerKey(to, { name: 'erp', ...body }, by);

function call(method: string, path: string, by = administrator): Promise<Reply> {
  return rig.send(rig.asked(by, { method, target: path }));
}

test.each<[string, Record<string, unknown>, string]>([
  ['Ed25519 as PEM', { public_key: pem(ed25519.publicKey) }, 'ed25519'],
  ['Ed25519 as JWK', { public_key: ed25519.publicKey.export({ format: 'jwk' }) }, 'ed25519'],
  ['EC P-256', { public_key: pem(p256.publicKey), algorithm: 'ecdsa-p256-sha256' }, 'ecdsa-p256-sha256'],
  ['RSA', { public_key: rsa.publicKey.export({ format: 'jwk' }), use: 'signing' }, 'rsa-pss-sha512'],
])('a public key: %s', async (_name, body, algorithm) => {
  const reply = await register(body);
  expect(reply.status).toBe(201);
  expect(reply.body).toEqual({
    id: expect.stringMatching(/^key_[0-9a-z]{26}$/),
    ...{ use: 'signing', algorithm, name: 'erp', disabled_at: null, created_at: expect.any(String) },
    public_key: expect.stringContaining('BEGIN PUBLIC KEY'),
  });
});

test('an HMAC secret is shown once, stored sealed, and never written to the audit trail', async () => {
  const { status, body } = await register({ algorithm: 'hmac-sha256' });
  expect(status).toBe(201);
  const secret = body!['secret'] as string;
  expect(secret).toMatch(/^fgw_sk_[0-9A-Za-z]{49}$/);
  expect(body).toMatchObject({ algorithm: 'hmac-sha256', public_key: null });
  const listed = await call('GET', `/v1/clients/${client.id}/keys`);
  expect(listed.body).toEqual({ data: [{ ...body, secret: undefined }], next_cursor: null });
  const row = await rig.prisma.clientKey.findUniqueOrThrow({ where: { id: body!['id'] as string } });
  expect(Buffer.from(row.secretSealed!).includes(secret)).toBe(false);
  const records = await rig.fixture.audited(client.id);
  expect(records).toMatchObject([{ action: 'client_key.create', before: null, actor: administrator.id }]);
  expect(JSON.stringify(records)).not.toContain(secret);
});

test('keys for the token endpoint stand beside, and ask for no signature', async () => {
  const own = await rig.createClient();
  const { status, body } = await register({ public_key: pem(p256.publicKey), use: 'authentication' }, own, own);
  expect([status, body?.['algorithm']]).toEqual([201, 'ES256']);
  const rs = await register({ public_key: pem(rsa.publicKey), use: 'authentication', algorithm: 'RS256' }, own, own);
  expect([rs.status, rs.body?.['algorithm']]).toEqual([201, 'RS256']);
});

test.each(['signing', 'authentication'])('403 for a key (%s) of a client with more scopes', async (use) => {
  const weak = await rig.createClient(['clients:admin']);
  const reply = await register({ public_key: pem(p256.publicKey), use }, client, weak);
  expect([reply.status, reply.body?.['code']]).toEqual([403, 'scope_not_held']);
  expect(await rig.prisma.clientKey.count({ where: { clientId: client.id } })).toBe(0);
});

const rsaJwk = rsa.publicKey.export({ format: 'jwk' });
const oddModulus = Buffer.from(String(rsaJwk.n), 'base64url');
const evenModulus = Buffer.concat([oddModulus.subarray(0, -1), Buffer.from([oddModulus.at(-1)! & 0xfe])]).toString(
  'base64url',
);
const identityPoint = Buffer.from(`01${'00'.repeat(31)}`, 'hex').toString('base64url');
const privatePem = ed25519.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
test.each<[string, Record<string, unknown>, string, string]>([
  ['a private key', { public_key: privatePem }, '/public_key', 'invalid_value'],
  ['a private JWK', { public_key: ed25519.privateKey.export({ format: 'jwk' }) }, '/public_key', 'invalid_value'],
  ['a secret JWK', { public_key: { kty: 'oct', k: 'AAAA' } }, '/public_key', 'invalid_value'],
  ['no key', {}, '/public_key', 'required'],
  ['null', { public_key: null }, '/public_key', 'required'],
  ['a number', { public_key: 7 }, '/public_key', 'invalid_type'],
  ['nonsense', { public_key: 'nonsense' }, '/public_key', 'invalid_value'],
  [
    'a broken PEM',
    { public_key: '-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----' },
    '/public_key',
    'invalid_value',
  ],
  ['an empty JWK', { public_key: {} }, '/public_key', 'invalid_value'],
  ['a JWK of odd types', { public_key: { kty: 'EC', crv: 5, x: [], y: {} } }, '/public_key', 'invalid_value'],
  [
    'weak RSA',
    { public_key: pem(generateKeyPairSync('rsa', { modulusLength: 1_024 }).publicKey) },
    '/public_key',
    'invalid_value',
  ],
  [
    'the identity of Ed25519',
    { public_key: { kty: 'OKP', crv: 'Ed25519', x: identityPoint } },
    '/public_key',
    'weak_key',
  ],
  ['RSA with exponent 1', { public_key: { ...rsaJwk, e: 'AQ' } }, '/public_key', 'weak_key'],
  ['RSA with an even modulus', { public_key: { ...rsaJwk, n: evenModulus } }, '/public_key', 'weak_key'],
  [
    'P-384',
    { public_key: pem(generateKeyPairSync('ec', { namedCurve: 'P-384' }).publicKey) },
    '/public_key',
    'invalid_value',
  ],
  ['X25519', { public_key: pem(generateKeyPairSync('x25519').publicKey) }, '/public_key', 'invalid_value'],
  ['another algorithm', { public_key: pem(p256.publicKey), algorithm: 'ed25519' }, '/algorithm', 'invalid_value'],
  ['a JWS name for signing', { public_key: pem(p256.publicKey), algorithm: 'ES256' }, '/algorithm', 'invalid_value'],
  ['an unknown algorithm', { algorithm: 'none' }, '/algorithm', 'invalid_value'],
  ['HMAC with a public key', { algorithm: 'hmac-sha256', public_key: 'x' }, '/public_key', 'invalid_value'],
  ['HMAC at the token endpoint', { algorithm: 'hmac-sha256', use: 'authentication' }, '/algorithm', 'invalid_value'],
  ['an unknown use', { use: 'both', algorithm: 'hmac-sha256' }, '/use', 'invalid_value'],
  ['an empty name', { name: '', algorithm: 'hmac-sha256' }, '/name', 'too_short'],
  ['an unknown field', { secret: 'mine', algorithm: 'hmac-sha256' }, '/secret', 'unknown_field'],
])('refused: %s', async (_name, body, pointer, code) => {
  const reply = await register(body);
  expect(reply.status).toBe(422);
  expect(reply.body).toMatchObject({ errors: [{ pointer, code }] });
  expect(await rig.prisma.clientKey.count({ where: { clientId: client.id } })).toBe(0);
});

const primeModulus = (group: 'modp14' | 'modp16') => ({
  public_key: { ...rsaJwk, n: getDiffieHellman(group).getPrime().toString('base64url') },
});

test('404 for a client that is not there, before the key is examined', async () => {
  const reply = await register(primeModulus('modp14'), { ...client, id: newId('cli') });
  expect(reply.status).toBe(404);
});

test('429 where many keys of a merchant are to be examined at the same time', async () => {
  const long = register(primeModulus('modp16'));
  const others = Array.from({ length: 20 }, () => register(primeModulus('modp14')));
  const statuses = (await Promise.all([long, ...others])).map(({ status }) => status);
  expect(new Set(statuses)).toEqual(new Set([422, 429]));
});

test('lists page by page, disabled ones too; disabling twice changes nothing', async () => {
  for (let at = 0; at < 3; at += 1) expect((await register({ algorithm: 'hmac-sha256' })).status).toBe(201);
  const first = await call('GET', `/v1/clients/${client.id}/keys?limit=2`);
  const [key] = first.body!['data'] as { id: string }[];
  expect(first.body!['data']).toHaveLength(2);
  const cursor = first.body!['next_cursor'] as string;
  expect((await call('GET', `/v1/clients/${client.id}/keys?limit=2&cursor=${cursor}`)).body).toMatchObject({
    data: [expect.anything()],
    next_cursor: null,
  });
  expect((await call('DELETE', `/v1/clients/${client.id}/keys/${key!.id}`)).status).toBe(204);
  const { disabledAt } = await rig.prisma.clientKey.findUniqueOrThrow({ where: { id: key!.id } });
  expect(disabledAt).not.toBeNull();
  expect((await call('DELETE', `/v1/clients/${client.id}/keys/${key!.id}`)).status).toBe(204);
  expect(await rig.prisma.clientKey.findUniqueOrThrow({ where: { id: key!.id } })).toMatchObject({ disabledAt });
  const listed = await call('GET', `/v1/clients/${client.id}/keys`);
  expect(listed.body).toMatchObject({ data: [{ id: key!.id, disabled_at: disabledAt!.toISOString() }, {}, {}] });
});

test('ten active keys for one use, and no more', async () => {
  for (let at = 0; at < 10; at += 1) expect((await register({ algorithm: 'hmac-sha256' })).status).toBe(201);
  const reply = await register({ algorithm: 'hmac-sha256' });
  expect([reply.status, reply.body?.['code']]).toEqual([422, 'too_many']);
});

test('409 for the caller’s own last signing key', async () => {
  const own = await rig.createClient();
  const signer = await rig.signerFor(own);
  const request = rig.asked(own, { method: 'DELETE', target: `/v1/clients/${own.id}/keys/${signer.keyId}` });
  const reply = await rig.send(await rig.signed(request, signer));
  expect([reply.status, reply.body?.['code']]).toEqual([409, 'last_signing_key']);
  expect((await call('DELETE', `/v1/clients/${own.id}/keys/${signer.keyId}`)).status).toBe(204);
});

test("another merchant's client, another client's key, impossible ids: not found, nothing written", async () => {
  const { body } = await register({ algorithm: 'hmac-sha256' });
  const stranger = await rig.createClient(['clients:admin'], await rig.fixture.createMerchant());
  const other = await rig.createClient();
  const before = await rig.prisma.clientKey.findMany({ orderBy: { id: 'asc' } });
  expect((await call('GET', `/v1/clients/${client.id}/keys`, stranger)).status).toBe(404);
  expect((await register({ algorithm: 'hmac-sha256' }, client, stranger)).status).toBe(404);
  expect((await call('DELETE', `/v1/clients/${client.id}/keys/${String(body!['id'])}`, stranger)).status).toBe(404);
  expect((await call('DELETE', `/v1/clients/${other.id}/keys/${String(body!['id'])}`)).status).toBe(404);
  for (const id of [newId('cli'), 'cli_1', '%00', newId('mer')]) {
    expect((await call('GET', `/v1/clients/${id}/keys`)).status).toBe(404);
    expect((await call('DELETE', `/v1/clients/${client.id}/keys/${id}`)).status).toBe(404);
  }
  expect(await rig.prisma.clientKey.findMany({ orderBy: { id: 'asc' } })).toEqual(before);
});

test('without the permission: refused', async () => {
  const weak = await rig.createClient(['devices:admin']);
  expect((await call('GET', `/v1/clients/${client.id}/keys`, weak)).status).toBe(403);
  expect((await register({ algorithm: 'hmac-sha256' }, client, weak)).status).toBe(403);
});
