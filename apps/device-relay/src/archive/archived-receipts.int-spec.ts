// Promise: an old receipt leaves the database only for a durable archive that holds it as it was, with all of its refunds, and when nothing of it can move;
// its key, external id and registration stay taken for ever; whenever the keeper is killed, none is lost and none stands twice.
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { archiveIn, openFolder } from '../../../../libs/ledger/src/testing/archive-places.js';
import { Prisma } from '#database';
import { archivedWithin, beginRestore, restoreRows } from '#ledger';
import { ArchiveLag } from './archive-lag.js';
import {
  archives,
  at,
  attempts,
  keeper,
  keeperProgram,
  linesOf,
  newest,
  restoreAll,
  run,
  runToEnd,
  sell,
  withAttempts,
  writtenArchive,
} from './testing/aged-attempts.js';
import { ids, insertReceipt, keepReceipts, newestReceipt, receipts } from './testing/aged-receipts.js';
import { killRounds } from './testing/kill-rounds.js';

withAttempts(openFolder);
beforeEach(() => at.owner.query('DELETE FROM messages; DELETE FROM message_accounts'));

const archivedIds = async (): Promise<string[]> =>
  (await at.owner.query<{ id: string }>('SELECT id FROM archived_receipts ORDER BY id')).rows.map(({ id }) => id);

const claims = async (): Promise<unknown[]> =>
  (
    await at.owner.query(`
      SELECT 'key' AS of, idempotency_key AS what, receipt_id FROM idempotency_claims
      UNION ALL SELECT 'external', external_id, receipt_id FROM external_id_claims
      UNION ALL SELECT 'registration', terminal_id || receipt_seq, receipt_id FROM registration_claims ORDER BY 1, 2`)
  ).rows;

async function insertMessage(receiptId: string, state: string): Promise<void> {
  await at.owner.query(`
    INSERT INTO message_accounts (id, merchant_id, channel, provider, name, settings, credentials_sealed)
    VALUES ('mac_1', 'mer_1', 'email', 'smtp', 'Mail', '{}', '\\x00') ON CONFLICT DO NOTHING`);
  await at.owner.query(
    `INSERT INTO messages (id, merchant_id, account_id, receipt_id, channel, source, language, state, address_hash, address_hint)
     VALUES ($1, 'mer_1', 'mac_1', $2, 'email', 'api', 'uz', $3::message_state, '\\x00', 'a…')`,
    [`msg_${receiptId}`, receiptId, state],
  );
}

test('what is old and done leaves with its refunds, keeps its claims, and comes back as it was', async () => {
  const sold = await insertReceipt();
  const leaving = [
    sold,
    await insertReceipt({ refundOf: sold }),
    await insertReceipt({ status: 'rejected' }),
    await insertReceipt({ status: 'cancelled' }),
  ];
  await newestReceipt();
  const before = await receipts();
  const claimed = await claims();

  await keepReceipts({ rowsAtOnce: 1 });
  expect(await ids()).toEqual(before.map(({ id }) => id).filter((id) => !leaving.includes(id)));
  expect(await archivedIds()).toEqual([...leaving].sort());
  expect(await claims()).toEqual(claimed);
  const [archive, ...more] = await archives();
  expect(more).toEqual([]);
  expect(archive).toMatchObject({ state: 'removed', rows: 4, removed: 4 });
  expect(archive?.name).toMatch(/^receipts-/);
  expect((await linesOf(String(archive?.name))).sort()).toEqual(
    before
      .filter(({ id }) => leaving.includes(id))
      .map(({ row }) => row)
      .sort(),
  );

  expect(await restoreAll()).toBe(4);
  expect(await restoreAll()).toBe(0);
  expect(await receipts()).toEqual(before);
  expect(await claims()).toEqual(claimed);
  // Brought back, they stay for thirty days; then the same archive takes them again.
  await keepReceipts();
  expect(await receipts()).toEqual(before);
  await at.owner.query(`UPDATE archives SET restored_at = now() - interval '31 days'`);
  await keepReceipts();
  expect(await archivedIds()).toEqual([...leaving].sort());
  expect(await ids()).toHaveLength(before.length - 4);
  expect((await archives()).map(({ state }) => state)).toEqual(['removed']);
});

test('what can still move stays: of a sale and its refunds all, or none', async () => {
  const young = await insertReceipt();
  const waiting = await insertReceipt();
  const withAttempt = await insertReceipt();
  await insertReceipt({ refundOf: young, daysAgo: 2_000 });
  await insertReceipt({ refundOf: waiting, ofd: 'pending' });
  await insertReceipt({ refundOf: waiting });
  await insertReceipt({ status: 'unknown' });
  await insertReceipt({ ofd: 'pending' });
  await insertReceipt({ daysAgo: 2_990 });
  await insertReceipt({ terminal: 'another, whose newest it is' });
  await at.owner.query(
    `INSERT INTO attempts (id, receipt_id, device_id, number, state, baseline, request, relay_id, closed_at)
     VALUES ('att_9', $1, 'dev_9', 1, 'registered', '{}', '', 'rly_1', now())`,
    [withAttempt],
  );
  const messaged = await insertReceipt();
  await insertMessage(messaged, 'pending');
  // Those of a payment leave with it.
  const paid = await insertReceipt();
  await insertReceipt({ refundOf: paid });
  const manifold = await insertReceipt();
  for (let refund = 0; refund < 201; refund += 1) await insertReceipt({ refundOf: manifold });
  await at.owner.query(`
    ALTER TABLE receipts DISABLE TRIGGER USER;
    UPDATE receipts SET payment_id = 'pay_1' WHERE id = '${paid}';
    ALTER TABLE receipts ENABLE TRIGGER USER`);
  await newestReceipt();
  const before = await ids();
  await keepReceipts();
  expect(await ids()).toEqual(before);
  expect(await archives()).toEqual([]);

  // What was waited for is done: these leave, and the others stay.
  await at.owner.query(`
    ALTER TABLE receipts DISABLE TRIGGER USER;
    UPDATE receipts SET ofd_status = 'sent' WHERE ofd_status = 'pending';
    UPDATE receipts SET status = 'rejected' WHERE status = 'unknown';
    ALTER TABLE receipts ENABLE TRIGGER USER;
    DELETE FROM attempts;
    DELETE FROM receipts WHERE id = (SELECT max(id) FROM receipts WHERE refund_of = '${manifold}');
    UPDATE messages SET state = 'delivered'`);
  await keepReceipts();
  const left = await ids();
  for (const id of [young, paid]) expect(left).toContain(id);
  for (const id of [waiting, withAttempt, messaged, manifold]) expect(left).not.toContain(id);
  // Young and its refund, paid and its refund, the two of the last years, that of the other terminal.
  expect(left).toHaveLength(7);
});

test('a sale leaves with all of its refunds or not at all, and what was archived anew is not brought back as it was before', async () => {
  const sold = await insertReceipt();
  const refund = await insertReceipt({ refundOf: sold });
  await newestReceipt();
  // One of them has changed since its archive was written.
  await writtenArchive('receipts');
  await at.owner.query(`UPDATE receipts SET ofd_error = 'read again' WHERE id = $1`, [refund]);
  const changed = await receipts();
  await runToEnd(keeper({ rowsAtOnce: 1 }));
  const [older, newer] = await archives();
  expect([older, newer]).toMatchObject([
    { state: 'removed', rows: 2, removed: 0 },
    { state: 'removed', rows: 2, removed: 2 },
  ]);
  expect(await archivedIds()).toEqual([sold, refund].sort());
  for (const [archive, expected] of [
    [older, 0],
    [newer, 2],
  ] as const)
    expect([
      await beginRestore(run, String(archive?.name)),
      await restoreRows(run, String(archive?.name), await linesOf(String(archive?.name))),
    ]).toEqual([true, expected]);
  expect(await receipts()).toEqual(changed);
});

test('what is brought back while it leaves with a newer archive is not older than that', async () => {
  const sold = await insertReceipt();
  await newestReceipt();
  await keepReceipts();
  const older = String((await archives())[0]?.name);
  expect(await restoreAll()).toBe(1);
  await at.owner.query(
    `UPDATE archives SET state = 'removed'; UPDATE receipts SET ofd_error = 'read again' WHERE id = $1`.replace(
      '$1',
      `'${sold}'`,
    ),
  );
  const newer = older.replace(/.$/, (end) => (end === '0' ? '1' : '0'));
  await at.owner.query(`INSERT INTO archives (name, state) VALUES ($1, 'written')`, [newer]);
  const { rows } = await at.owner.query<{ digest: string }>(
    `SELECT encode(sha256(convert_to(receipt_line(r), 'UTF8')), 'hex') AS digest FROM receipts r WHERE id = $1`,
    [sold],
  );
  const keeping = new pg.Client({ connectionString: at.database.url });
  await keeping.connect();
  await keeping.query('BEGIN');
  await keeping.query('SELECT remove_archived_receipts($1, $2, $3)', [newer, [sold], [rows[0]?.digest]]);
  expect(await beginRestore(run, older)).toBe(true);
  const restoring = restoreRows(run, older, await linesOf(older));
  await delay(200);
  await keeping.query('COMMIT');
  await keeping.end();
  expect(await restoring).toBe(0);
  expect(await ids()).not.toContain(sold);
});

test('an archive that cannot be finished keeps no other row from leaving, nor slows it down', async () => {
  await insertReceipt();
  await newestReceipt();
  const stuck = await writtenArchive('receipts');
  await at.owner.query(`ALTER TABLE archived_receipts ADD CONSTRAINT none CHECK (archive <> '${stuck}')`);
  await Promise.all([sell(), sell(), sell()]);
  await newest();
  const one = keeper({ maxRows: 1, rowsAtOnce: 1 });
  // Each archive of an attempt says that there is more to do at once; what failed is said when there is not.
  expect([await one.run(), await one.run(), await one.run()]).toEqual([true, true, true]);
  await expect(runToEnd(one)).rejects.toThrow(/not all old rows/);
  expect(await attempts()).toHaveLength(1);
  await at.owner.query('ALTER TABLE archived_receipts DROP CONSTRAINT none');
  await keepReceipts();
  expect(new Set((await archives()).map(({ state }) => state))).toEqual(new Set(['removed']));
});

test('a table of which nothing can be archived keeps no other from leaving, again and again', async () => {
  await insertReceipt();
  await newestReceipt();
  await newest();
  await at.owner.query(`ALTER TABLE archives ADD CONSTRAINT none CHECK (name NOT LIKE 'receipts-%')`);
  const one = keeper();
  for (let round = 0; round < 3; round += 1) {
    await sell();
    await expect(runToEnd(one)).rejects.toThrow(/not all old rows/);
    expect(await attempts()).toHaveLength(1);
  }
  await at.owner.query('ALTER TABLE archives DROP CONSTRAINT none');
  await runToEnd(one);
  expect((await archives()).map(({ state }) => state)).toEqual(['removed', 'removed', 'removed', 'removed']);
});

test('attempts that were brought back without their receipt leave again', async () => {
  const { receiptId, attemptId } = await sell({ daysAgo: 3_010, terminal: 'UZ000000000001' });
  await newestReceipt();
  await newest();
  await keepReceipts();
  expect(await ids()).not.toContain(receiptId);
  const name = String((await archives()).find((archive) => archive.name.startsWith('attempts'))?.name);
  await beginRestore(run, name);
  expect(await restoreRows(run, name, await linesOf(name))).toBe(1);
  await at.owner.query(`UPDATE archives SET restored_at = now() - interval '31 days' WHERE name = $1`, [name]);
  await keepReceipts();
  expect((await attempts()).map(({ id }) => id)).not.toContain(attemptId);
});

test('a refund that is being written keeps its sale here, and is never left without it', async () => {
  const sold = await insertReceipt();
  await newestReceipt();
  const other = new pg.Client({ connectionString: at.database.ownerUrl });
  await other.connect();
  try {
    await other.query('BEGIN');
    await other.query('SELECT FROM receipts WHERE id = $1 FOR NO KEY UPDATE', [sold]);
    await keepReceipts();
    expect(await ids()).toContain(sold);
    await other.query(
      `INSERT INTO receipts (id, merchant_id, client_id, operation, body_hash, type, status, document, total_tiyin, vat_total_tiyin, refund_of, lane_place, device_id)
       SELECT 'rcp_z', merchant_id, client_id, 'refunds', '\\x00', 'refund', 'accepted', document, 1, 0, id, 1, 'dev_1' FROM receipts WHERE id = $1`,
      [sold],
    );
    await other.query('COMMIT');
  } finally {
    await other.end();
  }
  await keepReceipts();
  expect(await ids()).toContain(sold);
  expect(await archivedIds()).toEqual([]);
});

test('a row that has changed since its archive was written stays; the programs remove none by themselves', async () => {
  const [sold, another] = [await insertReceipt(), await insertReceipt()];
  await newestReceipt();
  await writtenArchive('receipts');
  await at.owner.query(`UPDATE receipts SET ofd_error = 'read again' WHERE id = $1`, [sold]);
  await keepReceipts();
  const [first, second] = await archives();
  expect([first, second]).toMatchObject([
    { state: 'removed', rows: 2, removed: 1 },
    { state: 'removed', rows: 1, removed: 1 },
  ]);
  expect(await archivedIds()).toEqual([sold, another].sort());
  for (const statement of [
    `DELETE FROM receipts`,
    `DELETE FROM archived_receipts`,
    `UPDATE archived_receipts SET archive = 'x'`,
  ])
    await expect(at.programs.query(statement)).rejects.toThrow(/permission denied/);
  // For an archive that is written, and a row of less than 395 days: for every caller.
  const young = await insertReceipt({ daysAgo: 300 });
  await newestReceipt();
  const { rows } = await at.owner.query<{ digest: string }>(
    `SELECT encode(sha256(convert_to(receipt_line(r), 'UTF8')), 'hex') AS digest FROM receipts r WHERE id = $1`,
    [young],
  );
  const remove = (name: string): Promise<pg.QueryResult> =>
    at.programs.query('SELECT remove_archived_receipts($1, $2, $3) AS removed', [name, [young], [rows[0]?.digest]]);
  await expect(remove(String(first?.name))).rejects.toThrow(/is not written/);
  await at.owner.query(`UPDATE archives SET state = 'written' WHERE name = $1`, [first?.name]);
  expect((await remove(String(first?.name))).rows).toEqual([{ removed: 0 }]);
  expect(await ids()).toContain(young);
});

test('how far the archive is behind says receipts that may leave, and no others', async () => {
  const lag = new ArchiveLag('receipts', 3_000);
  await insertReceipt({ ofd: 'pending' });
  await newestReceipt();
  expect(await lag.read(run)).toBe(0);
  await insertReceipt({ daysAgo: 3_001 });
  await newestReceipt();
  const behind = await lag.read(run);
  expect(behind).toBeGreaterThan(0.99 * 86_400);
  expect(behind).toBeLessThan(1.1 * 86_400);
});

test('whether receipts of a time have left is read by an index, however many a merchant has there', async () => {
  await at.owner.query(`
    INSERT INTO archives (name, state) VALUES ('receipts-x', 'removed');
    INSERT INTO archived_receipts (id, merchant_id, client_id, operation, body_hash, created_at, registered_at, archive)
    SELECT 'rcp_' || n, 'mer_1', 'cli_1', 'receipts', '', now() - make_interval(days => n), now() - make_interval(days => n), 'receipts-x'
      FROM generate_series(1, 20000) AS n;
    INSERT INTO receipts (id, merchant_id, client_id, operation, body_hash, type, status, document, total_tiyin, vat_total_tiyin)
    SELECT 'rcp_here_' || n, 'mer_1', 'cli_1', 'receipts', '', 'sale', 'rejected', '{}', 1, 0 FROM generate_series(1, 40000) AS n;
    ANALYZE archived_receipts, receipts`);
  const [from, to] = [new Date(), new Date(Date.now() + 86_400_000)];
  for (const [span, index] of [
    [{ of: 'created_at', from, to }, 'archived_receipts_merchant_id_created_at_idx'],
    [{ of: 'created_at', from, to: null }, 'archived_receipts_merchant_id_created_at_idx'],
    [{ of: 'registered_at', from, to: null }, 'archived_receipts_by_registration'],
    [{ of: 'registered_at', from: null, to: new Date(0) }, 'archived_receipts_by_registration'],
  ] as const) {
    const plans: string[] = [];
    const explain = async ({ text, values }: Prisma.Sql): Promise<never[]> => {
      // As a statement whose plan is kept: of one that is planned for its values much is folded away.
      await at.programs.query(`SET plan_cache_mode = force_generic_plan; DEALLOCATE ALL; PREPARE asked AS ${text}`);
      const given = values.map((value) =>
        pg.escapeLiteral(value instanceof Date ? value.toISOString() : String(value)),
      );
      const { rows } = await at.programs.query<{ 'QUERY PLAN': string }>(`EXPLAIN EXECUTE asked (${given.join(', ')})`);
      plans.push(rows.map((row) => row['QUERY PLAN']).join(' '));
      return [];
    };
    const database = {
      $queryRaw: (parts: TemplateStringsArray, ...values: unknown[]) => explain(Prisma.sql(parts, ...values)),
    };
    await archivedWithin(database as unknown as Parameters<typeof archivedWithin>[0], 'mer_1', span);
    expect(plans[0]).toMatch(
      new RegExp(
        `Index (Only )?Scan Backward using ${index}.*Index Cond: \\(\\(merchant_id = .*AND \\(${span.of} [<>]`,
      ),
    );
  }
  await at.programs.query('RESET plan_cache_mode');
});

test('the longest that may be kept is for ever: nothing leaves, and nothing fails', async () => {
  await insertReceipt();
  await newestReceipt();
  await runToEnd(keeper({ keepDays: { attempts: 36_500, receipts: 36_500 } }));
  expect(await ids()).toHaveLength(2);
  expect(await new ArchiveLag('receipts', 36_500).read(run)).toBe(0);
});

test('a keeper that is killed at any moment loses no receipt and archives none twice', async () => {
  for (let sale = 0; sale < 30; sale += 1) await insertReceipt({ refundOf: await insertReceipt() });
  await newestReceipt();
  const before = await receipts();
  const killed = await killRounds(at.owner, keeperProgram(), async () => {
    // What has left stands in an archive that is whole, and no refund is here whose sale is not.
    const here = await ids();
    const orphans = await at.owner.query(
      'SELECT FROM receipts f WHERE refund_of IS NOT NULL AND NOT EXISTS (SELECT FROM receipts s WHERE s.id = f.refund_of)',
    );
    expect(orphans.rowCount).toBe(0);
    const { rows } = await at.owner.query<{ id: string; archive: string }>('SELECT id, archive FROM archived_receipts');
    expect([...here, ...rows.map(({ id }) => id)].sort()).toEqual(before.map(({ id }) => id));
    for (const archive of new Set(rows.map((row) => row.archive)))
      expect(await archiveIn(at.place.settings).check(archive)).toBe('whole');
  });
  expect(killed).toBeGreaterThan(0);
  // The server ends the session of a killed keeper when it notices; until then its lock stands.
  const deadline = Date.now() + 60_000;
  const last = keeper();
  while ((await ids()).length > 1 && Date.now() < deadline) {
    await runToEnd(last);
    await delay(50);
  }
  await runToEnd(last);
  expect(await ids()).toHaveLength(1);
  const written = await archives();
  const lines = (await Promise.all(written.map(({ name }) => linesOf(name)))).flat();
  expect(lines.sort()).toEqual(
    before
      .slice(0, -1)
      .map(({ row }) => row)
      .sort(),
  );
  expect(await restoreAll()).toBe(60);
  expect(await receipts()).toEqual(before);
});
