// Promise: what is recorded of archives is true of the database: how far they are behind, what comes back, and what the programs' role may not remove.
import { mkdir, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { testClient } from '#database/testing';
import type { Registration } from '#fiscal-domain';
import { archivesOfPartition, closeFoundLate, newestArchives, recordLateAnswer } from '#ledger';
import { openFolder } from '../../../../libs/ledger/src/testing/archive-places.js';
import { ArchiveLag } from './archive-lag.js';
import {
  archives,
  at,
  attempts,
  keeper,
  linesOf,
  newest,
  restoreAll,
  run,
  runToEnd,
  sell,
  writtenArchive,
  withAttempts,
} from './testing/aged-attempts.js';

withAttempts(openFolder);

test('archives of partitions are neither behind, nor do they stand for those of receipts in the folder', async () => {
  const name = (table: string, end: string): string => `${table}-${end.padStart(26, '0')}`;
  await at.owner.query(
    `INSERT INTO archives (name, state, released, begun_at, last_id)
   SELECT n, 'written', CASE WHEN n LIKE 'webhook%' THEN 'webhook_deliveries_202601' END, now() - make_interval(days => at::int4), 'dlv_' || at
     FROM unnest($1::text[], $2::int4[]) AS a (n, at)`,
    [
      [name('attempts', '1'), name('attempts', '2'), name('webhook_deliveries', '1'), name('webhook_deliveries', '2')],
      [3, 4, 8, 9],
    ],
  );
  expect(await newestArchives(run, { of: 'rows', limit: 2 })).toEqual([name('attempts', '1'), name('attempts', '2')]);
  expect(await newestArchives(run, { of: 'partitions', limit: 3 })).toEqual([
    name('webhook_deliveries', '1'),
    name('webhook_deliveries', '2'),
    name('attempts', '1'),
  ]);
  await at.owner.query(`UPDATE archives SET last_id = 'dlv_7' WHERE name = $1`, [name('webhook_deliveries', '2')]);
  expect((await archivesOfPartition(run, 'webhook_deliveries_202601')).map(({ last_id: id }) => id)).toEqual([
    'dlv_7',
    'dlv_8',
  ]);
  await at.owner.query(`UPDATE archives SET state = 'removed' WHERE released IS NULL`);
  expect(await new ArchiveLag('attempts', 395).read(run)).toBe(0);
});

test('what was archived before the table got a column comes back with its default, and leaves again', async () => {
  const { attemptId } = await sell();
  await newest();
  await runToEnd(keeper());
  await at.owner.query(`ALTER TABLE attempts ADD COLUMN later text NOT NULL DEFAULT 'unset'`);
  try {
    expect(await restoreAll()).toBe(1);
    const { rows } = await at.owner.query(`SELECT later, state FROM attempts WHERE id = $1`, [attemptId]);
    expect(rows).toEqual([{ later: 'unset', state: 'registered' }]);
    await at.owner.query(`UPDATE archives SET restored_at = now() - interval '31 days'`);
    await runToEnd(keeper());
    expect((await attempts()).map(({ id }) => id)).not.toContain(attemptId);
    const newer = await at.owner.query<{ archive: string }>('SELECT archive FROM archived_attempts WHERE id = $1', [
      attemptId,
    ]);
    expect((await linesOf(String(newer.rows[0]?.archive)))[0]).toContain('"later": "unset"');
  } finally {
    await at.owner.query('ALTER TABLE attempts DROP COLUMN later');
  }
});

test('how far the archive is behind is seen beyond attempts that have to stay', async () => {
  for (let sale = 0; sale < 7; sale += 1) await sell({ state: 'unknown', status: 'unknown' });
  await newest();
  const lag = new ArchiveLag('attempts', 395, 1);
  expect([await lag.read(run), await lag.read(run), await lag.read(run)]).toEqual([0, 0, 0]);
  const { attemptId } = await sell({ daysAgo: 396 });
  await newest();
  const readings: number[] = [];
  for (let reading = 0; reading < 4; reading += 1) readings.push(await lag.read(run));
  expect(Math.max(...readings)).toBeGreaterThan(0);
  await runToEnd(keeper());
  expect((await attempts()).map(({ id }) => id)).not.toContain(attemptId);
  readings.length = 0;
  for (let reading = 0; reading < 4; reading += 1) readings.push(await lag.read(run));
  expect(readings.at(-1)).toBe(0);
});

test('what was proven by a late answer or a journal leaves, although its attempt counts as unknown for good', async () => {
  const { receiptId, attemptId } = await sell({ state: 'unknown', status: 'unknown' });
  await newest();
  const prisma = testClient(at.database.url);
  const registration: Registration = {
    ...{ terminalId: 'T-late', receiptSeq: 1, fiscalSign: '123456789012', transactionTimeMs: Date.now() },
    ...{
      verificationUrl: 'https://ofd.example/check',
      ofdSent: true,
      ofdError: null,
      shiftNumber: null,
      recordedFields: [],
    },
  };
  const answer = { receiptId, deviceId: 'dev_1', registration, evidence: 'journal' } as const;
  expect(await recordLateAnswer(prisma, answer)).toBe('proved');
  await prisma.$disconnect();
  await at.owner.query(
    `UPDATE receipts SET updated_at = created_at, ofd_status = 'sent', ofd_sent_at = created_at WHERE id = $1`,
    [receiptId],
  );
  await runToEnd(keeper());
  expect((await attempts()).map(({ id }) => id)).not.toContain(attemptId);
  expect(await archives()).toMatchObject([{ state: 'removed', rows: 1, removed: 1 }]);
});

test('what has a document that was found late stays until a person has decided what becomes of that', async () => {
  const { attemptId } = await sell({ state: 'not_registered', status: 'rejected' });
  await newest();
  const place = { terminalId: 'T-late', receiptSeq: 1 };
  const found = { found_late: [{ terminal_id: place.terminalId, receipt_seq: place.receiptSeq }] };
  await at.owner.query('UPDATE attempts SET outcome = $2 WHERE id = $1', [attemptId, found]);
  await runToEnd(keeper());
  expect((await attempts()).map(({ id }) => id)).toContain(attemptId);
  const prisma = testClient(at.database.url);
  expect(await closeFoundLate(prisma, attemptId, { document: place, resolution: { decision: 'duplicate' } })).toBe(
    true,
  );
  await prisma.$disconnect();
  await runToEnd(keeper());
  expect((await attempts()).map(({ id }) => id)).not.toContain(attemptId);
});

test('a row that changed after it was archived stays, and is archived as it is then', async () => {
  const { attemptId } = await sell();
  await newest();
  await writtenArchive();
  await at.owner.query(`UPDATE attempts SET outcome = '{"kind": "registered", "late": true}' WHERE id = $1`, [
    attemptId,
  ]);
  await runToEnd(keeper());
  expect(await archives()).toMatchObject([
    { state: 'removed', rows: 1, removed: 0 },
    { state: 'removed', rows: 1, removed: 1 },
  ]);
  const { rows } = await at.owner.query<{ archive: string }>('SELECT archive FROM archived_attempts');
  expect((await linesOf(String(rows[0]?.archive)))[0]).toContain('"late": true');
});

test('what is left of an archive that was never finished, and cannot be removed, keeps nothing in the database', async () => {
  await sell();
  await newest();
  const name = `attempts-${'0'.repeat(26)}`;
  await at.owner.query(`INSERT INTO archives (name, state) VALUES ($1, 'writing')`, [name]);
  const stuck = join(String(at.place.settings.ARCHIVE_DIR), `${name}.ndjson.gz`);
  await mkdir(stuck);
  await runToEnd(keeper());
  expect(await archives()).toMatchObject([{ state: 'removed', rows: 1, removed: 1 }]);
  const { rows } = await at.owner.query('SELECT state FROM archives WHERE name = $1', [name]);
  expect(rows).toEqual([{ state: 'abandoned' }]);
  await rmdir(stuck);
});

describe('the programs’ role', () => {
  const refusal = (text: string, values: unknown[] = []): Promise<string | undefined> =>
    at.programs.query(text, values).then(
      () => undefined,
      (error: unknown) => (error instanceof pg.DatabaseError ? error.code : 'no code'),
    );

  test('removes no attempt without a written archive, none that differs, none that is young or may move', async () => {
    const old = await sell();
    const young = await sell({ daysAgo: 60 });
    const unknown = await sell({ state: 'unknown', status: 'unknown' });
    await newest();
    const remove = 'SELECT remove_archived_attempts($1, $2, $3) AS removed';
    expect(await refusal(remove, ['attempts-none', [old.attemptId], ['00']])).toBe('55000');
    const name = `attempts-${'0'.repeat(26)}`;
    await at.programs.query(`INSERT INTO archives (name, state) VALUES ($1, 'written')`, [name]);
    const ids = [old, young, unknown].map(({ attemptId }) => attemptId);
    const { rows: digests } = await at.owner.query<{ digest: string }>(
      `SELECT encode(sha256(convert_to(attempt_line(a), 'UTF8')), 'hex') AS digest FROM attempts a WHERE id = ANY($1) ORDER BY array_position($1, id)`,
      [ids],
    );
    const right = digests.map(({ digest }) => digest);
    expect((await at.programs.query(remove, [name, ids, right.map(() => '00')])).rows).toEqual([{ removed: 0 }]);
    // In a session that shows times and bytes otherwise the digest is the same.
    await at.programs.query(`SET TimeZone = 'Asia/Tashkent'; SET bytea_output = 'escape'`);
    expect((await at.programs.query(remove, [name, ids, right])).rows).toEqual([{ removed: 1 }]);
    await at.programs.query('RESET TimeZone; RESET bytea_output');
    expect((await attempts()).map(({ id }) => id)).toEqual(
      expect.arrayContaining([young.attemptId, unknown.attemptId]),
    );
    for (const table of ['archived_attempts', 'archives', 'attempts'])
      expect(await refusal(`DELETE FROM ${table}`)).toBe('42501');
    expect(await refusal(`INSERT INTO archived_attempts VALUES ('a', 'b', 1, now(), $1)`, [name])).toBe('42501');
  });
});
