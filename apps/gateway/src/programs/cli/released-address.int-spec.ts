// Promise: an address that a merchant has taken by an invitation of its own goes back to its owner by an operator's command.
import 'reflect-metadata';
import type { INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { createLogger, NestLogger } from '#runtime';
import { totpAt } from '../../access/people/credentials/totp.js';
import { OidcUsers, type FoundUser } from '../../access/people/oidc/oidc-users.js';
import { msUntil, PASSWORD, PeopleRig } from '../../access/people/testing/people-rig.js';
import { parseRoleRules } from '../../http/role-rules.js';
import { testGatewaySettings } from '../../testing/gateway-settings.js';
import { CliModule } from './cli.module.js';
import { Cli } from './cli.js';

const ADDRESS = 'director@rival.uz';
const logger = createLogger('cli', 'error', { write: () => undefined });

let rig: PeopleRig;
let cli: INestApplicationContext;

beforeAll(async () => {
  rig = await PeopleRig.start(1, { OIDC_ROLES: parseRoleRules('groups=it->platform_reader') });
  cli = await NestFactory.createApplicationContext(CliModule.create(testGatewaySettings(rig.database), logger), {
    logger: new NestLogger(logger),
  });
});
afterAll(async () => {
  await cli?.close();
  await rig?.stop();
});

const now = (): number => Date.now() / 1_000;

/** The address' owner comes back from the identity provider. */
const throughProvider = (): Promise<FoundUser> =>
  rig.app.get(OidcUsers, { strict: false }).resolve(
    {
      ...{ issuer: 'https://provider.test', subject: 'director', idToken: 'x', sid: null, isFresh: true },
      claims: { email: ADDRESS, email_verified: true, groups: ['it'] },
    },
    null,
    { merchantId: 'platform', address: null, requestId: 'r' },
  );

test('an address that is taken keeps its owner out until it is released', async () => {
  const owner = await rig.join('owner', ['owner'], await rig.createMerchant());
  const invite = async (): Promise<string> =>
    (await owner.post('/v1/invitations', { email: ADDRESS, roles: ['support'] })).body?.url.split('#')[1] ?? '';
  const [token, spare] = [await invite(), await invite()];
  const squatter = rig.browser();
  const secret = (await squatter.post('/auth/invitation', { token })).body?.totp.secret ?? '';
  const body = { token, name: 'Director', password: PASSWORD, code: totpAt(secret, now()) };
  expect((await squatter.post('/auth/invitation/accept', body)).status).toBe(200);
  expect(await throughProvider()).toEqual({ kind: 'refused', error: 'login_refused' });

  expect(await cli.get(Cli).run(['users', 'release', ADDRESS])).toMatchObject({ disabled: true });
  await msUntil(
    () => squatter.get('/v1/me'),
    ({ status }) => status === 401,
  );
  expect((await rig.browser().post('/auth/invitation', { token: spare })).code).toBe('invitation_invalid');
  await rig.prisma.$executeRaw`UPDATE users SET totp_step = 0`;
  const login = { email: ADDRESS, password: PASSWORD, code: totpAt(secret, now()) };
  expect((await rig.browser().post('/auth/login', login)).code).toBe('login_failed');
  expect(await throughProvider()).toMatchObject({ kind: 'user' });
  expect(await rig.prisma.auditRecord.count({ where: { action: 'user.release_address' } })).toBe(1);
});
