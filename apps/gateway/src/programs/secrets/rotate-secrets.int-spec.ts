// Promise: after a rotation every secret opens under the new key alone, none is lost, and a run that was stopped goes on.
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { apiKeyOwner, PrismaService, SEALED_COLUMNS } from '#database';
import { createTestDatabase, type TestDatabase } from '#database/testing';
import { newId } from '#runtime';
import { open, parseKeyring, seal } from '#secrets';
import { sql } from '../../../../../test/system/database.js';
import { RotateSecrets } from './rotate-secrets.js';

const oldKey = `old:${randomBytes(32).toString('base64')}`;
const newKey = `new:${randomBytes(32).toString('base64')}`;
const oldRing = parseKeyring(oldKey);
const bothRing = parseKeyring(`${newKey},${oldKey}`);
const newRing = parseKeyring(newKey);

let database: TestDatabase;
let prisma: PrismaService;
let branchId: string;
let merchantId: string;

beforeAll(async () => {
  database = await createTestDatabase();
  prisma = new PrismaService({ url: database.url, poolSize: 4, applicationName: 'rotate-test', lockTimeoutMs: 400 });
  merchantId = newId('mer');
  branchId = newId('brn');
  await prisma.merchant.create({ data: { id: merchantId, code: 'm', name: 'M', tin: '300000000' } });
  await prisma.branch.create({ data: { id: branchId, merchantId, code: 'b', name: 'B' } });
});

afterAll(async () => {
  await prisma?.$disconnect();
  await database?.drop();
});

beforeEach(() => prisma.device.deleteMany());

async function addDevice(secret: string, ring = oldRing): Promise<string> {
  const id = newId('dev');
  const apiKeySealed = new Uint8Array(seal(secret, apiKeyOwner(id), ring));
  const data = { id, merchantId, branchId, name: 'Till', baseUrl: 'http://127.0.0.1:9', apiKeySealed };
  await prisma.device.create({ data });
  return id;
}

async function secretOf(id: string, ring = newRing): Promise<string> {
  const { apiKeySealed } = await prisma.device.findUniqueOrThrow({ where: { id } });
  return open(apiKeySealed, apiKeyOwner(id), ring);
}

const rotate = async (): ReturnType<RotateSecrets['execute']> => new RotateSecrets(prisma, bothRing).execute();
const ofDevices = <T extends { column: string }>(columns: T[]): T | undefined =>
  columns.find(({ column }) => column === 'devices.api_key_sealed');

test('every value is sealed anew, and a second run finds nothing to do', async () => {
  const ids: string[] = [];
  for (let index = 0; index < 450; index += 1) ids.push(await addDevice(`secret-${index}`));
  const fresh = await addDevice('fresh', bothRing);
  expect(ofDevices(await rotate())).toEqual({
    column: 'devices.api_key_sealed',
    ...{ resealed: 450, upToDate: 1, unreadable: [] },
  });
  for (const [index, id] of ids.entries()) expect(await secretOf(id)).toBe(`secret-${index}`);
  expect(await secretOf(fresh)).toBe('fresh');
  expect(ofDevices(await rotate())).toMatchObject({ resealed: 0, upToDate: 451 });
});

test('a run that dies half-way leaves every secret readable, and the next one does the rest', async () => {
  const ids: string[] = [];
  for (let index = 0; index < 300; index += 1) ids.push(await addDevice(`secret-${index}`));
  const dying = new PrismaService({
    ...{ url: database.url, poolSize: 1, applicationName: 'dies', lockTimeoutMs: 60_000 },
  });
  // A lock on a row stops it there, within a statement.
  const holder = new pg.Client({ connectionString: database.adminUrl });
  await holder.connect();
  try {
    await holder.query('BEGIN');
    await holder.query('SELECT 1 FROM devices WHERE id = $1 FOR UPDATE', [ids[220]]);
    const run = new RotateSecrets(dying, bothRing).execute().then(
      () => 'came to its end',
      () => 'died',
    );
    const kill = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                   WHERE datname = current_database() AND application_name = 'dies' AND wait_event_type = 'Lock'`;
    while ((await sql(database, kill)).length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    expect(await run).toBe('died');
  } finally {
    await holder.end();
    await dying.$disconnect();
  }
  for (const [index, id] of ids.entries()) expect(await secretOf(id, bothRing)).toBe(`secret-${index}`);
  expect(ofDevices(await rotate())).toMatchObject({ resealed: 80, upToDate: 220, unreadable: [] });
  for (const [index, id] of ids.entries()) expect(await secretOf(id)).toBe(`secret-${index}`);
});

test('what opens with no key is reported and left as it is; the rest goes on', async () => {
  const damaged = await addDevice('lost', parseKeyring(`gone:${randomBytes(32).toString('base64')}`));
  const good = await addDevice('good');
  const before = await prisma.device.findUniqueOrThrow({ where: { id: damaged } });
  expect(ofDevices(await rotate())).toMatchObject({ resealed: 1, unreadable: [damaged] });
  expect(await secretOf(good)).toBe('good');
  expect(await prisma.device.findUniqueOrThrow({ where: { id: damaged } })).toEqual(before);
});

test('a secret that is changed meanwhile stays as it was set', async () => {
  const ids = await Promise.all(Array.from({ length: 40 }, (_, index) => addDevice(`before-${index}`)));
  const running = rotate();
  await Promise.all(
    ids.map((id, index) => {
      const apiKeySealed = new Uint8Array(seal(`after-${index}`, apiKeyOwner(id), bothRing));
      return prisma.device.update({ where: { id }, data: { apiKeySealed } });
    }),
  );
  await running;
  for (const [index, id] of ids.entries()) expect(await secretOf(id)).toBe(`after-${index}`);
});

test('the list names every sealed column of the database', async () => {
  const columns = await prisma.$queryRaw<{ name: string }[]>`
    SELECT table_name || '.' || column_name AS name FROM information_schema.columns
     WHERE table_schema = 'public' AND data_type = 'bytea' AND column_name LIKE '%sealed%' ORDER BY 1`;
  expect(SEALED_COLUMNS.map(({ table, column }) => `${table}.${column}`).sort()).toEqual(
    columns.map(({ name }) => name),
  );
});
