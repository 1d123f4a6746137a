// Promise: a card number that a client sends, wherever and to whichever route, is refused and stands nowhere afterwards: not in the answer, not in the log, not in the database.
import 'reflect-metadata';
import type { AddressInfo } from 'node:net';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { createTestDatabase, type TestDatabase } from '#database/testing';
import { createFastifyNestApp } from '#http';
import { createLogger, Metrics, newId } from '#runtime';
import { PrismaService } from '#database';
import { GatewayModule } from '../../apps/gateway/src/gateway.module.js';
import { SCOPES } from '../../apps/gateway/src/http/scopes.js';
import { hashAccessToken, newAccessToken } from '../../apps/gateway/src/access/oauth/access-token.js';
import { testGatewaySettings } from '../../apps/gateway/src/testing/gateway-settings.js';
import { apiDescription, type Endpoint } from '../api/api-document.js';

const CARD = '8600495473316478';
const WRITTEN = [CARD, '8600 4954 7331 6478', '8600-4954-7331-6478'];

let database: TestDatabase;
let app: NestFastifyApplication;
let base = '';
let token = '';
let log = '';

beforeAll(async () => {
  database = await createTestDatabase();
  const settings = testGatewaySettings(database, { LOG_LEVEL: 'trace' });
  const logger = createLogger('gateway', 'trace', { write: (line: string) => void (log += line) });
  const metrics = new Metrics('gateway');
  app = await createFastifyNestApp(GatewayModule.create(settings, logger, metrics), { logger, metrics });
  await app.listen(0, '127.0.0.1');
  base = `http://127.0.0.1:${(app.getHttpServer().address() as AddressInfo).port}`;
  token = await createToken(app.get(PrismaService));
});

afterAll(async () => {
  await app?.close();
  await database?.drop();
});

async function createToken(prisma: PrismaService): Promise<string> {
  const [merchantId, clientId, made] = [newId('mer'), newId('cli'), newAccessToken()];
  await prisma.merchant.create({ data: { id: merchantId, code: merchantId, name: 'M', tin: '300000000' } });
  const scopes = [...SCOPES];
  await prisma.oauthClient.create({
    data: { id: clientId, merchantId, name: 'C', secretHash: new Uint8Array(32), scopes },
  });
  const expiresAt = new Date(Date.now() + 3_600_000);
  const tokenHash = new Uint8Array(hashAccessToken(made));
  await prisma.oauthToken.create({ data: { tokenHash, clientId, scopes, expiresAt } });
  return made;
}

const withBodies = (): Endpoint[] =>
  apiDescription()
    .endpoints()
    .filter(({ path, operation }) => {
      // What only a person may call is refused before its body is read.
      const isForClients = operation.security?.some((way) => 'oauth2' in way) ?? true;
      const takesJson = operation.requestBody?.content['application/json'];
      return path.startsWith('/v1/') && !path.includes('{provider}') && isForClients && takesJson;
    });

async function send({ method, path }: Endpoint, body: unknown): Promise<{ status: number; text: string }> {
  const response = await fetch(`${base}${path.replaceAll(/\{\w+\}/g, 'x')}`, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return { status: response.status, text: await response.text() };
}

/** Every row of every table as text, what is stored as bytes too. */
async function everythingStored(): Promise<string> {
  const prisma = app.get(PrismaService);
  const tables = await prisma.$queryRaw<{ name: string }[]>`
    SELECT table_name::text AS name FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE'`;
  const texts = tables.map(({ name }) => `(SELECT coalesce(string_agg(t::text, ' '), '') FROM "${name}" t)`);
  const [row] = await prisma.$queryRawUnsafe<{ all: string }[]>(`SELECT concat(${texts.join(', ')}) AS all`);
  return row?.all ?? '';
}

it('is refused by every route that takes a body, by place and not by number', async () => {
  const endpoints = withBodies();
  expect(endpoints.length).toBeGreaterThan(25);
  for (const endpoint of endpoints) {
    for (const [body, pointer] of [
      [{ surprise: WRITTEN[0] }, '/surprise'],
      [{ payment: { token: WRITTEN[1] }, metadata: { note: `card ${String(WRITTEN[2])}` } }, '/payment/token'],
      [{ items: [{ name: 'Non' }, { name: WRITTEN[2] }] }, '/items/1/name'],
      [{ metadata: { cvc: '123' } }, '/metadata/cvc'],
      [{ metadata: { [CARD]: 'x' } }, '/metadata'],
    ] as const) {
      const { status, text } = await send(endpoint, body);
      const where = `${endpoint.method} ${endpoint.path}`;
      expect({ where, status, code: codeOf(text) }).toEqual({ where, status: 422, code: 'card_data_refused' });
      expect(text).toContain(`"pointer":"${pointer}"`);
      for (const written of WRITTEN) expect(text).not.toContain(written);
    }
  }
});

it('stands nowhere afterwards', async () => {
  const stored = await everythingStored();
  expect(log.length).toBeGreaterThan(1_000);
  for (const written of [...WRITTEN, Buffer.from(CARD).toString('hex')]) {
    expect(log).not.toContain(written);
    expect(stored).not.toContain(written);
  }
});

it('takes a classification code of goods for what it is', async () => {
  // Its check digit would be a card's.
  const [receipts] = withBodies().filter(({ method, path }) => method === 'POST' && path === '/v1/receipts');
  if (!receipts) throw new Error('no such route');
  const item = { name: 'Non', price: 100, qty: 1, spic: '41111111111111110', barcode: CARD };
  const { text } = await send(receipts, { items: [item], payment: { method: 'cash' }, cashier_id: 'x' });
  expect(text).not.toContain('card_data_refused');
});

function codeOf(text: string): string {
  return (JSON.parse(text) as { code: string }).code;
}
