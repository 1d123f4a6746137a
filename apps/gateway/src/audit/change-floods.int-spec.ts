// Promise: a merchant with many changes at once, or one whose trail is held, leaves the others their connections, and is answered in time.
import 'reflect-metadata';
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { PrismaService } from '#database';
import { createTestDatabase, type TestDatabase } from '#database/testing';
import { newId } from '#runtime';
import { parseKeyring } from '#secrets';
import { until } from '../../../../libs/runtime/src/testing/until.js';
import { AuditTrail } from './audit-trail.js';
import { AuditedChange } from './audited-change.js';
import { VerifyAuditTrail } from './verify-audit-trail.js';

/** "AU", the first key of a trail's lock (audit-trail.ts). */
const AUDIT_LOCK_SPACE = 0x4155;
const settings = { SECRETS_KEY: parseKeyring(randomBytes(32).toString('base64')) };
let database: TestDatabase;
let prisma: PrismaService;
let holder: pg.Client;
let changes: AuditedChange;

beforeAll(async () => {
  database = await createTestDatabase();
  prisma = new PrismaService({ url: database.url, poolSize: 6, applicationName: 'audit-test', lockTimeoutMs: 400 });
});
beforeEach(async () => {
  changes = new AuditedChange(prisma, new AuditTrail(settings));
  holder = new pg.Client({ connectionString: database.adminUrl });
  await holder.connect();
});
afterEach(() => holder?.end());
afterAll(async () => {
  await prisma?.$disconnect();
  await database?.drop();
});

async function hold(merchantId: string): Promise<void> {
  await holder.query('SELECT pg_advisory_lock($1::int, hashtext($2))', [AUDIT_LOCK_SPACE, merchantId]);
}

/** @returns `done`, or the code of the problem */
function change(merchantId: string): Promise<string> {
  const caller = { merchantId, actor: 'cli_1', address: null, requestId: 'req_1' };
  const record = { action: 'branch.rename', targetId: 'brn_1', before: null, after: null };
  return changes
    .execute(caller, () => Promise.resolve({ result: 'done', ...record }))
    .catch(({ code }: { code: string }) => code);
}

async function waiters(): Promise<number> {
  const { rows } = await holder.query<{ waiting: number }>(
    `SELECT count(*)::int AS waiting FROM pg_locks
      WHERE locktype = 'advisory' AND NOT granted
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
  );
  return rows[0]?.waiting ?? 0;
}

test('two connections of a merchant wait, those of others do not, and all that was taken is done', async () => {
  const [flooding, other] = [newId('mer'), newId('mer')];
  await hold(flooding);
  const flood = Array.from({ length: 100 }, () => change(flooding));
  await until('two wait', waiters, (waiting) => waiting === 2);
  for (let turn = 0; turn < 5; turn += 1) {
    expect(await change(other)).toBe('done');
    expect(await prisma.merchant.count()).toBe(0);
    expect(await waiters()).toBe(2);
  }
  await holder.query('SELECT pg_advisory_unlock_all()');
  const answers = await Promise.all(flood);
  expect(answers.filter((answer) => answer === 'done')).toHaveLength(66);
  expect(answers.filter((answer) => answer === 'too_many_requests')).toHaveLength(34);
  const verdict = await new VerifyAuditTrail(prisma, settings).verifyAuditTrail(flooding);
  expect(verdict).toMatchObject({ kind: 'intact', records: 66n });
});

test('behind one that waited in vain no other waits as long again', async () => {
  const merchantId = newId('mer');
  await hold(merchantId);
  const begun = performance.now();
  const answers = await Promise.all(Array.from({ length: 12 }, () => change(merchantId)));
  expect(new Set(answers)).toEqual(new Set(['service_unavailable']));
  // Six pairs, one after the other, would be thirty seconds.
  expect(performance.now() - begun).toBeLessThan(15_000);
});
