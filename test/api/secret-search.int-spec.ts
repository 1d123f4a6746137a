// Promise: the search for secrets in stolen copies (no-secrets.int-spec.ts) finds one when there is one, of every kind, in every place, however it is written.
import { randomBytes } from 'node:crypto';
import type { Redis } from 'ioredis';
import { createTestDatabase, type TestDatabase } from '#database/testing';
import { createLogger } from '#runtime';
import { newAccessToken } from '../../apps/gateway/src/access/oauth/access-token.js';
import { newClientSecret } from '../../apps/gateway/src/access/oauth/client-secret.js';
import { newWebhookSecret } from '../../apps/gateway/src/notify/webhooks/sign-webhook.js';
import { OwnRedis, redisIsInstalled } from '../../libs/queue/src/testing/own-redis.js';
import { findPackaged, startPackaged, type PackagedServer } from '../recovery/packaged-postgres.js';
import { sql } from '../system/database.js';
import { SecretSearch } from './secret-search.js';
import { copyOfDatabase, copyOfRedis } from './thief.js';

const hex = (what: string): string => `${what}-${randomBytes(12).toString('hex')}`;

/** As no-secrets.int-spec.ts knows them, each made as it is made there. */
const KINDS: Readonly<Record<string, () => string>> = {
  'access token': newAccessToken,
  'client secret': newClientSecret,
  'Basic credentials': () => Buffer.from(`cli_01:${newClientSecret()}`).toString('base64'),
  'Authorization value': () => `Bearer ${newAccessToken()}`,
  'register key': () => `register-${randomBytes(16).toString('hex')}`,
  'signing secret': () => newClientSecret().replace('fgw_cs_', 'fgw_sk_'),
  'webhook secret': newWebhookSecret,
  'provider key': () => hex('provider-key'),
  'instrument token': () => hex('instrument-token'),
  'private key': () => hex('private-key'),
  'enrolment code': () => randomBytes(9).toString('base64url'),
  'a password with odd letters': () => `p/+=& ü${randomBytes(9).toString('base64')}`,
  SECRETS_KEY: () => randomBytes(32).toString('base64'),
};

/** How a secret may stand in a text without being there letter for letter. */
const SPELLINGS: Readonly<Record<string, (secret: string) => string>> = {
  'in clear': (secret) => secret,
  'in JSON': (secret) => JSON.stringify({ api_key: secret }),
  'in a URL': (secret) => `/hook?key=${encodeURIComponent(secret)}&x=1`,
  'in hex': (secret) => Buffer.from(secret).toString('hex'),
  'in capital hex': (secret) => Buffer.from(secret).toString('hex').toUpperCase(),
  'in base64': (secret) => Buffer.from(secret).toString('base64'),
  'in base64 for URLs': (secret) => Buffer.from(secret).toString('base64url'),
  ...Object.fromEntries(
    [0, 1, 2].map((before) => [
      `within base64 of a text, ${before} behind its beginning`,
      (secret: string) => Buffer.from(`${'{"a":'.slice(0, 3 + before)}${secret}"}`).toString('base64'),
    ]),
  ),
};

interface Planted {
  search: SecretSearch;
  names: string[];
  texts: string[];
}

/** One secret for each kind and spelling, and the texts in which they are to be found. */
function plant(spellings: readonly string[] = Object.keys(SPELLINGS)): Planted {
  const search = new SecretSearch();
  const cases = Object.entries(KINDS).flatMap(([kind, make]) =>
    spellings.map((spelling) => ({ kind, make, spelling })),
  );
  const texts = cases.map(({ kind, make, spelling }) => {
    const secret = search.add(`${kind} ${spelling}`, make());
    return SPELLINGS[spelling]?.(secret) ?? '';
  });
  return { search, names: cases.map(({ kind, spelling }) => `${kind} ${spelling}`).sort(), texts };
}

function expectAll({ search, names }: Planted, copy: string): void {
  expect(search.findIn(copy).sort()).toEqual(names);
}

test('in a line of a log', () => {
  const planted = plant();
  const lines = planted.texts.map((text) => `${JSON.stringify({ level: 'info', msg: `asked with ${text}` })}\n`);
  expectAll(planted, lines.join(''));
  // Each by itself, and none where there is none.
  for (const [at, line] of lines.entries())
    expect([at, planted.search.findIn(line)]).toEqual([at, [expect.any(String)]]);
  expect(planted.search.findIn(plant().texts.join('\n'))).toEqual([]);
});

test('in what our logger writes of a field whose name reveals nothing', () => {
  const search = new SecretSearch();
  const lines: string[] = [];
  const logger = createLogger('gateway', 'trace', { write: (line: string) => void lines.push(line) });
  const secret = search.add('provider key', hex('provider-key'));
  logger.info({ answer: { note: secret } }, 'leaks');
  logger.error({ err: new Error(`the provider said ${secret}`) }, 'leaks');
  expect(lines.map((line) => search.findIn(line))).toEqual([['provider key'], ['provider key']]);
});

/** By each type of column that a secret may stand in. Bytes show as hex: of a secret, not of its hex. */
const COLUMNS = [
  { type: 'text', put: 'INSERT INTO strange."Leak" (note) SELECT unnest($1::text[])', spellings: undefined },
  {
    type: 'jsonb',
    put: `INSERT INTO strange."Leak" (more) SELECT jsonb_build_object('job', each) FROM unnest($1::text[]) each`,
    spellings: undefined,
  },
  { type: 'text[]', put: 'INSERT INTO strange."Leak" (many) VALUES ($1::text[])', spellings: undefined },
  {
    type: 'bytea',
    put: `INSERT INTO strange."Leak" (bytes) SELECT convert_to(unnest($1::text[]), 'UTF8')`,
    spellings: ['in clear', 'in JSON'],
  },
];

const found = findPackaged();
const COPIERS = [
  { how: 'every row as text', server: () => Promise.resolve(null) },
  ...(found ? [{ how: 'by pg_dump', server: () => startPackaged(found) }] : []),
];

describe.each(COPIERS)('in a database copied $how', ({ server }) => {
  let packaged: PackagedServer | null;
  let database: TestDatabase;
  beforeAll(async () => {
    packaged = await server();
    database = await createTestDatabase(...(packaged ? [packaged.adminUrl] : []));
    await sql(database, 'CREATE SCHEMA strange');
    await sql(database, 'CREATE TABLE strange."Leak" (note text, more jsonb, many text[], bytes bytea)');
  });
  afterAll(async () => {
    await database.drop();
    await packaged?.stop();
  });

  test.each(COLUMNS)('in a column of type $type', async ({ put, spellings }) => {
    const planted = plant(spellings);
    await sql(database, put, [planted.texts]);
    expectAll(planted, await copyOfDatabase(database.adminUrl, packaged ? (found?.bin ?? null) : null));
  });

  test('as the bytes that a webhook secret means', async () => {
    const search = new SecretSearch();
    const secret = search.add('webhook secret', newWebhookSecret());
    await sql(database, 'INSERT INTO strange."Leak" (bytes) VALUES ($1)', [
      Buffer.from(secret.replace('whsec_', ''), 'base64'),
    ]);
    const copy = await copyOfDatabase(database.adminUrl, packaged ? (found?.bin ?? null) : null);
    expect(search.findIn(copy)).toEqual(['webhook secret']);
  });
});

const mayRun = redisIsInstalled() || process.env['CI'] === 'true';
(mayRun ? describe : describe.skip)('in Redis', () => {
  let redis: OwnRedis;
  beforeAll(async () => {
    redis = await OwnRedis.reserve();
    await redis.start();
    await redis.command((client) => client.config('SET', 'rdbcompression', 'no'));
  });
  afterAll(() => redis.kill());

  /** By each type that BullMQ and the limits keep. */
  const WAYS: Readonly<Record<string, (client: Redis, text: string, at: number) => Promise<unknown>>> = {
    'the name of a key': (client, text) => client.set(`fgw:limit:${text}`, '1'),
    'a string': (client, text, at) => client.set(`s${at}`, text),
    'a hash, as the data of a job': (client, text, at) => client.hset(`h${at}`, 'data', JSON.stringify({ text })),
    'a list': (client, text) => client.rpush('list', text),
    'a sorted set': (client, text, at) => client.zadd('sorted', at, text),
    'a stream, as an event': (client, text) => client.xadd('stream', '*', 'event', 'added', 'data', text),
  };

  test.each(Object.entries(WAYS))('in %s', async (_what, put) => {
    const planted = plant();
    await redis.command(async (client) => {
      for (const [at, text] of planted.texts.entries()) await put(client, text, at);
    });
    expectAll(planted, await copyOfRedis(redis));
  });
});
