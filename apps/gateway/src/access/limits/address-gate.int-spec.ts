// Promise: a client on a list calls only from it, also for tokens; who was turned away is on the trail, and a flood of it is not.
import 'reflect-metadata';
import { createTestDatabase, type TestDatabase } from '#database/testing';
import { OauthGateway } from '../oauth/testing/oauth-gateway.js';

let database: TestDatabase;
let gateway: OauthGateway;
let merchantId: string;

beforeAll(async () => {
  database = await createTestDatabase();
  gateway = await OauthGateway.start(database);
  merchantId = await gateway.createMerchant();
});
afterAll(async () => {
  await gateway.stop();
  await database.drop();
});

const recordsOf = (targetId: string) =>
  gateway.prisma.auditRecord.findMany({ where: { targetId }, orderBy: { sequence: 'asc' } });

async function oauth(path: string, client: { id: string; secret: string }, form: Record<string, string>) {
  const response = await fetch(`${gateway.url}/oauth/${path}`, {
    method: 'POST',
    body: new URLSearchParams({ client_id: client.id, client_secret: client.secret, ...form }),
  });
  return { status: response.status, type: response.headers.get('content-type'), text: await response.text() };
}

test('tokens are neither issued, shown nor ended from elsewhere; the answer does not disclose the list', async () => {
  const client = await gateway.createClient(merchantId, { allowedCidrs: ['192.0.2.0/24'] });
  for (const [path, form] of [
    ['token', { grant_type: 'client_credentials' }],
    ['introspect', { token: client.token }],
    ['revoke', { token: client.token }],
  ] as const) {
    const { status, type, text } = await oauth(path, client, form);
    expect([path, status, type]).toEqual([path, 403, expect.stringMatching(/^application\/problem\+json/)]);
    expect(JSON.parse(text)).toMatchObject({ code: 'ip_not_allowed' });
    expect(text).not.toContain('192.0.2');
  }
  expect(
    (await gateway.prisma.oauthToken.findMany({ where: { clientId: client.id } })).map((t) => t.revokedAt),
  ).toEqual([null]);
  // A caller without the secret does not learn that there is a list, and leaves no audit record.
  const stranger = await gateway.createClient(merchantId, { allowedCidrs: [] });
  expect((await oauth('token', { ...stranger, secret: 'x' }, { grant_type: 'client_credentials' })).status).toBe(401);
  expect(await recordsOf(stranger.id)).toEqual([]);
});

test('a refusal is recorded with its address, once per address and at most ten times', async () => {
  const client = await gateway.createClient(merchantId, { allowedCidrs: ['192.0.2.0/24'] });
  const asks = Array.from({ length: 40 }, (_, index) => `127.0.1.${String(1 + (index % 20))}`);
  for (const from of asks) expect((await gateway.mine(client.token, { from })).status).toBe(403);
  const records = await recordsOf(client.id);
  expect(records.map(({ address }) => address)).toEqual(asks.slice(0, 10));
  expect(records[0]).toMatchObject({ action: 'client.refuse_address', actor: client.id, merchantId, before: null });
});

test('a list of IPv4 and IPv6 networks lets exactly these in', async () => {
  const client = await gateway.createClient(merchantId, { allowedCidrs: ['127.0.0.8/29', '2001:db8::/32'] });
  for (const [from, status] of [
    ['127.0.0.7', 403],
    ['127.0.0.8', 200],
    ['127.0.0.15', 200],
    ['127.0.0.16', 403],
  ] as const) {
    expect([from, (await gateway.mine(client.token, { from })).status]).toEqual([from, status]);
  }
});
