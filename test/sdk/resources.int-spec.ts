// Promise: every list of the API is gone through by `for await`, over its pages, and what a line of a table calls is really there.
import { randomBytes } from 'node:crypto';
import type { PagedList } from '#sdk';
import { FiscalGateway, ProblemError } from '#sdk';
import { parseKeyring } from '#secrets';
import { OperatorFixture } from '../../apps/gateway/src/operator/testing/operator-fixture.js';
import { RESOURCES } from '../../libs/sdk/src/resources/tables.js';
import { createMerchant } from '../system/merchant.js';

const secretsKey = randomBytes(32).toString('base64');
const SCOPES = [
  ...['receipts:write', 'receipts:read', 'payments:write', 'catalog:read', 'catalog:write', 'devices:admin'],
  ...['clients:admin', 'webhooks:admin', 'operator:resolve'],
  ...['users:read', 'messages:write', 'platform:read'],
];

let fixture: OperatorFixture;
let fgw: FiscalGateway;
let ids: Record<string, string>;

beforeAll(async () => {
  fixture = await OperatorFixture.start({ SECRETS_KEY: parseKeyring(secretsKey) });
  const registerUrls = ['http://127.0.0.1:9'];
  const more = { secretsKey, scopes: SCOPES, registerUrls, registerApiKey: 'none' };
  const { clientId, clientSecret, tills } = await createMerchant(fixture.database.url, more);
  fgw = new FiscalGateway({ baseUrl: fixture.base, credentials: { clientId, clientSecret } });
  ids = { clients: clientId, devices: tills[0]!.deviceId };
});
afterAll(() => fixture.stop());

const lists = Object.entries(RESOURCES).flatMap(([name, table]) =>
  Object.entries<string>(table)
    .filter(([, line]) => line.startsWith('LIST'))
    .map(([method, line]) => [`${name}.${method}`, { name, method, line }] as const),
);
/** What a list cannot be read without. */
const FILTERS: Readonly<Record<string, object>> = {
  'reports.turnover': { by: 'day' },
  'webhooks.callbacks': { receipt_id: 'rcp_none' },
};

test.each(lists)('%s', async (title, { name, method, line }) => {
  const resource = fgw[name as 'devices'] as unknown as Record<string, (...given: unknown[]) => PagedList<never>>;
  const place = line.includes('{id}') ? [ids[name] ?? 'none_1'] : [];
  const found: unknown[] = [];
  try {
    for await (const one of resource[method]!(...place, FILTERS[title] ?? {})) found.push(one);
  } catch (error) {
    // Of something that there is not: the gateway knows the path all the same.
    if (!(error instanceof ProblemError) || error.code !== 'not_found') throw error;
    expect([title, place]).toEqual([title, ['none_1']]);
  }
  expect(Array.isArray(found)).toBe(true);
});

test('entries come once, over pages', async () => {
  const codes = Array.from({ length: 5 }, (_, at) => `place-${at}`);
  const made: string[] = [];
  for (const code of codes) made.push((await fgw.branches.create({ code, name: code })).id);
  const found: string[] = [];
  for await (const { code } of fgw.branches.list({ limit: 2 })) found.push(code);
  expect(found.sort()).toEqual(['main', ...codes]);
  await fgw.branches.archive(made.at(-1)!);
  const archived = await fgw.branches.list({ archived: true }).toArray({ limit: 9 });
  expect(archived.filter(({ archived_at: at }) => at !== null).map(({ code }) => code)).toEqual(['place-4']);
});

test('the end of the feed is a place behind everything that there is', async () => {
  const begin = await fgw.events.end();
  await expect(fgw.events.list({ cursor: begin }).toArray({ limit: 1 })).resolves.toEqual([]);
});

test('a token of its own says what it may be used for', async () => {
  const { scopes = [], expiresIn } = await fgw.accessToken();
  expect([...scopes].sort()).toEqual([...SCOPES].sort());
  expect(expiresIn).toBeGreaterThan(60);
});
