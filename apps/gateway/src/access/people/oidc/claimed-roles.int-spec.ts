// Promise: a role that a claim of the identity provider gave counts where that provider has let its person in, and not after a login with a passkey, which asks it nothing; what an invitation gave stays.
import 'reflect-metadata';
import { createHash, generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto';
import { newId } from '#runtime';
import { parseRoleRules } from '../../../http/role-rules.js';
import { Invitations } from '../invitations/invitations.js';
import { SessionRepository } from '../sessions/session.repository.js';
import { hashSessionToken, newSessionToken } from '../sessions/session-token.js';
import { ORIGIN, PeopleRig, type Browser } from '../testing/people-rig.js';
import { OidcUsers } from './oidc-users.js';

let rig: PeopleRig;
let claimed: string;
let invited: string;
let userId: string;
let code: string;

beforeAll(async () => {
  code = `shop-${newId('x').slice(-10)}`;
  rig = await PeopleRig.start(1, { OIDC_ROLES: parseRoleRules(`groups=owners->${code}/owner`) });
  [claimed, invited] = [await rig.createMerchant(), await rig.createMerchant()];
  await rig.prisma.merchant.update({ where: { id: claimed }, data: { code } });
  userId = newId('usr');
  const email = `${userId}@shop.uz`;
  const identity = { oidcIssuer: 'https://provider.test', oidcSubject: 'aziza' };
  await rig.prisma.user.create({ data: { id: userId, email, name: 'Aziza', ...identity } });
  await rig.prisma.membership.createMany({
    data: [
      { id: newId('mem'), userId, merchantId: claimed, role: 'owner', origin: 'oidc' },
      { id: newId('mem'), userId, merchantId: null, role: 'platform_administrator', origin: 'oidc' },
      { id: newId('mem'), userId, merchantId: invited, role: 'support' },
    ],
  });
});
afterAll(() => rig?.stop());

const sha256 = (data: Buffer): Buffer => createHash('sha256').update(data).digest();

/** An authenticator of the person, as the database keeps it. */
async function passkey(): Promise<{ id: string; key: KeyObject }> {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
  // COSE: EC2, ES256, P-256, x, y.
  const [head, between] = [Buffer.from('a5010203262001215820', 'hex'), Buffer.from('225820', 'hex')];
  const cose = Buffer.concat([head, Buffer.from(x, 'base64url'), between, Buffer.from(y, 'base64url')]);
  const credentialId = randomBytes(16).toString('base64url');
  const row = { id: newId('psk'), userId, credentialId, publicKey: new Uint8Array(cose), name: 'Phone' };
  await rig.prisma.passkey.create({ data: row });
  return { id: credentialId, key: privateKey };
}

async function logInWith({ id, key }: { id: string; key: KeyObject }): Promise<Browser> {
  const browser = rig.browser();
  const { options } = (await browser.post('/auth/passkey/options')).body as unknown as {
    options: { challenge: string };
  };
  const client = Buffer.from(
    JSON.stringify({ type: 'webauthn.get', challenge: options.challenge, origin: ORIGIN, crossOrigin: false }),
  );
  // User present and verified.
  const data = Buffer.concat([sha256(Buffer.from(new URL(ORIGIN).hostname)), Buffer.from('0500000000', 'hex')]);
  const signature = sign('sha256', Buffer.concat([data, sha256(client)]), key);
  const [clientDataJSON, authenticatorData, signed] = [client, data, signature].map((one) => one.toString('base64url'));
  const response = { clientDataJSON, authenticatorData, signature: signed };
  const credential = { id, rawId: id, type: 'public-key', response, clientExtensionResults: {} };
  expect((await browser.post('/auth/passkey', { credential })).status).toBe(200);
  return browser;
}

const rolesOf = async (browser: Browser): Promise<unknown> => {
  const { memberships, platform_roles } = (await browser.get('/v1/me')).body as unknown as {
    memberships: { merchant: { id: string }; roles: string[] }[];
    platform_roles: string[];
  };
  return { memberships: memberships.map(({ merchant: { id }, roles }) => [id, roles]), platform_roles };
};

test('with a passkey the person has what it was given here, and not what the provider gave', async () => {
  const browser = await logInWith(await passkey());
  expect(await rolesOf(browser)).toEqual({ memberships: [[invited, ['support']]], platform_roles: [] });
  expect((await browser.get('/v1/clients', { merchant: claimed })).code).toBe('merchant_refused');
});

test('let in by the provider it has both', async () => {
  const [token, browser] = [newSessionToken(), rig.browser()];
  const session = { hash: hashSessionToken(token), userId, login: 'oidc', address: null, userAgent: null } as const;
  await rig.app.get(SessionRepository).insert(rig.prisma, { ...session, idToken: null, sid: null });
  browser.cookies.set('__Host-fgw_session', token);
  expect(await rolesOf(browser)).toEqual({
    memberships: expect.arrayContaining([
      [claimed, ['owner']],
      [invited, ['support']],
    ]),
    platform_roles: ['platform_administrator'],
  });
});

test('a role that a claim and an invitation both gave stays when the claim is gone', async () => {
  const [users, subject, email] = [rig.app.get(OidcUsers), newId('x'), `${newId('x')}@shop.uz`];
  const caller = { merchantId: 'platform', address: null, requestId: 'r' };
  const logIn = async (groups: string[], token?: string): Promise<unknown> => {
    const invitation = token === undefined ? null : await rig.app.get(Invitations).find(token);
    const claims = { email, groups };
    const identity = { issuer: 'https://provider.test', subject, claims, idToken: '', sid: null };
    return users.resolve(identity, invitation, caller);
  };
  const token = await rig.invite(email, ['owner'], claimed);
  expect(await logIn(['owners'], token)).toMatchObject({ kind: 'user' });
  expect(await logIn([])).toMatchObject({ kind: 'user' });
  const user = { oidcSubject: subject };
  expect(await rig.prisma.membership.findMany({ where: { user } })).toMatchObject([
    { merchantId: claimed, role: 'owner' },
  ]);
});
