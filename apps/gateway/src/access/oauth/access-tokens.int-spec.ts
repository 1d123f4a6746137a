// Promise: what was taken away from a token or a client counts for nothing within a second, on every gateway.
import 'reflect-metadata';
import pg from 'pg';
import { createTestDatabase, type TestDatabase } from '#database/testing';
import { createLogger } from '#runtime';
import { untilTrue } from '../../../../../libs/runtime/src/testing/until.js';
import { AccessNotices } from '../live/access-notices.js';
import { hashAccessToken } from './access-token.js';
import { AccessTokens } from './access-tokens.js';
import { ExpiredTokens } from './expired-tokens.js';
import { OauthRepository } from './oauth.repository.js';
import { OauthGateway } from './testing/oauth-gateway.js';

const PUBLIC_URL = 'https://gateway.test/';
let database: TestDatabase;
let gateway: OauthGateway;
let merchantId: string;

beforeAll(async () => {
  database = await createTestDatabase();
  gateway = await OauthGateway.start(database, { publicUrl: PUBLIC_URL });
  merchantId = await gateway.createMerchant();
});
afterAll(async () => {
  await gateway.stop();
  await database.drop();
});

type TestClient = Awaited<ReturnType<OauthGateway['createClient']>>;

const makeClient = (scopes: string[]): Promise<TestClient> => gateway.createClient(merchantId, { scopes });

const logger = createLogger('gateway', 'error', { write: () => undefined });
const tokenOf = (client: TestClient): Promise<string> => gateway.createToken(client.id);

/** Takes the database's own notices away, as if they were lost on their way. */
async function withoutNotices(run: () => Promise<void>): Promise<void> {
  const owner = new pg.Client({ connectionString: database.ownerUrl });
  await owner.connect();
  const set = async (how: 'DISABLE' | 'ENABLE'): Promise<void> => {
    for (const table of ['oauth_tokens', 'oauth_clients'])
      await owner.query(`ALTER TABLE ${table} ${how} TRIGGER USER`);
  };
  try {
    await set('DISABLE');
    await run();
  } finally {
    await set('ENABLE');
    await owner.end();
  }
}

/** A gateway that only just began to listen forgets once more what it had read. */
async function cachedBy(tokens: AccessTokens, token: string): Promise<void> {
  for (const deadline = Date.now() + 30_000; ; await new Promise((resolve) => setTimeout(resolve, 20))) {
    const before = await tokens.find(token);
    // Longer than what was read without hearing of changes is trusted.
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    if (before !== null && (await tokens.find(token)) === before) return;
    if (Date.now() > deadline) throw new Error('nothing is cached');
  }
}

describe('cached tokens', () => {
  test('are asked for once, and dropped at once on a notice', async () => {
    const tokens = gateway.app.get(AccessTokens);
    const client = await makeClient(['receipts:read']);
    const token = await tokenOf(client);
    const other = await tokenOf(client);
    await cachedBy(tokens, token);
    await withoutNotices(async () => {
      const before = await Promise.all(Array.from({ length: 20 }, () => tokens.find(token)));
      expect(before.every((found) => found?.clientId === client.id)).toBe(true);
      const revoke = (revokedAt: Date | null): Promise<unknown> =>
        gateway.prisma.oauthToken.updateMany({ where: { clientId: client.id }, data: { revokedAt } });
      // On a busy machine what is cached may not be trusted any more by then: once more.
      await untilTrue(async () => {
        await revoke(null);
        await tokens.find(token);
        await revoke(new Date());
        return (await tokens.find(token)) !== null;
      }, 'a token is cached');
      tokens.forget(hashAccessToken(token));
      expect(await tokens.find(token)).toBeNull();
      await revoke(null);
      expect(await tokens.find(other)).not.toBeNull();
      await gateway.prisma.oauthClient.update({ where: { id: client.id }, data: { disabledAt: new Date() } });
      tokens.forgetClient(client.id);
      expect(await tokens.find(other)).toBeNull();
    });
  });

  test('a lookup that began before a revocation is not cached after it', async () => {
    const tokens = gateway.app.get(AccessTokens);
    const client = await makeClient(['receipts:read']);
    const token = await tokenOf(client);
    await withoutNotices(async () => {
      const early = tokens.find(token);
      tokens.forget(hashAccessToken(token));
      await early;
      await gateway.prisma.oauthToken.updateMany({ where: { clientId: client.id }, data: { revokedAt: new Date() } });
      expect(await tokens.find(token)).toBeNull();
    });
  });

  test('whatever is taken away from a client, by whatever path, another gateway knows within a second', async () => {
    const second = await OauthGateway.start(database, { publicUrl: PUBLIC_URL });
    const answer = async (token: string): Promise<number> => (await second.mine(token)).status;
    const revoke = ({ id, secret }: TestClient, token: string): Promise<unknown> => {
      const body = new URLSearchParams({ client_id: id, client_secret: secret, token });
      return fetch(`${gateway.url}/oauth/revoke`, { method: 'POST', body }).then((response) => response.text());
    };
    const ways: [string, number, (client: TestClient, token: string) => Promise<unknown>][] = [
      ['revoked', 401, revoke],
      [
        'disabled',
        401,
        ({ id }) => gateway.prisma.oauthClient.update({ where: { id }, data: { disabledAt: new Date() } }),
      ],
      [
        'scope',
        403,
        ({ id }) => gateway.prisma.oauthClient.update({ where: { id }, data: { scopes: ['catalog:read'] } }),
      ],
      ['address', 403, ({ id }) => gateway.prisma.oauthClient.update({ where: { id }, data: { ipPolicy: 'listed' } })],
    ];
    try {
      for (const [what, refused, takeAway] of ways) {
        const tookMs: number[] = [];
        // The middle of three: a busy machine may be late once, and a gateway that just began to listen has forgotten anyway.
        for (let round = 0; round < 3; round += 1) {
          const client = await makeClient(['receipts:read']);
          const token = await tokenOf(client);
          expect([what, await answer(token)]).toEqual([what, 200]);
          await takeAway(client, token);
          const committedAt = performance.now();
          let status = await answer(token);
          while (status === 200 && performance.now() - committedAt < 20_000) status = await answer(token);
          expect([what, status]).toEqual([what, refused]);
          tookMs.push(performance.now() - committedAt);
        }
        // A busy machine may be late; without the notice all of them would be.
        expect([what, Math.min(...tookMs) < 1_000]).toEqual([what, true]);
      }
    } finally {
      await second.stop();
    }
  });

  test('count for less than a second while no notices can be received', async () => {
    const notices = new AccessNotices({ DATABASE_URL: 'postgresql://127.0.0.1:9/x' }, logger);
    const deaf = new AccessTokens(notices, gateway.app.get(OauthRepository));
    const tookMs: number[] = [];
    // Each round begins before the token is cached: one that counts for five seconds takes longer, however slow the machine is.
    while (tookMs.length < 5 && !tookMs.some((ms) => ms < 4_000)) {
      const client = await makeClient(['receipts:read']);
      const token = await tokenOf(client);
      const begun = performance.now();
      expect(await deaf.find(token)).not.toBeNull();
      await gateway.prisma.oauthToken.updateMany({ where: { clientId: client.id }, data: { revokedAt: new Date() } });
      while ((await deaf.find(token)) !== null) await new Promise((resolve) => setTimeout(resolve, 20));
      tookMs.push(performance.now() - begun);
    }
    // Well before the five seconds for which it would be cached otherwise.
    expect(Math.min(...tookMs)).toBeLessThan(4_000);
  });

  test('are swept a day after they expired', async () => {
    const client = await makeClient(['receipts:read']);
    await tokenOf(client);
    await gateway.prisma.$executeRaw`
      UPDATE oauth_tokens SET expires_at = now() - interval '2 days'
       WHERE token_hash = (SELECT token_hash FROM oauth_tokens WHERE client_id = ${client.id} LIMIT 1)`;
    await gateway.app.get(ExpiredTokens).sweep();
    expect(await gateway.prisma.oauthToken.count({ where: { clientId: client.id } })).toBe(1);
  });
});
