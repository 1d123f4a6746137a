// Promise: what an invitation gave stays, whatever the claims of the identity provider gave beside it.
import 'reflect-metadata';
import { newId } from '#runtime';
import { parseRoleRules } from '../../../http/role-rules.js';
import { Invitations } from '../invitations/invitations.js';
import { PeopleRig } from '../testing/people-rig.js';
import { OidcUsers } from './oidc-users.js';

let rig: PeopleRig;
let claimed: string;

beforeAll(async () => {
  const code = `shop-${newId('x').slice(-10)}`;
  rig = await PeopleRig.start(1, { OIDC_ROLES: parseRoleRules(`groups=owners->${code}/owner`) });
  claimed = await rig.createMerchant();
  await rig.prisma.merchant.update({ where: { id: claimed }, data: { code } });
});
afterAll(() => rig?.stop());

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
