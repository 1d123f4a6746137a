// Promise: who steals a dump of the database, the queue or the logs finds no token, no secret and no key of a register in it.
import 'reflect-metadata';
import { randomBytes } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import pg from 'pg';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { createTestDatabase, type TestDatabase } from '#database/testing';
import { createFastifyNestApp, createLogger, Metrics, readSettings } from '#runtime';
import { GatewayModule } from '../../apps/gateway/src/gateway.module.js';
import { SCOPES } from '../../apps/gateway/src/http/scopes.js';
import { SETTINGS } from '../../apps/gateway/src/settings.js';
import { createMerchant, type TestMerchant } from '../system/merchant.js';

const ROUNDS = 250;
const AT_ONCE = 8;

let database: TestDatabase;
let app: NestFastifyApplication;
let base: string;
let merchant: TestMerchant;
let log = '';
/** What must be found nowhere, by what it is. */
const secrets = new Map<string, string>();

beforeAll(async () => {
  database = await createTestDatabase();
  const secretsKey = randomBytes(32).toString('base64');
  const registerApiKey = secret('register key', `register-${randomBytes(16).toString('hex')}`);
  const env = { DATABASE_URL: database.url, SECRETS_KEY: secretsKey, LOG_LEVEL: 'trace', GATEWAY_PORT: '0' };
  const settings = readSettings(SETTINGS, env);
  const logger = createLogger('gateway', 'trace', { write: (line: string) => void (log += line) });
  const metrics = new Metrics('gateway');
  app = await createFastifyNestApp(GatewayModule.create(settings, logger, metrics), { logger, metrics });
  await app.listen(0, '127.0.0.1');
  base = `http://127.0.0.1:${(app.getHttpServer().address() as AddressInfo).port}`;
  const registerUrls = ['http://127.0.0.1:9'];
  merchant = await createMerchant(database.url, { secretsKey, registerApiKey, registerUrls, scopes: [...SCOPES] });
  secret('client secret', merchant.clientSecret);
  secret('SECRETS_KEY', secretsKey);
  secret('SECRETS_KEY in hex', Buffer.from(secretsKey, 'base64').toString('hex'));
  secret('database password', new URL(database.url).password);
}, 60_000);

afterAll(async () => {
  await app?.close();
  await database?.drop();
});

function secret(what: string, value: string): string {
  if (value !== '') secrets.set(what, value);
  return value;
}

async function call(method: string, path: string, headers: Record<string, string>, body?: string): Promise<string> {
  const init = { method, headers, ...(body !== undefined && { body }) };
  const response = await fetch(`${base}${path}`, init);
  const text = await response.text();
  expect(response.status).toBeLessThan(500);
  return text;
}

async function fetchToken(round: number): Promise<string> {
  const basic = Buffer.from(`${merchant.clientId}:${merchant.clientSecret}`).toString('base64');
  secret('Basic credentials', basic);
  const form = 'application/x-www-form-urlencoded';
  const credentials = new URLSearchParams({ client_id: merchant.clientId, client_secret: merchant.clientSecret });
  const grant = 'grant_type=client_credentials';
  const text = await (round % 2 === 0
    ? call('POST', '/oauth/token', { authorization: `Basic ${basic}`, 'content-type': form }, grant)
    : call('POST', '/oauth/token', { 'content-type': form }, `${grant}&${credentials.toString()}`));
  return (JSON.parse(text) as { access_token: string }).access_token;
}

/** One round of everything that carries a secret, rightly and wrongly. */
async function play(round: number, token: string): Promise<void> {
  const authorization = `Bearer ${token}`;
  const json = { authorization, 'content-type': 'application/json', prefer: 'respond-async' };
  const apiKey = secret(`API key ${round}`, `key-${randomBytes(12).toString('hex')}`);
  const sale = {
    items: [{ name: merchant.goods[0], price: 112_000, qty: 1 }],
    payment: { method: 'cash' },
    cashier_id: merchant.tills[0]?.cashierId,
  };
  await call('POST', '/v1/receipts', json, JSON.stringify(sale));
  await call('POST', '/v1/receipts', json, JSON.stringify({ ...sale, api_key: apiKey, access_token: token }));
  await call('POST', '/v1/receipts', json, `{"broken": "${token}`);
  await call('GET', `/v1/receipts/x?access_token=${token}`, { authorization });
  await call('GET', `/v1/receipts?q=1`, { authorization: `${authorization}, Bearer ${token}` });
  const device = { branch_id: 'main', name: `Till ${round}`, transport: 'link', api_key: apiKey };
  const made = JSON.parse(await call('POST', '/v1/devices', json, JSON.stringify(device))) as { id?: string };
  const enrolment = JSON.parse(await call('POST', `/v1/devices/${made.id ?? 'x'}/enrolments`, json, '{}')) as {
    code?: string;
  };
  secret(`enrolment code ${round}`, /^[A-Z0-9-]+$/.test(enrolment.code ?? '') ? (enrolment.code ?? '') : '');
  await call(
    'PATCH',
    `/v1/devices/${made.id ?? 'x'}`,
    json,
    JSON.stringify({ api_key: `${apiKey}-2`, nonsense: apiKey }),
  );
}

/** Every row of every table, as text: bytes show as hex. */
async function dump(): Promise<string> {
  const client = new pg.Client({ connectionString: database.adminUrl });
  await client.connect();
  try {
    const tables = await client.query<{ name: string }>(
      `SELECT quote_ident(schemaname) || '.' || quote_ident(tablename) AS name FROM pg_tables
        WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`,
    );
    const parts: string[] = [];
    for (const { name } of tables.rows) {
      const { rows } = await client.query<{ row: string }>(`SELECT t::text AS row FROM ${name} t`);
      parts.push(...rows.map(({ row }) => row));
    }
    return parts.join('\n');
  } finally {
    await client.end();
  }
}

/** A text as it may stand in a dump. */
function formsOf(value: string): string[] {
  const bytes = Buffer.from(value);
  return [value, bytes.toString('hex'), bytes.toString('base64').replace(/=+$/, ''), encodeURIComponent(value)];
}

test('after some two thousand calls: nothing in database, queue, logs and metrics', async () => {
  const tokens = await Promise.all(Array.from({ length: 20 }, (_, round) => fetchToken(round)));
  for (const [index, token] of tokens.entries()) secret(`token ${index}`, token);
  const rounds = Array.from({ length: ROUNDS }, (_, round) => round);
  const worker = async (): Promise<void> => {
    for (let round = rounds.pop(); round !== undefined; round = rounds.pop()) {
      await play(round, tokens[round % tokens.length] ?? '');
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  const places = { database: await dump(), logs: log, metrics: await call('GET', '/metrics', {}) };
  // The search itself finds what is there.
  expect(places.database).toContain(merchant.clientId);
  expect(places.logs).toContain('request refused');
  const found: string[] = [];
  for (const [place, text] of Object.entries(places)) {
    for (const [what, value] of secrets)
      if (formsOf(value).some((form) => text.includes(form))) found.push(`${what} in ${place}`);
  }
  expect(found).toEqual([]);
  expect(secrets.size).toBeGreaterThan(2 * ROUNDS);
}, 180_000);
