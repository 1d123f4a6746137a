// Promise: a half-year of receipts that have left for archives gives its room on the disk back; what has to stay of it stays as it was, with its claims,
// whatever is sold meanwhile and whenever the keeper is killed; what comes back from an archive has a place.
import pg from 'pg';
import { makeHalfYears, plansInside, sampleDocument } from '#database/testing';
import { archiveInFolder, beginRestore, readPartitions, restoreRows } from '#ledger';
import { createLogger, firstIdAt, newId } from '#runtime';
import { rowsIn } from '../../../../libs/ledger/src/testing/archive-places.js';
import { ARCHIVE_OPTIONS, ArchiveKeeper } from './archive-keeper.js';
import { until } from '../../../../libs/runtime/src/testing/until.js';
import { at, closeAged, keeper, keeperProgram, openAged, partitions, run, tables } from './testing/aged-partitions.js';
import { killRounds } from './testing/kill-rounds.js';

const DAY_MS = 86_400_000;
let made = 0;

/** The first moment of the half-year that is so many from this one. */
function halfAt(halves: number): Date {
  const now = new Date();
  return new Date(Date.UTC(now.getUTCFullYear(), (now.getUTCMonth() < 6 ? 0 : 6) + 6 * halves));
}

const suffix = (halves: number): string => halfAt(halves).toISOString().slice(0, 7).replace('-', '');

beforeEach(async () => {
  await openAged();
  await makeHalfYears(at.database.ownerUrl, [-5, -4, -3, -2, -1, 0, 1, 2].map(halfAt));
});
afterEach(closeAged);

interface Old {
  half: number;
  count?: number;
  more?: Partial<Record<'payment_id' | 'refund_of' | 'ofd_status', string>>;
}

/** Registered receipts of the middle of a half-year, with a key, an external id and an attempt each. @returns their ids */
async function sell({ half, count = 1, more = {} }: Old): Promise<string[]> {
  const moment = new Date(halfAt(half).getTime() + 60 * DAY_MS);
  const from = (made += count) - count;
  const { rows } = await at.owner.query<{ id: string }>(
    `INSERT INTO receipts (id, merchant_id, client_id, operation, idempotency_key, external_id, body_hash, type, status, document, total_tiyin,
                           vat_total_tiyin, created_at, updated_at, lane_place, device_id, terminal_id, receipt_seq, registered_at, evidence,
                           ofd_status, ofd_deadline_at, payment_id, refund_of)
     SELECT $1 || lpad(n::text, 16, '0'), 'mer_1', 'cli_1', 'receipts', 'key-' || n, 'order-' || n, '', (CASE WHEN $7::text IS NULL THEN 'sale' ELSE 'refund' END)::receipt_type,
            'registered', $2, 1, 0, $3, $3, n, 'dev_1', 'UZ', n, $3, 'answer', $6::ofd_status, $3, $8, $7
       FROM generate_series($4::int4, $5::int4) AS n RETURNING id`,
    [
      ...[firstIdAt('rcp', moment), sampleDocument(), moment, from + 1, from + count],
      ...[more.ofd_status ?? 'sent', more.refund_of ?? null, more.payment_id ?? null],
    ],
  );
  return rows.map(({ id }) => id);
}

async function linesOf(statement: string): Promise<string[]> {
  const { rows } = await at.owner.query<{ line: string }>(statement);
  return rows.map(({ line }) => line);
}

const receipts = (): Promise<string[]> => linesOf('SELECT receipt_line(r) AS line FROM receipts r ORDER BY id');
const claims = (): Promise<string[]> =>
  linesOf(`
    SELECT c::text AS line FROM idempotency_claims c UNION ALL SELECT c::text FROM external_id_claims c
    UNION ALL SELECT c::text FROM registration_claims c ORDER BY 1`);
const halves = (): Promise<string[]> => partitions('receipts');
/** So that the last one but two is over for long enough, and no later one. */
const receiptsKeep = Math.floor((Date.now() - halfAt(-2).getTime()) / DAY_MS) - 1;
const keepLeavingDays = { attempts: 36_500, receipts: Math.max(396, receiptsKeep) };
const LAST_LEAVING = receiptsKeep < 396 ? -4 : -3;
const keepHalves = (options: Parameters<typeof keeper>[0] = {}): Promise<false> =>
  keeper({ folder: at.folder, keepLeavingDays, ...options }).run();
const keepReceipts = (): Promise<boolean> =>
  new ArchiveKeeper(
    at.database.url,
    archiveInFolder(at.folder),
    { ...ARCHIVE_OPTIONS, pauseMs: 0, keepDays: { attempts: 36_500, receipts: 396 } },
    createLogger('test', 'silent'),
  ).run();

test('one whose receipts have left is dropped; what had to stay is as it was, with its claims, and its key sells nothing', async () => {
  await sell({ half: -5, count: 5 });
  const [paid = ''] = await sell({ half: -5, more: { payment_id: 'pay_1' } });
  const [sold = ''] = await sell({ half: -4 });
  await sell({ half: -4, more: { refund_of: sold, ofd_status: 'pending' } });
  await sell({ half: 0 });
  const claimed = await claims();
  expect(await keepReceipts()).toBe(false);
  const before = await receipts();
  expect(before).toHaveLength(4);
  await keepHalves();
  expect(await receipts()).toEqual(before);
  expect(await claims()).toEqual(claimed);
  expect(await halves()).not.toContain(suffix(-5));
  expect(await tables(`receipts_${suffix(-5)}`)).toBe(0);
  expect(await readPartitions(run)).toMatchObject({ held: [], waiting: 0 });
  const again = await at.programs.query(
    `INSERT INTO receipts (id, merchant_id, client_id, operation, idempotency_key, external_id, body_hash, type, status, document, total_tiyin, vat_total_tiyin)
     SELECT $2, merchant_id, client_id, operation, idempotency_key, external_id, '', 'sale', 'rejected', '{}', 1, 0 FROM receipts WHERE id = $1
         ON CONFLICT DO NOTHING RETURNING id`,
    [paid, newId('rcp')],
  );
  expect(again.rows).toEqual([]);
});

test('one with more than two thousand stays, as receipts of payments do, and is no fault; the next one leaves', async () => {
  await sell({ half: -5, count: 2_001, more: { payment_id: 'pay_1' } });
  await sell({ half: -4, count: 3, more: { payment_id: 'pay_1' } });
  const before = await receipts();
  await keepHalves();
  expect(await receipts()).toEqual(before);
  expect((await halves()).slice(0, 2)).toEqual([suffix(-5), `kept_${suffix(LAST_LEAVING + 1)}`]);
  expect(await readPartitions(run)).toMatchObject({ held: [] });
});

test('what comes back from an archive has a place, and leaves again', async () => {
  await sell({ half: -5, count: 5 });
  await sell({ half: 0 });
  const before = await receipts();
  await keepReceipts();
  await keepHalves();
  expect(await receipts()).toEqual(before.slice(-1));
  for (const name of await linesOf('SELECT name AS line FROM archives')) {
    expect(await beginRestore(run, name)).toBe(true);
    for await (const lines of rowsIn(archiveInFolder(at.folder), name, 7)) await restoreRows(run, name, lines);
  }
  expect(await receipts()).toEqual(before);
  await keepHalves();
  expect(await receipts()).toEqual(before);
  await at.owner.query(`UPDATE archives SET restored_at = now() - interval '31 days'`);
  await keepReceipts();
  expect(await receipts()).toEqual(before.slice(-1));
});

test.each([
  [
    'which a trigger leaves out',
    `CREATE FUNCTION leave_out() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
     CREATE TRIGGER a_leaves_out BEFORE INSERT ON receipts FOR EACH ROW EXECUTE FUNCTION leave_out()`,
    /3 rows of receipts_\d+ were to be put into receipts, and 0 were/,
  ],
  [
    'whose key another one has claimed, as in a copy whose claims did not come with it',
    `UPDATE idempotency_claims SET receipt_id = 'rcp_other' WHERE idempotency_key = (SELECT max(idempotency_key) FROM receipts)`,
    /3 rows of receipts_\d+ were to be put into receipts, and 2 were/,
  ],
])('a row %s cannot be put into the place of the old one: nothing is changed', async (_what, change, refused) => {
  await sell({ half: -5, count: 3, more: { payment_id: 'pay_1' } });
  const before = await receipts();
  const there = await halves();
  await at.owner.query(change);
  await expect(keepHalves()).rejects.toThrow(refused);
  expect([await receipts(), await halves()]).toEqual([before, there]);
});

test('a transaction that does not see what was written since it began takes off nothing', async () => {
  await sell({ half: -5, count: 3, more: { payment_id: 'pay_1' } });
  const there = await halves();
  await at.programs.query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM receipts');
  await sell({ half: -5, more: { payment_id: 'pay_2' } });
  const before = await receipts();
  await expect(
    at.programs.query(`SELECT release_emptied_partitions('receipts', ${keepLeavingDays.receipts})`),
  ).rejects.toThrow('read committed');
  await at.programs.query('ROLLBACK');
  expect([await receipts(), await halves()]).toEqual([before, there]);
});

test('sales go on meanwhile, whatever the database says of its transactions', async () => {
  await at.owner.query(
    `ALTER DATABASE ${new URL(at.database.url).pathname.slice(1)} SET default_transaction_isolation = 'repeatable read'`,
  );
  for (const half of [-5, -4]) await sell({ half, count: 1_000, more: { payment_id: 'pay_1' } });
  const before = await receipts();
  const till = new pg.Client({ connectionString: at.database.url });
  await till.connect();
  let isOpen = true;
  let sold = 0;
  const selling = (async () => {
    for (; isOpen; sold += 1) {
      const id = newId('rcp');
      await till.query(
        `INSERT INTO receipts (id, merchant_id, client_id, operation, idempotency_key, body_hash, type, status, lane_place, device_id, document, total_tiyin, vat_total_tiyin)
         VALUES ($1, 'mer_1', 'cli_1', 'receipts', $1, '', 'sale', 'accepted', nextval('lane_place_seq'), 'dev_1', '{}', 1, 0)`,
        [id],
      );
      const moved = await till.query(`UPDATE receipts SET status = 'cancelled' WHERE id = $1`, [id]);
      expect(moved.rowCount).toBe(1);
    }
  })();
  try {
    await keepHalves();
  } finally {
    isOpen = false;
    await selling;
    await till.end();
  }
  expect(await halves()).not.toContain(suffix(-5));
  expect((await receipts()).slice(0, before.length)).toEqual(before);
  expect(await linesOf(`SELECT count(*)::text AS line FROM receipts WHERE status = 'cancelled'`)).toEqual([
    String(sold),
  ]);
});

test('whenever the keeper is killed nothing is lost or doubled, and the next one goes on', async () => {
  const old = Array.from({ length: 16 }, (_, index) => index - 20);
  await makeHalfYears(at.database.ownerUrl, [...old, -4, -3, -2, -1, 0, 1, 2].map(halfAt));
  for (const half of old) await sell({ half, count: 120, more: { payment_id: 'pay_1' } });
  const before = await receipts();
  const claimed = await claims();
  const killed = await killRounds(at.owner, keeperProgram(), async () => {
    expect(await receipts()).toEqual(before);
  });
  expect(killed).toBeGreaterThan(2);
  // The server ends the session of a killed keeper when it notices; until then its lock stands.
  await until(
    'all are dropped',
    async () => {
      await keepHalves();
      return halves();
    },
    (names) => !old.some((half) => names.includes(suffix(half))),
  );
  expect((await halves())[0]).toMatch(/^kept_/);
  expect([await receipts(), await claims()]).toEqual([before, claimed]);
});

test('without an archive each of them stays; what is left of one is read by an index', async () => {
  await sell({ half: -5, count: 3_000, more: { payment_id: 'pay_1' } });
  await keeper().run();
  expect((await halves())[0]).toBe(suffix(-5));
  await at.owner.query('DELETE FROM receipts WHERE id NOT IN (SELECT id FROM receipts ORDER BY id DESC LIMIT 3)');
  const before = await receipts();
  const call = `SELECT release_emptied_partitions('receipts', ${keepLeavingDays.receipts})`;
  const plans = await plansInside(at.database.adminUrl, call);
  expect(await halves()).not.toContain(suffix(-5));
  expect(plans).toMatch(new RegExp(`Scan (?:on|using) receipts_${suffix(-5)}_pkey`));
  expect(plans).not.toMatch(new RegExp(`Seq Scan on parts.receipts_${suffix(-5)}`));
  expect(await receipts()).toEqual(before);
});
