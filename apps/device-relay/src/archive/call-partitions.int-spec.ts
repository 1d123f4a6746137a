// Promise: old months of calls to payment providers, and of theirs to us, leave for files, and only for files; what a payment that is not
// settled needs of them stays, and what a provider said in full is in none of them.
import {
  archiveInFolder,
  beginRestore,
  CALL_TABLES,
  readPartitions,
  releasedPartitions,
  restoreRows,
  tableOfArchive,
} from '#ledger';
import { firstIdAt } from '#runtime';
import { rowsIn } from '../../../../libs/ledger/src/testing/archive-places.js';
import {
  archived,
  at,
  closeAged,
  keeper,
  keeperProgram,
  monthAt,
  openAged,
  partitions,
  released,
  rowsOf,
  run,
  tables,
} from './testing/aged-partitions.js';
import { killRounds } from './testing/kill-rounds.js';

const DAY_MS = 86_400_000;
let made = 0;

beforeEach(async () => {
  await openAged();
  await at.owner.query(
    `INSERT INTO provider_accounts (id, merchant_id, provider, name, settings, credentials_sealed) VALUES ('pac_1', 'mer_1', 'payme', 'P', '{}', '')`,
  );
});
afterEach(closeAged);

const middleOf = (month: number): Date => new Date(monthAt(month).getTime() + 10 * DAY_MS);

interface Given {
  month: number;
  state?: string;
  /** More of the payment: SQL. */
  also?: string;
  calls?: number;
}

/** A payment of the middle of a month, with calls to its provider and as many of its provider. @returns its id */
async function pay({ month, state = 'captured', also, calls = 2 }: Given): Promise<string> {
  const moment = middleOf(month);
  const id = `${firstIdAt('pay', moment)}${String((made += 1)).padStart(16, '0')}`;
  await at.owner.query(
    `INSERT INTO payments (id, merchant_id, account_id, receipt_id, provider, flow, state, amount_tiyin, expires_at, created_at)
     VALUES ($1, 'mer_1', 'pac_1', $1, 'payme', 'inbound', $2::payment_state, 1, now(), $3)`,
    [id, state, moment],
  );
  if (also !== undefined) await at.owner.query(`UPDATE payments SET ${also} WHERE id = $1`, [id]);
  await at.programs.query(
    `INSERT INTO payment_calls (payment_id, call, lease_id, started_at, finished_at, outcome)
     SELECT $1, 'capture', 'l', $2::timestamptz + make_interval(secs => n), $2, '{"kind": "status", "detail": "чек"}' FROM generate_series(1, $3::int4) AS n`,
    [id, moment, calls],
  );
  await at.programs.query(
    `INSERT INTO provider_callbacks (account_id, address, reference, operation, payment_id, amount_tiyin, answer, received_at)
     SELECT 'pac_1', '127.0.0.1', $1 || n, 'PerformTransaction', $1, 1, '{"result": {}}', $2::timestamptz + make_interval(secs => n)
       FROM generate_series(1, $3::int4) AS n`,
    [id, moment, calls],
  );
  return id;
}

const both = async (): Promise<string[]> => (await Promise.all(CALL_TABLES.map((table) => rowsOf(table)))).flat();

async function paymentsIn(table: string): Promise<string[]> {
  const { rows } = await at.owner.query<{ id: string }>(`SELECT DISTINCT payment_id AS id FROM ${table} ORDER BY 1`);
  return rows.map(({ id }) => id);
}

const OPTIONS = { rowsAtOnce: 7, maxRows: 30 };
const withArchive = (keepCallsDays = 30): ReturnType<typeof keeper> =>
  keeper({ ...OPTIONS, folder: at.folder, keepCallsDays });

/** Of months those alone are old enough that ended so many months ago: before or with the first of this one. */
const since = (month: number): number => Math.floor((Date.now() - monthAt(month).getTime()) / DAY_MS);

test('months that are over leave whole, into files of their own, and those within the days that are kept stay', async () => {
  for (const month of [-5, -4]) for (let n = 0; n < 20; n += 1) await pay({ month });
  const before = await both();
  const recent = [await pay({ month: 0 })];
  await withArchive().run();
  for (const table of CALL_TABLES) {
    expect(await paymentsIn(table)).toEqual(recent);
    expect((await partitions(table))[0]).toMatch(/^kept_/);
    expect(await tables(`${table}%`)).toBe((await partitions(table)).length);
  }
  expect(await released()).toEqual([]);
  expect((await archived()).sort()).toEqual(before.sort());
  const { rows } = await at.owner.query<{ name: string }>('SELECT name FROM archives');
  expect(new Set(rows.map(({ name }) => tableOfArchive(name)))).toEqual(new Set(CALL_TABLES));
});

test('calls to the provider of a payment that is not settled stay until it is', async () => {
  const unsettled: Partial<Given>[] = [
    { also: 'due_at = now()' },
    { also: 'awaits_operator = true' },
    { also: `discrepancy = '{}'` },
    { state: 'authorized' },
    { state: 'manual' },
  ];
  const open: string[] = [];
  for (const given of unsettled) open.push(await pay({ month: -5, ...given }));
  await pay({ month: -5 });
  await withArchive(since(-4)).run();
  expect(await paymentsIn('payment_calls')).toEqual(open.sort());
  // Nothing is decided by what the provider called for: it leaves as a whole.
  expect(await paymentsIn('provider_callbacks')).toEqual([]);
  await at.owner.query(
    `UPDATE payments SET due_at = NULL, awaits_operator = false, discrepancy = NULL, state = 'captured'`,
  );
  await withArchive(since(-4)).run();
  expect(await paymentsIn('payment_calls')).toEqual(open);
  // With the next month that leaves.
  await withArchive(since(-3)).run();
  expect(await paymentsIn('payment_calls')).toEqual([]);
});

test('an open call that was kept is closed once its payment is settled, and those of a sandbox stay as others do', async () => {
  await at.owner.query(`
    INSERT INTO merchants (id, code, name, tin, mode) VALUES ('mer_test_1', 'sandbox', 'S', '300000001', 'sandbox');
    INSERT INTO provider_accounts (id, merchant_id, provider, name, settings, credentials_sealed) VALUES ('pac_2', 'mer_test_1', 'payme', 'P', '{}', '')`);
  for (const merchantId of ['mer_1', 'mer_test_1']) {
    const id = await pay({ month: -5, state: 'manual', calls: 1 });
    await at.owner.query(`UPDATE payment_calls SET finished_at = NULL, outcome = NULL WHERE payment_id = $1`, [id]);
    if (merchantId === 'mer_1') continue;
    const sandboxed = id.replace('pay_', 'pay_test_');
    await at.owner.query(`UPDATE payments SET id = $2, merchant_id = $3, account_id = 'pac_2' WHERE id = $1`, [
      id,
      sandboxed,
      merchantId,
    ]);
    await at.owner.query(`UPDATE payment_calls SET payment_id = $2 WHERE payment_id = $1`, [id, sandboxed]);
  }
  const there = await rowsOf('payment_calls');
  await withArchive(since(-4)).run();
  expect(await rowsOf('payment_calls')).toEqual(there);
  await at.owner.query(`UPDATE payments SET state = 'captured'`);
  await withArchive(since(-3)).run();
  expect(await rowsOf('payment_calls')).toEqual([]);
  expect((await at.owner.query('SELECT FROM parts.open_payment_calls')).rows).toHaveLength(0);
});

test('a call that is open stays, and is the only one of its payment as before', async () => {
  const id = await pay({ month: -5, state: 'manual', calls: 30 });
  await at.owner.query(`UPDATE payment_calls SET finished_at = NULL WHERE id = (SELECT min(id) FROM payment_calls)`);
  await withArchive().run();
  // The newest twenty, and this one.
  expect(await rowsOf('payment_calls')).toHaveLength(21);
  const second = at.programs.query(
    `INSERT INTO payment_calls (payment_id, call, lease_id) VALUES ('${id}', 'void', 'l')`,
  );
  await expect(second).rejects.toMatchObject({ code: '23505', constraint: 'payment_calls_one_open_per_payment' });
  await at.programs.query(
    `UPDATE payment_calls SET finished_at = now() WHERE payment_id = $1 AND finished_at IS NULL`,
    [id],
  );
  await at.programs.query(`INSERT INTO payment_calls (payment_id, call, lease_id) VALUES ('${id}', 'void', 'l')`);
});

/** So many payments of a month that a person has to judge, with a call each. */
async function payUnsettled(count: number, month: number): Promise<void> {
  const moment = middleOf(month);
  const first = firstIdAt('pay', moment);
  await at.owner.query(
    `INSERT INTO payments (id, merchant_id, account_id, receipt_id, provider, flow, state, amount_tiyin, expires_at, created_at)
     SELECT $1 || '9' || lpad(n::text, 15, '0'), 'mer_1', 'pac_1', $1 || n, 'payme', 'inbound', 'manual', 1, now(), $2 FROM generate_series(1, $3::int4) AS n`,
    [first, moment, count],
  );
  await at.owner.query(
    `INSERT INTO payment_calls (payment_id, call, lease_id, started_at, finished_at)
     SELECT id, 'void', 'l', created_at, created_at FROM payments WHERE state = 'manual' AND created_at = $1`,
    [moment],
  );
}

test('a month of which too much may not leave stays alone and says so: later ones leave, and it once that is settled', async () => {
  await payUnsettled(2_001, -5);
  const settled = await pay({ month: -5 });
  const later = await pay({ month: -4 });
  await withArchive().run();
  const there = await paymentsIn('payment_calls');
  expect([there.includes(settled), there.includes(later)]).toEqual([true, false]);
  expect(await paymentsIn('provider_callbacks')).toEqual([]);
  expect(await readPartitions(run)).toMatchObject({ held: ['payments'], waiting: 0 });
  await at.owner.query(`UPDATE payments SET state = 'refunded'`);
  await withArchive().run();
  expect(await rowsOf('payment_calls')).toEqual([]);
  expect(await readPartitions(run)).toMatchObject({ held: [], waiting: 0 });
});

test('of a payment that waits for a person for long the newest calls of each kind stay, and keep nothing else', async () => {
  const open = await pay({ month: -5, state: 'manual', calls: 3_000 });
  const settled = await pay({ month: -5 });
  await at.owner.query(`UPDATE payment_calls SET call = 'read_status' WHERE id % 2 = 0`);
  await keeper({ folder: at.folder }).run();
  expect(await paymentsIn('payment_calls')).toEqual([open]);
  const { rows } = await at.owner.query<{ call: string; calls: number; newest: Date }>(
    `SELECT call, count(*)::int4 AS calls, max(started_at) AS newest FROM payment_calls GROUP BY call ORDER BY call`,
  );
  expect(rows.map(({ call, calls }) => [call, calls])).toEqual([
    ['capture', 20],
    ['read_status', 20],
  ]);
  expect(Math.max(...rows.map(({ newest }) => newest.getTime()))).toBe(middleOf(-5).getTime() + 3_000_000);
  expect(await archived()).toContainEqual(expect.stringContaining(settled));
});

test('a call that a dead worker left open is closed where its payment was settled otherwise, and leaves', async () => {
  await pay({ month: -5, calls: 1 });
  await at.owner.query(`UPDATE payment_calls SET finished_at = NULL, outcome = NULL`);
  await withArchive().run();
  expect(await rowsOf('payment_calls')).toEqual([]);
  expect((await archived()).filter((line) => line.includes('lost: its caller died'))).toHaveLength(1);
  expect((await at.owner.query('SELECT FROM parts.open_payment_calls')).rows).toHaveLength(0);
});

test('what is kept of earlier months does not count against a month', async () => {
  await payUnsettled(1_500, -6);
  await withArchive(since(-4)).run();
  await payUnsettled(1_000, -4);
  const settled = await pay({ month: -4 });
  await withArchive(since(-3)).run();
  expect(await paymentsIn('payment_calls')).not.toContain(settled);
  expect(await rowsOf('payment_calls')).toHaveLength(2_500);
  expect(await readPartitions(run)).toMatchObject({ held: [] });
});

test('no text of a provider’s call is ever in an archive: its month waits until it is cleared', async () => {
  await pay({ month: -5 });
  for (const column of ['body', 'body_sealed']) {
    await at.owner.query(
      `UPDATE provider_callbacks SET ${column} = '\\x01' WHERE id = (SELECT min(id) FROM provider_callbacks)`,
    );
    await withArchive().run();
    expect([column, (await rowsOf('provider_callbacks')).length]).toEqual([column, 2]);
    await at.owner.query(`UPDATE provider_callbacks SET ${column} = NULL`);
  }
  expect(await rowsOf('payment_calls')).toEqual([]);
  await withArchive().run();
  expect(await rowsOf('provider_callbacks')).toEqual([]);
});

test('without an archive all calls stay, whatever their age', async () => {
  await pay({ month: -5 });
  const before = await both();
  await keeper().run();
  expect(await both()).toEqual(before);
  // Nor does the database drop any by itself.
  await at.programs.query(`SELECT release_payment_partitions('provider_callbacks', 30)`);
  const [name] = await released();
  expect((await at.programs.query('SELECT drop_released_partition($1, false) AS gone', [name])).rows).toEqual([
    { gone: false },
  ]);
});

test('what is brought back is as it was, stands in its time, and stays for its thirty days', async () => {
  for (let n = 0; n < 20; n += 1) await pay({ month: -5 });
  const before = await both();
  await withArchive().run();
  expect(await both()).toEqual([]);
  const { rows } = await at.owner.query<{ name: string }>('SELECT name FROM archives ORDER BY name');
  for (const { name } of rows) {
    expect(await beginRestore(run, name)).toBe(true);
    for await (const lines of rowsIn(archiveInFolder(at.folder), name, 11)) await restoreRows(run, name, lines);
  }
  expect(await both()).toEqual(before);
  await withArchive().run();
  expect(await both()).toEqual(before);
});

test('a keeper that dies at any moment loses no call, and archives whole months', async () => {
  for (const month of [-6, -5, -4]) for (let n = 0; n < 20; n += 1) await pay({ month });
  const open = await pay({ month: -5, state: 'manual' });
  const before = await both();
  const killed = await killRounds(at.owner, keeperProgram(), async () => {
    const everywhere = [...(await both()), ...(await archived())];
    for (const { name } of await releasedPartitions(run)) everywhere.push(...(await rowsOf(`parts.${name}`)));
    expect(new Set(everywhere)).toEqual(new Set(before));
  });
  expect(killed).toBeGreaterThan(2);
  // The server ends the session of a killed keeper when it notices; until then its lock stands.
  const deadline = Date.now() + 60_000;
  while (((await released()).length > 0 || (await both()).length > 2) && Date.now() < deadline)
    await withArchive().run();
  expect(await paymentsIn('payment_calls')).toEqual([open]);
  const stays = new Set(await both());
  expect((await archived()).sort()).toEqual(before.filter((line) => !stays.has(line)).sort());
});
