// Promise: a signing key that was taken away counts for nothing within seconds, also where the connection for notices is dead and seems alive.
import 'reflect-metadata';
import { PrismaService } from '#database';
import { createLogger } from '#runtime';
import { SigningKeys } from '../../apps/gateway/src/access/signing/signing-keys.js';
import { SigningRig } from '../../apps/gateway/src/access/signing/testing/signing-rig.js';
import type { GatewaySettings } from '../../apps/gateway/src/settings.js';
import { SETTINGS_TOKEN } from '../../apps/gateway/src/tokens.js';
import { lineTo } from '../system/tcp-proxy.js';
import { until } from '../../libs/runtime/src/testing/until.js';

const logger = createLogger('gateway', 'error', { write: () => undefined });
let rig: SigningRig;

beforeAll(async () => {
  rig = await SigningRig.start();
});
afterAll(() => rig?.stop());

/** Sessions that wait for notices: the gateways of this process share theirs. */
async function listeners(): Promise<number> {
  const [row] = await rig.prisma.$queryRaw<{ count: number }[]>`
    SELECT count(*)::int4 AS count FROM pg_stat_activity
     WHERE application_name = 'gateway-listen' AND datname = current_database() AND state = 'idle'
       AND query ~ '^(LISTEN|SELECT 1)'`;
  return row?.count ?? 0;
}

test('a deaf gateway reads again', async () => {
  const client = await rig.createClient();
  const signer = await rig.signerFor(client);
  const { DATABASE_URL, SECRETS_KEY } = rig.fixture.app.get<GatewaySettings>(SETTINGS_TOKEN);
  const { line, url } = await lineTo(DATABASE_URL);
  url.searchParams.delete('connect_timeout');
  await until('the gateways listen', listeners, (count) => count === 1);
  const keys = new SigningKeys(rig.prisma, { DATABASE_URL: url.href, SECRETS_KEY }, logger);
  keys.onApplicationBootstrap();
  try {
    await until('it listens too', listeners, (count) => count === 2);
    // Until what it forgets at the beginning is over: what it reads now, it caches.
    await until('it caches', async () => (await keys.of(client.id)) === (await keys.of(client.id)), Boolean);
    expect(line.deafen()).toBeGreaterThan(0);
    expect((await keys.of(client.id)).keys.has(signer.keyId)).toBe(true);
    await rig.prisma.clientKey.update({ where: { id: signer.keyId }, data: { disabledAt: new Date() } });
    const begun = performance.now();
    await until(
      'it reads again',
      async () => (await keys.of(client.id)).keys.size,
      (size) => size === 0,
    );
    // Well before the five seconds for which it would be cached otherwise.
    expect(performance.now() - begun).toBeLessThan(4_000);
  } finally {
    await line.close();
    await keys.onApplicationShutdown();
  }
});

test('a question that is never answered holds up no later request of the client', async () => {
  const client = await rig.createClient();
  const signer = await rig.signerFor(client);
  const { DATABASE_URL, SECRETS_KEY } = rig.fixture.app.get<GatewaySettings>(SETTINGS_TOKEN);
  const { line, url } = await lineTo(DATABASE_URL);
  const prisma = new PrismaService({ url: url.href, poolSize: 2, applicationName: 'half-deaf', lockTimeoutMs: 400 });
  // It receives no notice, so what it knows counts for less than a second.
  const keys = new SigningKeys(prisma, { DATABASE_URL: 'postgresql://127.0.0.1:9/x', SECRETS_KEY }, logger);
  try {
    expect((await keys.of(client.id)).keys.has(signer.keyId)).toBe(true);
    expect(line.deafen()).toBeGreaterThan(0);
    await rig.prisma.clientKey.update({ where: { id: signer.keyId }, data: { disabledAt: new Date() } });
    const answered = new Set<number>();
    await until(
      'it reads over another connection',
      async () => {
        void keys.of(client.id).then(
          ({ keys: { size } }) => answered.add(size),
          () => undefined,
        );
        await new Promise((resolve) => setTimeout(resolve, 100));
        return answered.has(0);
      },
      Boolean,
    );
  } finally {
    await line.close();
    await prisma.$disconnect();
  }
});
