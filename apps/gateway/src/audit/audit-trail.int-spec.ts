// Promise: a decision stays on record as it was taken, and no change to it goes undetected.
import 'reflect-metadata';
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { PrismaService } from '#database';
import { createTestDatabase, type TestDatabase } from '#database/testing';
import { Problem } from '#problems';
import { newId } from '#runtime';
import { parseKeyring } from '#secrets';
import type { AuditEntry } from './audit-chain.js';
import { AuditTrail } from './audit-trail.js';
import { AuditedChange } from './audited-change.js';
import { ShowVerification } from './show-verification.js';
import { VerifyAuditTrail, type AuditVerdict } from './verify-audit-trail.js';

const oldKey = `old:${randomBytes(32).toString('base64')}`;
const newKey = `new:${randomBytes(32).toString('base64')}`;
const settings = { SECRETS_KEY: parseKeyring(oldKey) };

let database: TestDatabase;
let prisma: PrismaService;
let trail: AuditTrail;
let verifier: VerifyAuditTrail;

beforeAll(async () => {
  database = await createTestDatabase();
  prisma = new PrismaService({ url: database.url, poolSize: 8, applicationName: 'audit-test', lockTimeoutMs: 400 });
  trail = new AuditTrail(settings);
  verifier = new VerifyAuditTrail(prisma, settings);
});

afterAll(async () => {
  await prisma?.$disconnect();
  await database?.drop();
});

function entryOf(merchantId: string, more: Partial<AuditEntry> = {}): AuditEntry {
  return {
    merchantId,
    actor: 'cli_1',
    action: 'attempt.resolve',
    targetId: 'att_1',
    before: { status: 'unknown', sums: { b: 1, a: 2.5 } },
    after: { status: 'registered', name: 'Чой ʻ', list: [1, null, 'x'] },
    address: '203.0.113.7',
    requestId: 'req_1',
    ...more,
  };
}

async function append(merchantId: string, count: number, more: Partial<AuditEntry> = {}): Promise<void> {
  for (let index = 0; index < count; index += 1) {
    await prisma.$transaction((tx) => trail.append(tx, entryOf(merchantId, { targetId: `att_${index}`, ...more })));
  }
}

/** As a superuser who has switched the trigger off: the one who must be found out. */
async function tamper(...statements: string[]): Promise<void> {
  const client = new pg.Client({ connectionString: database.adminUrl });
  await client.connect();
  try {
    for (const statement of ['SET session_replication_role = replica', ...statements]) await client.query(statement);
  } finally {
    await client.end();
  }
}

const verify = (merchantId: string): Promise<AuditVerdict> => verifier.verifyAuditTrail(merchantId);

test('a record is read back as it was written, and the chain is intact', async () => {
  const merchantId = newId('mer');
  await append(merchantId, 3);
  const rows = await prisma.auditRecord.findMany({ where: { merchantId }, orderBy: { sequence: 'asc' } });
  expect(rows.map(({ sequence, targetId }) => [sequence, targetId])).toEqual([
    [1n, 'att_0'],
    [2n, 'att_1'],
    [3n, 'att_2'],
  ]);
  const { before, after, actor, address } = entryOf(merchantId);
  expect(rows[1]).toMatchObject({ before, after, actor, address });
  expect(Math.abs(Date.now() - rows[0]!.at.getTime())).toBeLessThan(60_000);
  expect(await verify(merchantId)).toMatchObject({ kind: 'intact', records: 3n });
  expect(await verify(newId('mer'))).toMatchObject({ kind: 'intact', records: 0n });
});

test('20 appends at once make one chain; other merchants have their own', async () => {
  const merchants = [newId('mer'), newId('mer')];
  const entries = Array.from({ length: 20 }, (_, index) => entryOf(merchants[index % 2]!));
  const ownPool = new PrismaService({
    url: database.url,
    poolSize: 20,
    applicationName: 'audit-test',
    lockTimeoutMs: 10_000,
  });
  try {
    await Promise.all(
      entries.map((entry) => ownPool.$transaction((tx) => trail.append(tx, entry), { maxWait: 20_000 })),
    );
  } finally {
    await ownPool.$disconnect();
  }
  for (const merchantId of merchants) expect(await verify(merchantId)).toMatchObject({ kind: 'intact', records: 10n });
});

test('a change that fails leaves no record, and its number is used by the next one', async () => {
  const merchantId = newId('mer');
  const failed = prisma.$transaction(async (tx) => {
    await trail.append(tx, entryOf(merchantId));
    throw new Error('the change failed');
  });
  await expect(failed).rejects.toThrow('the change failed');
  await append(merchantId, 1);
  expect(await verify(merchantId)).toMatchObject({ kind: 'intact', records: 1n });
});

test('secrets do not reach the trail', async () => {
  const merchantId = newId('mer');
  await append(merchantId, 1, { after: { api_key: 'abcdef', note: 'Bearer abcdefghijk' } });
  const [row] = await prisma.auditRecord.findMany({ where: { merchantId } });
  expect(JSON.stringify(row?.after)).not.toMatch(/abcdef/);
  expect(await verify(merchantId)).toMatchObject({ kind: 'intact' });
});

test.each([
  ['actor', `actor = 'cli_2'`],
  ['time', `at = at - interval '1 ms'`],
  ['contents before', `before = NULL`],
  ['contents after', `after = jsonb_set(after, '{status}', '"unknown"')`],
  ['address', `address = NULL`],
  ['hash', `hash = sha256('x')`],
])('an altered record is found: %s', async (_what, set) => {
  const merchantId = newId('mer');
  await append(merchantId, 4);
  await tamper(`UPDATE audit_records SET ${set} WHERE merchant_id = '${merchantId}' AND sequence = 3`);
  expect(await verify(merchantId)).toEqual({ kind: 'broken', sequence: 3n, fault: 'altered' });
});

test('a missing record is found, also the first; renumbering hides nothing', async () => {
  const merchantId = newId('mer');
  await append(merchantId, 5);
  const mine = `merchant_id = '${merchantId}'`;
  await tamper(`DELETE FROM audit_records WHERE ${mine} AND sequence = 4`);
  expect(await verify(merchantId)).toEqual({ kind: 'broken', sequence: 4n, fault: 'missing' });
  await tamper(`UPDATE audit_records SET sequence = 4 WHERE ${mine} AND sequence = 5`);
  expect(await verify(merchantId)).toEqual({ kind: 'broken', sequence: 4n, fault: 'altered' });
  await tamper(`DELETE FROM audit_records WHERE ${mine} AND sequence = 1`);
  expect(await verify(merchantId)).toEqual({ kind: 'broken', sequence: 1n, fault: 'missing' });
});

test('two records in each other’s place are found', async () => {
  const merchantId = newId('mer');
  await append(merchantId, 4);
  const mine = `merchant_id = '${merchantId}'`;
  await tamper(
    `UPDATE audit_records SET sequence = 100 WHERE ${mine} AND sequence = 2`,
    `UPDATE audit_records SET sequence = 2 WHERE ${mine} AND sequence = 3`,
    `UPDATE audit_records SET sequence = 3 WHERE ${mine} AND sequence = 100`,
  );
  expect(await verify(merchantId)).toEqual({ kind: 'broken', sequence: 2n, fault: 'altered' });
});

test('a genuine record of another history is found', async () => {
  const merchantId = newId('mer');
  const mine = `merchant_id = '${merchantId}'`;
  await append(merchantId, 1);
  await tamper(`CREATE TABLE IF NOT EXISTS kept AS SELECT * FROM audit_records WHERE ${mine}`);
  await tamper(`DELETE FROM audit_records WHERE ${mine}`);
  await append(merchantId, 2, { actor: 'cli_other' });
  await tamper(`DELETE FROM audit_records WHERE ${mine} AND sequence = 1`, `INSERT INTO audit_records TABLE kept`);
  expect(await verify(merchantId)).toEqual({ kind: 'broken', sequence: 2n, fault: 'unchained' });
});

test('a cut tail is detected by a head that was seen before', async () => {
  const merchantId = newId('mer');
  await append(merchantId, 3);
  const before = await verify(merchantId);
  if (before.kind !== 'intact') throw new Error('not intact');
  const mine = `merchant_id = '${merchantId}'`;
  await tamper(`DELETE FROM audit_records WHERE ${mine} AND sequence = 3`);
  expect(await verify(merchantId)).toMatchObject({ kind: 'intact', records: 2n });
  const cut = { kind: 'broken', sequence: 3n, fault: 'cut' };
  expect(await verifier.verifyAuditTrail(merchantId, [before.head])).toEqual(cut);
  await append(merchantId, 1, { actor: 'cli_other' });
  expect(await verifier.verifyAuditTrail(merchantId, [before.head])).toEqual(cut);
});

test('records outlive a rotation of SECRETS_KEY, and mean nothing to another key', async () => {
  const merchantId = newId('mer');
  await append(merchantId, 2);
  const rotated = { SECRETS_KEY: parseKeyring(`${newKey},${oldKey}`) };
  await prisma.$transaction((tx) => new AuditTrail(rotated).append(tx, entryOf(merchantId)));
  const both = new VerifyAuditTrail(prisma, rotated);
  expect(await both.verifyAuditTrail(merchantId)).toMatchObject({ kind: 'intact', records: 3n });
  const stranger = new VerifyAuditTrail(prisma, { SECRETS_KEY: parseKeyring(newKey) });
  expect(await stranger.verifyAuditTrail(merchantId)).toEqual({ kind: 'broken', sequence: 1n, fault: 'altered' });
});

describe('the verification of a part', () => {
  const show = (merchantId: string, query: { limit?: string; cursor?: string } = {}) =>
    new ShowVerification(verifier).execute(merchantId, query);

  test('goes on where the one before ended, to the end', async () => {
    const merchantId = newId('mer');
    expect(await show(merchantId)).toMatchObject({
      state: 'intact',
      records: 0,
      head: { sequence: 0 },
      has_more: false,
    });
    await append(merchantId, 5);
    const first = await show(merchantId, { limit: '2' });
    expect(first).toMatchObject({ state: 'intact', records: 2, broken: null, head: { sequence: 2 }, has_more: true });
    const rest = await show(merchantId, { limit: '3', cursor: first.cursor });
    expect(rest).toMatchObject({ state: 'intact', records: 3, head: { sequence: 5 }, has_more: false });
    await append(merchantId, 1);
    const later = await show(merchantId, { cursor: rest.cursor });
    expect(later).toMatchObject({ state: 'intact', records: 1, head: { sequence: 6 }, has_more: false });
    expect((await show(merchantId, { limit: '1000' })).head).toEqual(later.head);
  });

  test('names the first record that is altered, and an end that was cut off since', async () => {
    const merchantId = newId('mer');
    await append(merchantId, 4);
    const { cursor } = await show(merchantId);
    const mine = `merchant_id = '${merchantId}'`;
    await tamper(`UPDATE audit_records SET actor = 'cli_2' WHERE ${mine} AND sequence = 3`);
    expect(await show(merchantId)).toMatchObject({
      state: 'broken',
      records: 2,
      broken: { sequence: 3, fault: 'altered' },
      has_more: false,
    });
    await tamper(`DELETE FROM audit_records WHERE ${mine} AND sequence > 2`);
    expect(await show(merchantId)).toMatchObject({ state: 'intact', records: 2 });
    expect(await show(merchantId, { cursor })).toMatchObject({
      state: 'broken',
      broken: { sequence: 4, fault: 'cut' },
    });
  });

  test('422 for a cursor of another merchant: it is no trail that was cut', async () => {
    const [mine, other] = [newId('mer'), newId('mer')];
    await append(other, 3);
    await append(mine, 1);
    const { cursor } = await show(other);
    await expect(show(mine, { cursor })).rejects.toMatchObject({ errors: [{ pointer: '/cursor' }] });
  });

  test.each(['x', Buffer.alloc(48, 0xff).toString('base64url'), Buffer.alloc(47).toString('base64url')])(
    '422 for the cursor %s',
    async (cursor) => {
      await expect(show(newId('mer'), { cursor })).rejects.toMatchObject({ errors: [{ pointer: '/cursor' }] });
    },
  );
});

test.each(['UPDATE audit_records SET actor = actor', 'DELETE FROM audit_records', 'TRUNCATE audit_records'])(
  '%s is refused to the programs and to the owner',
  async (statement) => {
    await append(newId('mer'), 1);
    for (const [url, refusal] of [
      [database.url, 'permission denied'],
      [database.ownerUrl, 'audit_records is append-only'],
    ]) {
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      try {
        await expect(client.query(statement)).rejects.toThrow(refusal);
      } finally {
        await client.end();
      }
    }
  },
);

describe('an audited change', () => {
  const caller = { merchantId: newId('mer'), actor: 'cli_1', address: null, requestId: 'req_1' };
  const record = { action: 'merchant.rename', targetId: caller.merchantId, before: null, after: { name: 'B' } };

  test('and its record are there together', async () => {
    const change = new AuditedChange(prisma, trail);
    await change.execute(caller, async (tx) => {
      await tx.merchant.create({ data: { id: caller.merchantId, code: 'b', name: 'B', tin: '300000000' } });
      return { result: null, ...record };
    });
    expect(await verify(caller.merchantId)).toMatchObject({ kind: 'intact', records: 1n });
  });

  test('whose record cannot be written does not happen', async () => {
    const change = new AuditedChange(prisma, trail);
    const renamed = change.execute(caller, async (tx) => {
      await tx.merchant.update({ where: { id: caller.merchantId }, data: { name: 'C' } });
      // PostgreSQL holds no NUL in a text.
      return { result: null, ...record, after: { name: 'C\0' } };
    });
    await expect(renamed).rejects.toThrow();
    expect(await prisma.merchant.findUnique({ where: { id: caller.merchantId } })).toMatchObject({ name: 'B' });
    expect(await verify(caller.merchantId)).toMatchObject({ kind: 'intact', records: 1n });
  });

  test('that waits too long for another session’s lock is a 503 and nothing happened', async () => {
    const holder = new pg.Client({ connectionString: database.adminUrl });
    await holder.connect();
    await holder.query('BEGIN');
    await holder.query('SELECT 1 FROM merchants WHERE id = $1 FOR UPDATE', [caller.merchantId]);
    try {
      const blocked = new AuditedChange(prisma, trail).execute(caller, async (tx) => {
        await tx.$executeRaw`UPDATE merchants SET name = 'D' WHERE id = ${caller.merchantId}`;
        return { result: null, ...record };
      });
      const refusal = await blocked.catch((error: unknown) => error);
      expect(refusal).toBeInstanceOf(Problem);
      expect(refusal).toMatchObject({ code: 'service_unavailable', isRefusal: false });
    } finally {
      await holder.end();
    }
    expect(await verify(caller.merchantId)).toMatchObject({ kind: 'intact', records: 1n });
  });
});
