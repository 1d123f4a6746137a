// Promise: what has left the database is listed, verified and brought back by an operator's command, on the trail; what is not whole brings nothing back.
import 'reflect-metadata';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import pg from 'pg';
import { PrismaService } from '#database';
import { createTestDatabase, sampleDocument, type TestDatabase } from '#database/testing';
import { ARCHIVE_SETTINGS, archiveInFolder } from '#ledger';
import { createLogger, NestLogger, readSettings } from '#runtime';
import { testGatewaySettings } from '../../testing/gateway-settings.js';
import { CliModule } from './cli.module.js';
import { Cli } from './cli.js';
import { checkArchive } from './doctor/check-archive.js';
import { OperatorDoctor } from './doctor/operator-doctor.js';

const name = `attempts-${'1'.repeat(26)}`;
const logger = createLogger('cli', 'error', { write: () => undefined });
let database: TestDatabase;
let app: INestApplicationContext;
let folder: string;
let owner: pg.Client;
let line: string;

const run = (...args: string[]): Promise<Record<string, unknown>> =>
  app.get(Cli).run(args) as Promise<Record<string, unknown>>;

/** An attempt that has left for an archive. */
beforeAll(async () => {
  database = await createTestDatabase();
  folder = await mkdtemp(join(tmpdir(), 'cli-archive-'));
  const settings = testGatewaySettings(database, { ARCHIVE_DIR: folder });
  app = await NestFactory.createApplicationContext(CliModule.create(settings, logger), {
    logger: new NestLogger(logger),
  });
  owner = new pg.Client({ connectionString: database.ownerUrl });
  await owner.connect();
  await owner.query(
    `INSERT INTO receipts (id, merchant_id, client_id, operation, body_hash, type, status, document, total_tiyin, vat_total_tiyin)
     VALUES ('rcp_1', 'mer_1', 'cli_1', 'receipts', '\\x00', 'sale', 'rejected', $1, 1, 0)`,
    [sampleDocument()],
  );
  await owner.query(
    `INSERT INTO attempts (id, receipt_id, device_id, number, state, baseline, request, relay_id, closed_at)
     VALUES ('att_1', 'rcp_1', 'dev_1', 1, 'rejected', '{}', '\\x0001ff', 'rly_1', now())`,
  );
  line = (await owner.query<{ line: string }>(`SELECT attempt_line(a) AS line FROM attempts a`)).rows[0]?.line ?? '';
  const writer = await archiveInFolder(folder).begin(name);
  await writer.add({ id: 'att_1', line });
  const { sha256, bytes } = await writer.finish();
  await owner.query('DELETE FROM attempts');
  await owner.query(
    `INSERT INTO archives (name, state, rows, removed, bytes, sha256, removed_at) VALUES ($1, 'removed', 1, 1, $2, $3, now())`,
    [name, bytes, sha256],
  );
  await owner.query(
    `INSERT INTO archived_attempts (id, receipt_id, number, created_at, archive) VALUES ('att_1', 'rcp_1', 1, now(), $1)`,
    [name],
  );
});
afterAll(async () => {
  await owner?.end();
  await app?.close();
  await database?.drop();
  if (folder) await rm(folder, { recursive: true });
});

test('archives are listed, verified, and brought back once, on the trail', async () => {
  expect(await run('archive', 'list')).toMatchObject({ data: [{ name, state: 'removed', rows: 1 }], next: null });
  expect(await run('archive', 'verify')).toEqual({ verified: 1, rows: 1, wrong: [] });
  const restore = (): Promise<unknown> => run('archive', 'restore', name, '--reason', 'asked by the tax office');
  expect(await restore()).toEqual({ name, rows: 1, came_back: 1 });
  expect(await restore()).toEqual({ name, rows: 1, came_back: 0 });
  const { rows } = await owner.query<{ line: string }>('SELECT attempt_line(a) AS line FROM attempts a');
  expect(rows).toEqual([{ line }]);
  expect(await app.get(PrismaService).auditRecord.count({ where: { action: 'archive.restore', targetId: name } })).toBe(
    2,
  );
});

test('what is missing, not named or not whole is refused in a sentence, and brings nothing back', async () => {
  await expect(run('archive', 'restore', name)).rejects.toThrow(/--reason is missing/);
  for (const other of ['attempts-none', '../../etc/passwd', `attempts-${'2'.repeat(26)}`])
    await expect(run('archive', 'verify', '--name', other)).rejects.toThrow(/There is no archive/);
  await owner.query('DELETE FROM attempts');
  await writeFile(join(folder, `${name}.ndjson.gz`), 'something else');
  expect(await run('archive', 'verify', '--name', name)).toMatchObject({ wrong: [{ name, state: 'changed' }] });
  await expect(run('archive', 'restore', name, '--reason', 'why')).rejects.toThrow(/is not whole/);
  expect((await owner.query('SELECT FROM attempts')).rowCount).toBe(0);
});

test('an archive that cannot be read keeps no other one from being verified', async () => {
  const broken = `attempts-${'0'.repeat(26)}`;
  await owner.query(`INSERT INTO archives (name, state, rows) VALUES ($1, 'removed', 1)`, [broken]);
  await writeFile(join(folder, `${broken}.json`), 'null');
  expect(await run('archive', 'verify')).toEqual({
    verified: 2,
    rows: 2,
    wrong: [
      { name: broken, state: 'unreadable' },
      { name, state: 'changed' },
    ],
  });
  await expect(run('archive', 'restore', broken, '--reason', 'why')).rejects.toThrow(/is not whole \(unreadable\)/);
  await owner.query('DELETE FROM archives WHERE name = $1', [broken]);
});

test('the doctor says why a bucket cannot be read', async () => {
  const settings = readSettings(ARCHIVE_SETTINGS, {
    ...{ ARCHIVE_BUCKET: 'fiscal-archive', ARCHIVE_ENDPOINT: 'http://127.0.0.1:1' },
    ...{ ARCHIVE_ACCESS_KEY_ID: 'id', ARCHIVE_SECRET_ACCESS_KEY: 'secret' },
  });
  const [finding] = await checkArchive(app.get(PrismaService), settings);
  expect(finding).toMatchObject({ state: 'warn', found: expect.stringMatching(/ECONNREFUSED/) as unknown });
});

test('the doctor says where an archive was begun and not finished', async () => {
  const finding = async (): Promise<unknown> =>
    (await app.get(OperatorDoctor).run()).findings.find(({ check }) => check === 'archive');
  expect(await finding()).toMatchObject({ state: 'ok' });
  await owner.query(
    `INSERT INTO archives (name, state, begun_at) VALUES ('attempts-' || repeat('3', 26), 'written', now() - interval '2 days')`,
  );
  expect(await finding()).toMatchObject({ state: 'bad', found: expect.stringContaining('1 begun') as unknown });
});
