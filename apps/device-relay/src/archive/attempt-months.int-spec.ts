// Promise: a month of attempts that have left for archives gives its room on the disk back; what has to stay of it stays, with the claim of an
// open attempt, and what comes back from an archive has a place.
import { plansInside } from '#database/testing';
import { archiveInFolder, beginRestore, readPartitions, restoreRows } from '#ledger';
import { createLogger, firstIdAt } from '#runtime';
import { rowsIn } from '../../../../libs/ledger/src/testing/archive-places.js';
import { ARCHIVE_OPTIONS, ArchiveKeeper } from './archive-keeper.js';
import {
  at,
  closeAged,
  keeper,
  monthAt,
  openAged,
  partitions,
  run,
  suffix,
  tables,
} from './testing/aged-partitions.js';
import { insertOldSale, type OldSale } from './testing/old-sales.js';

const DAY_MS = 86_400_000;
/** Months that are over for longer than an attempt is kept here, from this one. */
const OLD = [-7, -6, -5] as const;
let made = 0;

beforeEach(async () => {
  await openAged();
  await at.owner.query(`
    INSERT INTO branches (id, merchant_id, code, name) VALUES ('brn_1', 'mer_1', 'main', 'Main');
    INSERT INTO devices (id, merchant_id, branch_id, name, base_url, api_key_sealed)
    SELECT 'dev_' || n, 'mer_1', 'brn_1', 'Till', 'http://127.0.0.1:1', '\\x00' FROM generate_series(1, 2) AS n`);
  for (const month of OLD)
    await at.owner.query('SELECT create_partition($1, $2, $3)', [
      ...['attempts', `attempts_${suffix(month)}`],
      `FROM ('${firstIdAt('rcp', monthAt(month))}') TO ('${firstIdAt('rcp', monthAt(month + 1))}')`,
    ]);
});
afterEach(closeAged);

const daysAgo = (month: number): number => (Date.now() - monthAt(month).getTime()) / DAY_MS - 10;
const sell = (month: number, more: OldSale = {}): Promise<{ receiptId: string; attemptId: string }> =>
  insertOldSale(at.owner, { daysAgo: daysAgo(month), ...more });

/** Attempts alone, of the middle of a month. */
async function attempts(month: number, count: number): Promise<void> {
  const moment = new Date(monthAt(month).getTime() + 10 * DAY_MS);
  made += count;
  await at.owner.query(
    `INSERT INTO attempts (id, receipt_id, device_id, number, state, baseline, request, relay_id, created_at, closed_at)
     SELECT $1 || lpad(n::text, 16, '0'), $2 || lpad(n::text, 16, '0'), 'dev_2', 1, 'rejected', '{}', '\\x61', 'rly', $3, $3
       FROM generate_series($4::int4, $5::int4) AS n`,
    [firstIdAt('att', moment), firstIdAt('rcp', moment), moment, made - count + 1, made],
  );
}

async function rows(): Promise<string[]> {
  const { rows: found } = await at.owner.query<{ line: string }>(
    'SELECT attempt_line(a) AS line FROM attempts a ORDER BY id',
  );
  return found.map(({ line }) => line);
}

const months = (): Promise<string[]> => partitions('attempts');
/** So that the last of these months is over for long enough, and no later one. */
const keepAttemptsDays = Math.floor((Date.now() - monthAt(-4).getTime()) / DAY_MS) - 1;
const keepLeavingDays = { attempts: keepAttemptsDays, receipts: 36_500 };
const keepMonths = (): Promise<false> => keeper({ folder: at.folder, keepLeavingDays }).run();
const keepAttempts = (): Promise<boolean> =>
  new ArchiveKeeper(
    at.database.url,
    archiveInFolder(at.folder),
    { ...ARCHIVE_OPTIONS, pauseMs: 0, keepDays: { attempts: 91, receipts: 3_000 } },
    createLogger('test', 'silent'),
  ).run();

test('a month whose attempts have left is dropped; what had to stay is as it was, in a partition of the same bounds', async () => {
  for (let count = 0; count < 5; count += 1) await sell(-7);
  const waits = await sell(-7, { state: 'unknown', status: 'unknown', ofd: 'pending' });
  await sell(-1);
  expect(await keepAttempts()).toBe(false);
  const before = await rows();
  expect(before).toHaveLength(2);
  await keepMonths();
  expect(await rows()).toEqual(before);
  expect(await months()).toEqual([`kept_${suffix(-4)}`, ...[-4, -3, -2, -1, 0, 1, 2, 3, 4].map(suffix)]);
  expect(await tables(`attempts_${suffix(-7)}`)).toBe(0);
  expect(await readPartitions(run)).toMatchObject({ held: [], waiting: 0 });
  // A person decides it, and it leaves in its turn.
  await at.owner.query(`UPDATE attempts SET state = 'not_registered' WHERE id = $1`, [waits.attemptId]);
  await at.owner.query(`UPDATE receipts SET status = 'rejected', ofd_status = NULL WHERE id = $1`, [waits.receiptId]);
  expect(await keepAttempts()).toBe(false);
  expect(await rows()).toHaveLength(1);
});

test('a month with more than two thousand stays, and says so; later ones leave', async () => {
  await attempts(-6, 2_001);
  await attempts(-5, 3);
  const before = await rows();
  await keepMonths();
  expect(await rows()).toEqual(before);
  expect(await months()).toEqual([
    ...[`kept_${suffix(-6)}`, suffix(-6), `kept_${suffix(-4)}`],
    ...[-4, -3, -2, -1, 0, 1, 2, 3, 4].map(suffix),
  ]);
  expect(await readPartitions(run)).toMatchObject({ held: ['attempts'] });
  await at.owner.query('DELETE FROM attempts WHERE id = (SELECT min(id) FROM attempts)');
  await keepMonths();
  expect(await months()).not.toContain(suffix(-6));
  expect(await rows()).toEqual(before.slice(1));
  expect(await readPartitions(run)).toMatchObject({ held: [] });
});

test('what was kept of earlier months is put together as long as it is no more than that', async () => {
  for (const [month, count] of [
    [-7, 1_500],
    [-6, 400],
    [-5, 200],
  ] as const)
    await attempts(month, count);
  const before = await rows();
  await keepMonths();
  expect(await rows()).toEqual(before);
  expect((await months()).slice(0, 2)).toEqual([`kept_${suffix(-5)}`, `kept_${suffix(-4)}`]);
});

test('an open attempt that is put from one partition into another is its register’s open one still', async () => {
  const { attemptId } = await sell(-7, { state: 'open', status: 'sending', ofd: 'pending' });
  await keepMonths();
  expect(await months()).not.toContain(suffix(-7));
  expect((await at.owner.query(`SELECT id FROM lane_attempt('dev_1')`)).rows).toEqual([{ id: attemptId }]);
  await expect(sell(-1, { state: 'open', status: 'sending', ofd: 'pending' })).rejects.toMatchObject({ code: '23505' });
  await at.owner.query(`UPDATE attempts SET state = 'rejected', closed_at = now() WHERE id = $1`, [attemptId]);
  expect((await at.owner.query('SELECT FROM attempt_claims')).rowCount).toBe(0);
});

test('what comes back from an archive has a place, and leaves again', async () => {
  for (let count = 0; count < 5; count += 1) await sell(-7);
  await sell(-1);
  const before = await rows();
  await keepAttempts();
  await keepMonths();
  expect(await rows()).toEqual(before.slice(-1));
  const { rows: archives } = await at.owner.query<{ name: string }>('SELECT name FROM archives');
  for (const { name } of archives) {
    expect(await beginRestore(run, name)).toBe(true);
    for await (const lines of rowsIn(archiveInFolder(at.folder), name, 7)) await restoreRows(run, name, lines);
  }
  expect(await rows()).toEqual(before);
  await at.owner.query(`UPDATE archives SET restored_at = now() - interval '31 days'`);
  await keepAttempts();
  expect(await rows()).toEqual(before.slice(-1));
});

test('without an archive every month stays', async () => {
  await sell(-7);
  await keeper().run();
  expect((await months()).slice(0, 3)).toEqual(OLD.map(suffix));
});

test.each([
  ['a month', () => `attempts_${suffix(-7)}`],
  ['what is in no month', () => 'attempts_first'],
])(
  '%s that a vacuum has in hand is found out before the table is shut, and asked for in the next round',
  async (_what, partition) => {
    await at.owner.query(`BEGIN; LOCK TABLE parts.${partition()} IN SHARE UPDATE EXCLUSIVE MODE`);
    try {
      await expect(keeper({ folder: at.folder, keepLeavingDays, tries: 2 }).run()).rejects.toMatchObject({
        code: '55P03',
        where: expect.stringContaining(
          `"LOCK TABLE ONLY parts.${partition()} IN SHARE UPDATE EXCLUSIVE MODE"`,
        ) as string,
      });
      expect(await months()).toContain(suffix(-7));
    } finally {
      await at.owner.query('ROLLBACK');
    }
    await keepMonths();
    expect(await months()).not.toContain(suffix(-7));
  },
);

test('what is left of a month is read by an index: its room on the disk is not', async () => {
  await attempts(-7, 3_000);
  await at.owner.query(`DELETE FROM attempts WHERE id NOT IN (SELECT id FROM attempts ORDER BY id DESC LIMIT 3)`);
  const before = await rows();
  const plans = await plansInside(
    at.database.adminUrl,
    `SELECT release_emptied_partitions('attempts', ${keepAttemptsDays})`,
  );
  expect(await months()).not.toContain(suffix(-7));
  expect(plans).toMatch(new RegExp(`Scan (?:on|using) attempts_${suffix(-7)}_pkey`));
  expect(plans).not.toMatch(new RegExp(`Seq Scan on parts.attempts_${suffix(-7)}`));
  expect(await rows()).toEqual(before);
});
