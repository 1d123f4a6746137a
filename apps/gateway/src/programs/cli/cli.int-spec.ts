// Promise: an operator can make the first merchant and client without touching the database; it is on record.
import 'reflect-metadata';
import { randomBytes, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer } from 'node:tls';
import type { INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import pg from 'pg';
import { PrismaService } from '#database';
import { createTestDatabase, type TestDatabase } from '#database/testing';
import { createLogger, NestLogger } from '#runtime';
import { parseKeyring } from '#secrets';
import { selfSigned } from '../../../../../libs/messages/src/testing/certificates.js';
import { until } from '../../../../../libs/runtime/src/testing/until.js';
import { testGatewaySettings } from '../../testing/gateway-settings.js';
import { isClientSecret } from '../../access/oauth/client-secret.js';
import { VerifyAuditTrail } from '../../audit/verify-audit-trail.js';
import { CliModule } from './cli.module.js';
import { Cli } from './cli.js';
import { checkPooler } from './doctor/check-pooler.js';
import { checkSurroundings } from './doctor/check-surroundings.js';
import { OperatorDoctor } from './doctor/operator-doctor.js';
import { UsageError } from './usage-error.js';

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
});

afterAll(async () => {
  await app?.close();
  await database?.drop();
});

test('a merchant is made, listed, set, and gets a client whose secret authenticates', async () => {
  const made = await run('merchant', 'create', '--code', 'shop', '--name', 'Shop', '--tin', '301234567');
  expect(made).toMatchObject({ code: 'shop', name: 'Shop', tin: '301234567', time_of_close: null });
  const goods = '01905001001000001,1500001,796,12';
  const set = await run('merchant', 'set', 'shop', '--time-of-close', '23:30', '--default-goods', goods);
  expect(set).toMatchObject({ time_of_close: '23:30', default_goods: { units: 796, vat_percent: 12 } });
  await run('merchant', 'set', String(made['id']), '--time-of-close', 'none', '--require-external-id', 'true');
  expect(await run('merchant', 'set', 'shop', '--unsupported-fields', 'omit')).toMatchObject({
    unsupported_fields: 'omit',
  });
  expect(await run('merchant', 'list')).toMatchObject({
    data: [{ code: 'shop', time_of_close: null, requirements: { external_id: true } }],
  });
  const wanted = [
    '--merchant',
    'shop',
    '--name',
    'ERP',
    '--scopes',
    'receipts:write',
    '--ip',
    '10.0.0.0/8,2001:DB8::/32',
  ];
  const client = await run('client', 'create', ...wanted);
  const row = await app
    .get(PrismaService)
    .oauthClient.findUniqueOrThrow({ where: { id: String(client['client_id']) } });
  expect(row).toMatchObject({ merchantId: made['id'], scopes: ['receipts:write'], requireIdempotencyKey: false });
  expect(row).toMatchObject({ ipPolicy: 'listed', allowedCidrs: ['10.0.0.0/8', '2001:db8::/32'] });
  expect(isClientSecret(String(client['client_secret']), row.secretHash, keyring)).toBe(true);
  const trail = await app.get(PrismaService).auditRecord.findMany({ orderBy: { sequence: 'asc' } });
  expect(trail.map(({ actor, action }) => [actor, action])).toEqual(
    ['merchant.create', ...Array<string>(3).fill('merchant.change'), 'client.create'].map((action) => ['cli', action]),
  );
  expect(
    JSON.stringify(trail, (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value)),
  ).not.toContain(client['client_secret']);
  expect(await app.get(VerifyAuditTrail).verifyAuditTrail(String(made['id']))).toMatchObject({ kind: 'intact' });
});

test('the register is loaded, products go in and out as files, refused rows into one of their own', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'cli-'));
  try {
    await run('merchant', 'create', '--code', 'files', '--name', 'Files', '--tin', '301234568');
    const sample = join('data', 'classifier-sample.jsonl');
    expect(await run('classifier', 'load', 'lines', '--source', sample)).toMatchObject({ kind: 'applied', added: 333 });
    await writeFile(join(folder, 'next.jsonl'), (await readFile(sample, 'utf8')).replace('Хлеб', 'Каравай'));
    await run('classifier', 'load', 'lines', '--source', join(folder, 'next.jsonl'));
    await expect(run('classifier', 'back')).rejects.toThrow('--reason must say why');
    expect(await run('classifier', 'back', '--reason', 'odd names')).toMatchObject({ version: 3, restored: 1 });
    await expect(run('classifier', 'back', '--reason', 'x', '--to', '1')).rejects.toThrow('already');
    expect(await run('classifier', 'versions')).toMatchObject({ version: 3, content: 1, fetching: 'held' });
    expect(await run('classifier', 'resume', '--reason', 'seen')).toEqual({ resumed: true });
    const [csv, rejected, xlsx] = ['in.csv', 'rejected.csv', 'out.xlsx'].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ];
    await writeFile(csv, 'sku,name,spic,package_code,vat_percent\n1,Non,01905001001000001,1500001,12\n2,Non,1,1,12\n');
    const args = ['catalog', 'import', '--merchant', 'files', '--file', csv, '--rejected', rejected];
    expect(await run(...args)).toMatchObject({ rows: 2, created: 1, rejected: 1, rejected_file: rejected });
    expect(await readFile(rejected, 'utf8')).toContain('spic must have 17 digits');
    await run('catalog', 'export', '--merchant', 'files', '--file', xlsx);
    expect(await run('catalog', 'import', '--merchant', 'files', '--file', xlsx, '--full')).toMatchObject({
      unchanged: 1,
    });
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('a client is set, gets a new secret, is switched off and on: also one that shut itself out', async () => {
  await run('merchant', 'create', '--code', 'kiosk', '--name', 'Kiosk', '--tin', '301234567');
  const made = await run('client', 'create', '--merchant', 'kiosk', '--name', 'ERP', '--ip', 'any');
  const id = String(made['client_id']);
  expect(made).toMatchObject({
    merchant: 'kiosk',
    ip_policy: 'any',
    scopes: expect.arrayContaining(['clients:admin']),
  });
  expect(await run('client', 'set', id, '--ip', 'none', '--scopes', 'receipts:read')).toMatchObject({
    ...{ ip_policy: 'listed', allowed_cidrs: [], scopes: ['receipts:read'] },
  });
  expect(await run('client', 'set', id, '--ip', '192.0.2.1')).toMatchObject({ allowed_cidrs: ['192.0.2.1/32'] });
  expect(await run('client', 'set', id, '--auth', 'client_secret_basic')).toMatchObject({
    token_endpoint_auth_methods: ['client_secret_basic'],
  });
  const byKeyAlone = run('client', 'set', id, '--auth', 'private_key_jwt');
  await expect(byKeyAlone).rejects.toMatchObject({ code: 'no_authentication_key' });
  expect((await run('client', 'set', id, '--auth', 'all'))['token_endpoint_auth_methods']).toHaveLength(3);
  const rotated = await run('client', 'rotate-secret', id, '--overlap-seconds', '0', '--revoke-tokens');
  expect(rotated['previous_secret_expires_at']).toBeNull();
  const row = await app.get(PrismaService).oauthClient.findUniqueOrThrow({ where: { id } });
  expect(isClientSecret(String(rotated['client_secret']), row.secretHash, keyring)).toBe(true);
  expect(isClientSecret(String(made['client_secret']), row.secretHash, keyring)).toBe(false);
  expect(await run('client', 'disable', id)).toMatchObject({ disabled_at: expect.any(String) });
  expect(await run('client', 'list', '--merchant', 'kiosk')).toMatchObject({ data: [{ id }] });
  expect(await run('client', 'enable', id)).toMatchObject({ disabled_at: null });
});

test('also one with a scope that another release has given it', async () => {
  await run('merchant', 'create', '--code', 'stall', '--name', 'Stall', '--tin', '301234567');
  const made = await run('client', 'create', '--merchant', 'stall', '--name', 'ERP', '--ip', 'any');
  const id = String(made['client_id']);
  const scopes = ['receipts:read', 'newer:power'];
  await app.get(PrismaService).oauthClient.update({ where: { id }, data: { scopes } });
  expect(await run('client', 'disable', id)).toMatchObject({ disabled_at: expect.any(String), scopes });
  expect(await run('client', 'set', id, '--scopes', 'receipts:read')).toMatchObject({ scopes: ['receipts:read'] });
  // It gives none that it does not know.
  await expect(run('client', 'set', id, '--scopes', 'newer:power')).rejects.toBeInstanceOf(UsageError);
});

test.each([
  [[]],
  [['catalog', 'import', '--merchant', 'files']],
  [['catalog', 'import', '--merchant', 'files', '--file', 'nowhere.csv']],
  [['catalog', 'export', '--merchant', 'files', '--file', 'x.pdf']],
  [['catalog', 'import', '--merchant', 'files', '--file', 'package.json', '--format', 'xlsx']],
  [['classifier', 'load', 'everything']],
  [['classifier', 'load', 'full']],
  [['merchant']],
  [['merchant', 'delete', 'shop']],
  [['merchant', 'list', 'shop']],
  [['merchant', 'create', '--color', 'red']],
  [['merchant', 'list', '--tin', '301234567']],
  [['merchant', 'set', 'no-such-id', '--name', 'X']],
  [['merchant', 'set', 'shop', '--require-external-id', 'yes']],
  [['merchant', 'set', 'shop', '--default-goods', '1,2,3']],
  [['client', 'create', '--merchant', 'shop']],
  [['client', 'create', '--merchant', 'shop', '--name', 'X']],
  [['client', 'create', '--merchant', 'shop', '--name', 'X', '--ip', 'any', '--scopes', 'everything']],
  [['client', 'disable']],
  [['client', 'disable', 'no-such-id']],
  [['client', 'set', 'no-such-id', '--ip', 'any']],
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
  await expect(run('merchant', 'set', 'shop', '--time-of-close', '25:00')).rejects.toMatchObject({ isRefusal: true });
  await expect(run('merchant', 'set', 'shop', '--unsupported-fields', 'no')).rejects.toMatchObject({ isRefusal: true });
  const odd = ['client', 'create', '--merchant', 'shop', '--name', 'X', '--ip', '10.0.0.1/8'];
  await expect(run(...odd)).rejects.toMatchObject({ errors: [expect.objectContaining({ pointer: '/allowed_cidrs' })] });
});

describe('doctor', () => {
  const findings = async (): Promise<Map<string, { state: string; found: string; do: string | null }>> => {
    const { findings } = await app.get(OperatorDoctor).run();
    return new Map(findings.map((finding) => [finding.check, finding]));
  };

  test('examines an installation, says what to do about what is wrong, and that first', async () => {
    const { state, findings: all } = await app.get(OperatorDoctor).run();
    // The tests' server is not durable, which is the worst that it can be.
    expect([state, all[0]?.state]).toEqual(['bad', 'bad']);
    expect(all.filter((finding) => (finding.state === 'ok') !== (finding.do === null))).toEqual([]);
    const found = await findings();
    expect(found.get('fsync')).toMatchObject({ state: 'bad', found: 'off', do: expect.stringContaining('fsync = on') });
    for (const check of ['clock', 'indexes', 'migrations', 'registers', 'unknown receipts', 'queue', 'secrets'])
      expect([check, found.get(check)?.state]).toEqual([check, 'ok']);
    expect([...found.keys()].filter((check) => check.startsWith('disk of '))).toHaveLength(1);
  });

  test('an index that is not valid, a migration that is missing, lanes that are held', async () => {
    const admin = new pg.Client({ connectionString: database.adminUrl });
    await admin.connect();
    await admin.query("UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'receipts_unsent'::regclass");
    const { rows } = await admin.query(
      'DELETE FROM _prisma_migrations WHERE migration_name = (SELECT max(migration_name) FROM _prisma_migrations) RETURNING migration_name',
    );
    await run('restore', 'begin', '--reason', 'a copy was put back');
    const found = await findings();
    await run('restore', 'end', '--reason', 'it was a test');
    await admin.end();
    const [{ migration_name: missing }] = rows as [{ migration_name: string }];
    expect(found.get('indexes')).toMatchObject({ state: 'bad', found: 'not valid: receipts_unsent' });
    expect(found.get('migrations')).toMatchObject({ state: 'bad', found: `missing: ${missing}` });
    expect(found.get('lanes')).toMatchObject({ state: 'bad', do: expect.stringContaining('restore status') });
  });

  test('a queue that is away and a certificate that cannot be read are findings, and nothing else fails with them', async () => {
    const surroundings = {
      QUEUE_URL: 'redis://127.0.0.1:1',
      PUBLIC_URL: 'https://127.0.0.1:1',
      LINK_PUBLIC_URL: 'ws://127.0.0.1:1/link',
    };
    const found = await checkSurroundings({ ...surroundings, SCRATCH_DIR: undefined, AUDIT_HEAD_FILE: undefined });
    expect(found.map(({ check, state }) => [check, state])).toEqual([
      ['queue', 'warn'],
      ['certificate of 127.0.0.1', 'warn'],
      [expect.stringMatching(/^disk of /), expect.any(String)],
    ]);
  });

  test('a session that waits for a lock, and since when the transaction that holds it is open', async () => {
    const sessionOf = async (name: string): Promise<pg.Client> => {
      const session = new pg.Client({ connectionString: database.url, application_name: name });
      await session.connect();
      return session;
    };
    expect((await findings()).get('waiting for locks')).toMatchObject({
      state: 'ok',
      found: expect.stringMatching(/^0 sessions/) as unknown,
    });
    const [holder, waiter] = [await sessionOf('forgotten'), await sessionOf('blocked')];
    const { rows } = await holder.query('SELECT pg_backend_pid() AS pid');
    await holder.query('BEGIN');
    await holder.query('SELECT pg_advisory_xact_lock(24)');
    const waiting = waiter.query('SELECT pg_advisory_lock(24)');
    try {
      const found = await until(
        'the waiting is found',
        findings,
        (each) => each.get('waiting for locks')?.state !== 'ok',
      );
      expect(found.get('waiting for locks')).toMatchObject({
        found: expect.stringMatching(/^1 sessions, the longest for [1-9]\d* s$/) as unknown,
        do: expect.stringContaining('pg_blocking_pids') as unknown,
      });
      const [{ pid }] = rows as [{ pid: number }];
      expect(found.get('oldest transaction')?.found).toMatch(new RegExp(`^[1-9]\\d* s, session ${pid} forgotten$`));
    } finally {
      await holder.end();
      await waiting;
      await waiter.end();
    }
  });

  test('transactions of other roles are not shown to the programs: the doctor says so', async () => {
    const other = new pg.Client({ connectionString: database.adminUrl });
    await other.connect();
    try {
      await other.query('BEGIN');
      await other.query('SELECT pg_backend_pid()');
      expect((await findings()).get('sessions of other roles')).toMatchObject({
        state: 'warn',
        found: expect.stringMatching(/^[1-9]\d* sessions whose transactions/) as unknown,
        do: expect.stringContaining('GRANT pg_read_all_stats') as unknown,
      });
    } finally {
      await other.end();
    }
  });

  test.each([
    [60, 'ok'],
    [14, 'warn'],
    [2, 'bad'],
  ])('a certificate that ends in %s days: %s', async (days, state) => {
    const { key, cert } = selfSigned('localhost', days);
    const server = createServer({ key, cert }, (socket) => socket.on('error', () => undefined).end());
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const folders = { SCRATCH_DIR: undefined, AUDIT_HEAD_FILE: undefined };
    const urls = { PUBLIC_URL: `https://localhost:${String(port)}`, LINK_PUBLIC_URL: 'ws://127.0.0.1:1/link' };
    const found = await checkSurroundings({ QUEUE_URL: undefined, ...urls, ...folders });
    server.close();
    const end = new Date(new X509Certificate(cert).validTo).toISOString().slice(0, 10);
    expect(found.find(({ check }) => check === 'certificate of localhost')).toMatchObject({
      ...{ state, found: `good until ${end}` },
      do: state === 'ok' ? null : expect.stringContaining('Renew it'),
    });
  });
});

describe('behind a pooler', () => {
  test('the doctor misses the deadlines that its configuration does not give', async () => {
    const { url } = database;
    const given = new URL(url);
    given.searchParams.set(
      'options',
      '-c lock_timeout=400 -c statement_timeout=15000 -c idle_in_transaction_session_timeout=5000 -c tcp_user_timeout=8000 -c client_connection_check_interval=1000',
    );
    const ofRelays = new URL(given);
    ofRelays.searchParams.set('options', given.searchParams.get('options')?.replace('=400', '=2500') ?? '');
    expect(await checkPooler({ DATABASE_URL: ofRelays.href, DIRECT_DATABASE_URL: url })).toMatchObject([
      { state: 'bad', found: 'lock_timeout = 2500' },
    ]);
    expect(await checkPooler({ DATABASE_URL: url, DIRECT_DATABASE_URL: url })).toMatchObject([
      { state: 'bad', found: expect.stringContaining('lock_timeout = 0, statement_timeout = 0') as unknown },
    ]);
    expect(await checkPooler({ DATABASE_URL: given.href, DIRECT_DATABASE_URL: url })).toMatchObject([{ state: 'ok' }]);
    expect(await checkPooler({ DATABASE_URL: url, DIRECT_DATABASE_URL: undefined })).toMatchObject([{ state: 'ok' }]);
  });
});
