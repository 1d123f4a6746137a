// Promise: an audit trail whose end was cut off, or that is gone as a whole, is detected by heads that were published before.
import 'reflect-metadata';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { PrismaService } from '#database';
import { createTestDatabase, type TestDatabase } from '#database/testing';
import { createLogger, newId } from '#runtime';
import { parseKeyring } from '#secrets';
import { AuditHeads, readHeadFile } from './audit-heads.js';
import { AuditTrail } from './audit-trail.js';
import { CheckAuditTrails } from './check-audit-trails.js';
import { VerifyAuditTrail } from './verify-audit-trail.js';

const settings = { SECRETS_KEY: parseKeyring(randomBytes(32).toString('base64')) };
const folder = mkdtempSync(join(tmpdir(), 'audit-heads-'));
const file = join(folder, 'heads.jsonl');

let database: TestDatabase;
let prisma: PrismaService;
let checker: CheckAuditTrails;
let heads: AuditHeads;
let log: string[];

beforeAll(async () => {
  database = await createTestDatabase();
  prisma = new PrismaService({ url: database.url, poolSize: 2, applicationName: 'heads-test', lockTimeoutMs: 400 });
  checker = new CheckAuditTrails(prisma, new VerifyAuditTrail(prisma, settings));
});

afterAll(async () => {
  await prisma?.$disconnect();
  await database?.drop();
  rmSync(folder, { recursive: true, force: true });
});

beforeEach(async () => {
  await tamper('DELETE FROM audit_records', 'DELETE FROM merchants');
  rmSync(file, { force: true });
  log = [];
  const logger = createLogger('test', 'info', { write: (line) => void log.push(line) });
  heads = new AuditHeads(prisma, { AUDIT_HEAD_FILE: file }, logger);
});

async function createMerchant(records: number): Promise<string> {
  const id = newId('mer');
  await prisma.merchant.create({ data: { id, code: id, name: 'M', tin: '300000000' } });
  await append(id, records);
  return id;
}

async function append(merchantId: string, count: number): Promise<void> {
  const trail = new AuditTrail(settings);
  const entry = {
    merchantId,
    actor: 'cli_1',
    action: 'a.b',
    before: null,
    after: null,
    address: null,
    requestId: null,
  };
  for (let index = 0; index < count; index += 1)
    await prisma.$transaction((tx) => trail.append(tx, { ...entry, targetId: newId('att') }));
}

/** As a superuser who has switched the trigger off. */
async function tamper(...statements: string[]): Promise<void> {
  const client = new pg.Client({ connectionString: database.adminUrl });
  await client.connect();
  try {
    for (const statement of ['SET session_replication_role = replica', ...statements]) await client.query(statement);
  } finally {
    await client.end();
  }
}

const verdictOf = async (merchantId: string): Promise<unknown> => {
  const found = (await checker.execute(file)).find((trail) => trail.merchantId === merchantId);
  return found?.verdict;
};

test('each head once, in the log and in the file, again only when it has moved', async () => {
  const [a, b] = [await createMerchant(2), await createMerchant(1)];
  await createMerchant(0);
  expect(await heads.publish()).toBe(2);
  expect(await heads.publish()).toBe(0);
  await append(a, 1);
  expect(await heads.publish()).toBe(1);
  const seen = await readHeadFile(file);
  expect(seen.get(a)?.map(({ sequence }) => sequence)).toEqual([2n, 3n]);
  expect(seen.get(b)?.map(({ sequence }) => sequence)).toEqual([1n]);
  const published = log
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter(({ msg }) => msg === 'audit head');
  expect(published).toHaveLength(3);
  expect(published[2]).toMatchObject({ merchant_id: a, sequence: '3', hash: seen.get(a)?.[1]?.hash.toString('hex') });
  expect((await checker.execute(file)).map(({ verdict, headsSeen }) => [verdict.kind, headsSeen]).sort()).toEqual([
    ['intact', 0],
    ['intact', 1],
    ['intact', 2],
  ]);
});

test.each(['warn', 'error'] as const)('the log has each head with LOG_LEVEL=%s too', async (level) => {
  const merchantId = await createMerchant(1);
  const logger = createLogger('test', level, { write: (line) => void log.push(line) });
  expect(await new AuditHeads(prisma, { AUDIT_HEAD_FILE: undefined }, logger).publish()).toBe(1);
  expect(log.map((line) => JSON.parse(line) as object)).toEqual([
    expect.objectContaining({ msg: 'audit head', level: 'info', merchant_id: merchantId, sequence: '1' }),
  ]);
});

test('a cut end, one that has grown again, and a trail that is gone with its merchant', async () => {
  const [cut, grown, gone] = [await createMerchant(5), await createMerchant(5), await createMerchant(2)];
  await heads.publish();
  await tamper(`DELETE FROM audit_records WHERE sequence > 3 OR merchant_id = '${gone}'`);
  await tamper(`DELETE FROM merchants WHERE id = '${gone}'`);
  await append(grown, 4);
  // The chain itself shows nothing.
  expect((await checker.execute()).map(({ verdict }) => verdict.kind)).toEqual(['intact', 'intact']);
  expect(await verdictOf(cut)).toEqual({ kind: 'broken', sequence: 4n, fault: 'cut' });
  expect(await verdictOf(grown)).toEqual({ kind: 'broken', sequence: 5n, fault: 'cut' });
  expect(await verdictOf(gone)).toEqual({ kind: 'broken', sequence: 1n, fault: 'cut' });
});

test('a file that is none says which line; half a last line is what a crash leaves', async () => {
  const merchantId = await createMerchant(1);
  await heads.publish();
  const good = readFileSync(file, 'utf8');
  writeFileSync(file, `${good}{"merchant_id":"mer`);
  expect((await readHeadFile(file)).get(merchantId)).toHaveLength(1);
  for (const bad of ['{', '{}', 'null', '{"merchant_id":"m","sequence":"-1","hash":""}']) {
    writeFileSync(file, `${good}${bad}\n`);
    await expect(readHeadFile(file)).rejects.toThrow('line 2: not an audit head');
  }
});

test('a file that cannot be written loses no head: it is published the next time', async () => {
  await createMerchant(1);
  const nowhere = new AuditHeads(prisma, { AUDIT_HEAD_FILE: join(folder, 'none', 'x') }, createLogger('t', 'silent'));
  await expect(nowhere.publish()).rejects.toThrow('ENOENT');
  expect(log).toEqual([]);
  expect(await heads.publish()).toBe(1);
});
