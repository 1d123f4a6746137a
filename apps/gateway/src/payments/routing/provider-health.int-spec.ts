// Promise: why an account at a provider is down is its last reason, also where no further call says it again.
import 'reflect-metadata';
import { newId } from '#runtime';
import { untilTrue } from '../../../../../libs/runtime/src/testing/until.js';
import { OperatorFixture } from '../../operator/testing/operator-fixture.js';
import { ProviderHealth } from './provider-health.js';

let fixture: OperatorFixture;

beforeAll(async () => {
  fixture = await OperatorFixture.start();
});
afterAll(() => fixture?.stop());

test('a reason that changes at once is not lost to the pause between two writes', async () => {
  const { merchantId, prisma } = fixture;
  const id = newId('pac');
  await prisma.$executeRaw`
    INSERT INTO provider_accounts (id, merchant_id, provider, name, settings, credentials_sealed)
    VALUES (${id}, ${merchantId}, 'octo', 'O', '{}', '\\x00'::bytea)`;
  const health = fixture.app.get(ProviderHealth, { strict: false });
  const fails = (detail: string): Promise<void> =>
    health.note({ id, merchantId, provider: 'octo' }, { kind: 'unsent', detail });
  for (let call = 0; call < 3; call += 1) await fails('connection refused');
  await fails('no answer in time');
  await untilTrue(async () => {
    const rows = await prisma.$queryRaw<
      { detail: string }[]
    >`SELECT detail FROM provider_health WHERE account_id = ${id}`;
    return rows[0]?.detail === 'no answer in time';
  });
});
