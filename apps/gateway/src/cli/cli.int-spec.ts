// Promise: an operator can make the first merchant and client without touching the database; it is on record.
import 'reflect-metadata';
import { randomBytes } from 'node:crypto';
import type { INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { PrismaService } from '#database';
import { createTestDatabase, type TestDatabase } from '#database/testing';
import { createLogger, NestLogger, parseKeyring } from '#runtime';
import { testGatewaySettings } from '../testing/gateway-settings.js';
import { isClientSecret } from '../oauth/client-secret.js';
import { VerifyAuditTrail } from '../audit/verify-audit-trail.js';
import { CliModule } from './cli.module.js';
import { Cli, UsageError } from './cli.js';

const keyring = parseKeyring(randomBytes(32).toString('base64'));
const logger = createLogger('cli', 'error', { write: () => undefined });
let database: TestDatabase;
let app: INestApplicationContext;

const run = (...args: string[]): Promise<Record<string, unknown>> =>
  app.get(Cli).run(args) as Promise<Record<string, unknown>>;

beforeAll(async () => {
  database = await createTestDatabase();
  const settings = testGatewaySettings(database, { SECRETS_KEY: keyring });
  app = await NestFactory.createApplicationContext(CliModule.create(settings, logger), {
    logger: new NestLogger(logger),
  });
}, 60_000);

afterAll(async () => {
  await app?.close();
  await database?.drop();
});

test('a merchant is made, listed, set, and gets a client whose secret opens the door', async () => {
  const made = await run('merchant', 'create', '--code', 'shop', '--name', 'Shop', '--tin', '301234567');
  expect(made).toMatchObject({ code: 'shop', name: 'Shop', tin: '301234567', time_of_close: null });
  const goods = '01905001001000001,1500001,796,12';
  const set = await run('merchant', 'set', 'shop', '--time-of-close', '23:30', '--default-goods', goods);
  expect(set).toMatchObject({ time_of_close: '23:30', default_goods: { units: 796, vat_percent: 12 } });
  await run('merchant', 'set', String(made['id']), '--time-of-close', 'none', '--require-external-id', 'true');
  expect(await run('merchant', 'list')).toMatchObject({
    data: [{ code: 'shop', time_of_close: null, requirements: { external_id: true } }],
  });
  const client = await run('client', 'create', '--merchant', 'shop', '--name', 'ERP', '--scopes', 'receipts:write');
  const row = await app
    .get(PrismaService)
    .oauthClient.findUniqueOrThrow({ where: { id: String(client['client_id']) } });
  expect(row).toMatchObject({ merchantId: made['id'], scopes: ['receipts:write'], requireIdempotencyKey: false });
  expect(isClientSecret(String(client['client_secret']), row.secretHash, keyring)).toBe(true);
  const trail = await app.get(PrismaService).auditRecord.findMany({ orderBy: { sequence: 'asc' } });
  expect(trail.map(({ actor, action }) => [actor, action])).toEqual(
    ['merchant.create', 'merchant.change', 'merchant.change', 'client.create'].map((action) => ['cli', action]),
  );
  expect(
    JSON.stringify(trail, (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value)),
  ).not.toContain(client['client_secret']);
  expect(await app.get(VerifyAuditTrail).verifyAuditTrail(String(made['id']))).toMatchObject({ kind: 'intact' });
});

test.each([
  [[]],
  [['merchant']],
  [['merchant', 'delete', 'shop']],
  [['merchant', 'list', 'shop']],
  [['merchant', 'create', '--color', 'red']],
  [['merchant', 'list', '--tin', '301234567']],
  [['merchant', 'set', 'nobody', '--name', 'X']],
  [['merchant', 'set', 'shop', '--require-external-id', 'yes']],
  [['merchant', 'set', 'shop', '--default-goods', '1,2,3']],
  [['client', 'create', '--merchant', 'shop']],
  [['client', 'create', '--merchant', 'shop', '--name', 'X', '--scopes', 'everything']],
])('%j is answered with a sentence', async (args) => {
  await expect(run(...args)).rejects.toThrow(UsageError);
});

test('values are held to the rules of the API', async () => {
  await expect(run('merchant', 'create', '--code', ' ', '--name', 'X', '--tin', '1')).rejects.toMatchObject({
    errors: expect.arrayContaining([expect.objectContaining({ pointer: '/tin' })]) as unknown,
  });
  await expect(run('merchant', 'create', '--code', 'shop', '--name', 'X', '--tin', '301234567')).rejects.toMatchObject({
    code: 'code_taken',
  });
  await expect(run('merchant', 'set', 'shop', '--time-of-close', '25:00')).rejects.toMatchObject({ status: 422 });
});
