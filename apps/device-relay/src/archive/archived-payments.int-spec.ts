// Promise: an old payment leaves the database with all of its receipts, their refunds, its own refunds, transactions and further charges, in one transaction and when
// nothing of it can move, or it stays whole; its receipts' claims stay taken; whenever the keeper is killed, none is lost and none stands twice.
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { beginRestore, restoreRows } from '#ledger';
import { archiveIn, openFolder } from '../../../../libs/ledger/src/testing/archive-places.js';
import { ArchiveLag } from './archive-lag.js';
import {
  archives,
  at,
  keeper,
  keeperProgram,
  linesOf,
  restoreAll,
  run,
  runToEnd,
  withAttempts,
  writtenArchive,
} from './testing/aged-attempts.js';
import { ids, keepReceipts, newestReceipt, receipts } from './testing/aged-receipts.js';
import { insertPaidSale, insertPayment, openAccount, paymentIds, paymentRows } from './testing/aged-payments.js';
import { killRounds } from './testing/kill-rounds.js';

withAttempts(openFolder);
beforeEach(openAccount);

async function archived(of: 'payments' | 'receipts'): Promise<string[]> {
  const { rows } = await at.owner.query<{ id: string }>(`SELECT id FROM archived_${of} ORDER BY id`);
  return rows.map(({ id }) => id);
}

const registrations = async (): Promise<unknown[]> =>
  (await at.owner.query('SELECT * FROM registration_claims ORDER BY receipt_seq')).rows;

/** Without the triggers of receipts, as what is old is not written by the programs. */
const change = (statements: string): Promise<unknown> =>
  at.owner.query(`ALTER TABLE receipts DISABLE TRIGGER USER; ${statements}; ALTER TABLE receipts ENABLE TRIGGER USER`);

/** A payment for one sale with a refund. */
async function paid(): Promise<{ payment: string; sale: string; refund: string }> {
  const [sale = '', refund = ''] = await insertPaidSale();
  return { payment: await insertPayment({ sales: [sale] }), sale, refund };
}

test('a payment leaves with its receipts and all that hangs on it, and comes back as it was', async () => {
  const one = await paid();
  const members = [...(await insertPaidSale()), ...(await insertPaidSale())];
  const several = await insertPayment({ sales: members.filter((_, index) => index % 2 === 0) });
  await newestReceipt();
  const [before, sold, claimed] = [await paymentRows(), await receipts(), await registrations()];
  expect(before).toHaveLength(10);

  await keepReceipts({ rowsAtOnce: 1 });
  expect(await paymentRows()).toEqual([]);
  expect(await ids()).toHaveLength(1);
  expect(await archived('payments')).toEqual([one.payment, several].sort());
  expect(await archived('receipts')).toEqual([one.sale, one.refund, ...members].sort());
  expect(await registrations()).toEqual(claimed);
  const [archive, ...more] = await archives();
  expect(more).toEqual([]);
  expect(archive).toMatchObject({ state: 'removed', rows: 2, removed: 2 });
  expect(archive?.name).toMatch(/^payments-/);

  expect(await restoreAll()).toBe(2);
  expect(await restoreAll()).toBe(0);
  expect([await paymentRows(), await receipts(), await registrations()]).toEqual([before, sold, claimed]);
  // Brought back, they stay for thirty days; then the same archive takes them again.
  await keepReceipts();
  expect(await paymentRows()).toEqual(before);
  await at.owner.query(`UPDATE archives SET restored_at = now() - interval '31 days'`);
  await keepReceipts();
  expect(await paymentRows()).toEqual([]);
  expect(await ids()).toHaveLength(1);
  expect((await archives()).map(({ state }) => state)).toEqual(['removed']);
});

test('one that has no refund, transaction or charge leaves and comes back, too, beside others', async () => {
  const { payment } = await paid();
  const [bare = ''] = await insertPaidSale();
  const plain = await insertPayment({ sales: [bare] });
  await newestReceipt();
  for (const table of ['payment_refunds', 'provider_transactions', 'extra_charges'])
    await at.owner.query(`DELETE FROM ${table} WHERE payment_id = $1`, [plain]);
  const before = await paymentRows();
  await keepReceipts();
  expect(await archived('payments')).toEqual([payment, plain].sort());
  expect(await restoreAll()).toBe(2);
  expect(await paymentRows()).toEqual(before);
});

test('what came back of a time before a column has its default there', async () => {
  await paid();
  await newestReceipt();
  await keepReceipts();
  await at.owner.query(`
    ALTER TABLE payments ADD COLUMN added text NOT NULL DEFAULT 'new';
    ALTER TABLE payment_refunds ADD COLUMN added text NOT NULL DEFAULT 'new'`);
  try {
    expect(await restoreAll()).toBe(1);
    const { rows } = await at.owner.query('SELECT p.added, f.added AS of_refund FROM payments p, payment_refunds f');
    expect(rows).toEqual([{ added: 'new', of_refund: 'new' }]);
  } finally {
    await at.owner.query('ALTER TABLE payments DROP COLUMN added; ALTER TABLE payment_refunds DROP COLUMN added');
  }
});

const UNREGISTERED = 'receipt_seq = NULL, terminal_id = NULL, registered_at = NULL, ofd_status = NULL';
test('one whose id at its provider is another one’s by now does not come back, is named, and keeps no other away', async () => {
  const [one, two, three] = [await paid(), await paid(), await paid()];
  await newestReceipt();
  await keepReceipts();
  const [archive] = await archives();
  const name = String(archive?.name);
  const { rows: lines } = {
    rows: (await linesOf(name)).map(
      (line) =>
        JSON.parse(line) as Record<string, Record<string, string>[]> & { id: string; payment: Record<string, string> },
    ),
  };
  const refOf = (id: string): { payment?: string; charge?: string } => {
    const line = lines.find((each) => each.id === id);
    return { payment: line?.payment['provider_ref'], charge: line?.['extra_charges']?.[0]?.['provider_ref'] };
  };
  const [sale = ''] = await insertPaidSale(1);
  const now = await insertPayment({ sales: [sale], daysAgo: 1 });
  await at.owner.query('UPDATE payments SET provider_ref = $2 WHERE id = $1', [now, refOf(one.payment).payment]);
  await at.owner.query('UPDATE extra_charges SET provider_ref = $2 WHERE payment_id = $1', [
    now,
    refOf(two.payment).charge,
  ]);
  const refused: string[] = [];
  await beginRestore(run, name);
  expect(await restoreRows(run, name, await linesOf(name), (id) => refused.push(id))).toBe(1);
  expect(refused.sort()).toEqual([one.payment, two.payment]);
  expect(await paymentIds()).toEqual([three.payment, now]);
  const { rowCount } = await at.owner.query('SELECT FROM receipts WHERE id = ANY ($1)', [
    [one.sale, one.refund, two.sale, two.refund],
  ]);
  expect(rowCount).toBe(0);
});

const OF_PAYMENT = `WHERE id = (SELECT id FROM payments)`;

test.each<[string, string, string]>([
  ['is under way', `UPDATE payments SET state = 'refunding'`, `UPDATE payments SET state = 'refunded'`],
  ['waits for a worker', `UPDATE payments SET due_at = now()`, `UPDATE payments SET due_at = NULL`],
  ['is in work', `UPDATE payments SET lease_until = now()`, `UPDATE payments SET lease_until = created_at`],
  ['waits for a person', `UPDATE payments SET awaits_operator = true`, `UPDATE payments SET awaits_operator = false`],
  ['differs from its provider', `UPDATE payments SET discrepancy = '{}'`, `UPDATE payments SET discrepancy = NULL`],
  ['was changed lately', `UPDATE payments SET updated_at = now()`, `UPDATE payments SET updated_at = created_at`],
  ['was hinted at lately', `UPDATE payments SET hinted_at = now()`, `UPDATE payments SET hinted_at = created_at`],
  ['was moved lately', `UPDATE payments SET state_since = now()`, `UPDATE payments SET state_since = created_at`],
  ['has an open refund', `UPDATE payment_refunds SET state = 'requested'`, `UPDATE payment_refunds SET state = 'done'`],
  [
    'has an open charge',
    `UPDATE extra_charges SET finished_at = NULL`,
    `UPDATE extra_charges SET finished_at = created_at`,
  ],
  [
    'has a transaction that is begun',
    `UPDATE provider_transactions SET state = 1 WHERE is_live`,
    `UPDATE provider_transactions SET state = 2 WHERE is_live`,
  ],
  [
    'has a sale that is not registered',
    `UPDATE receipts SET status = 'cancelled', ${UNREGISTERED} WHERE payment_id IS NOT NULL`,
    `UPDATE payments SET state = 'voided'`,
  ],
  [
    'has a sale that its OFD does not have',
    `UPDATE receipts SET ofd_status = 'pending' WHERE payment_id IS NOT NULL`,
    `UPDATE receipts SET ofd_status = 'sent' WHERE payment_id IS NOT NULL`,
  ],
  [
    'has a refund that is unknown',
    `UPDATE receipts SET status = 'unknown', ${UNREGISTERED} WHERE refund_of IS NOT NULL`,
    `UPDATE receipts SET status = 'rejected' WHERE refund_of IS NOT NULL`,
  ],
  [
    'names a sale that is not here',
    `UPDATE payments SET further_receipts = '{rcp_gone}'`,
    `UPDATE payments SET further_receipts = '{}'`,
  ],
])('one that %s stays with all of its receipts, and leaves when that has ended', async (_, statement, end) => {
  await paid();
  await newestReceipt();
  // Moves that the programs never make.
  await change(
    `ALTER TABLE payments DISABLE TRIGGER USER; ALTER TABLE payment_refunds DISABLE TRIGGER USER; ${statement}`,
  );
  const [before, here] = [await paymentRows(), await ids()];
  await keepReceipts();
  expect([await paymentRows(), await ids(), await archives()]).toEqual([before, here, []]);
  await change(`${end}; ALTER TABLE payments ENABLE TRIGGER USER; ALTER TABLE payment_refunds ENABLE TRIGGER USER`);
  await keepReceipts();
  expect([await paymentRows(), await archived('receipts')]).toEqual([[], here.slice(0, -1)]);
});

test.each(['rejected', 'cancelled'])('one whose refund is %s leaves: its money waits for good', async (status) => {
  await paid();
  await newestReceipt();
  await change(`
    ALTER TABLE payments DISABLE TRIGGER USER; ALTER TABLE payment_refunds DISABLE TRIGGER USER;
    UPDATE receipts SET status = '${status}', ${UNREGISTERED} WHERE refund_of IS NOT NULL;
    UPDATE payment_refunds SET state = 'waiting', finished_at = NULL;
    ALTER TABLE payments ENABLE TRIGGER USER; ALTER TABLE payment_refunds ENABLE TRIGGER USER`);
  const here = await ids();
  await keepReceipts();
  expect([await paymentRows(), await archived('receipts')]).toEqual([[], here.slice(0, -1)]);
});

test('one whose refund still waits for its register stays', async () => {
  await paid();
  await newestReceipt();
  await change(`
    ALTER TABLE payment_refunds DISABLE TRIGGER USER;
    UPDATE payment_refunds SET state = 'waiting', finished_at = NULL;
    ALTER TABLE payment_refunds ENABLE TRIGGER USER`);
  const before = await paymentRows();
  await keepReceipts();
  expect(await paymentRows()).toEqual(before);
});

test.each<[string, string]>([
  ['the payment', `UPDATE payments SET reason = 'read again'`],
  ['a receipt', `UPDATE receipts SET ofd_error = 'read again' WHERE refund_of IS NOT NULL`],
  ['its refund', `UPDATE payment_refunds SET reason = 'read again'`],
  ['a transaction', `UPDATE provider_transactions SET fiscal_data = '{}' WHERE is_live`],
  ['a charge', `UPDATE extra_charges SET reason = 'read again'`],
])('%s of which has changed since its archive was written: all of it leaves with a newer one', async (_, statement) => {
  await paid();
  await newestReceipt();
  await writtenArchive('payments');
  await at.owner.query(statement);
  const changed = await paymentRows();
  const sold = await receipts();
  await keepReceipts();
  const [older, newer] = await archives();
  expect([older, newer]).toMatchObject([
    { state: 'removed', rows: 1, removed: 0 },
    { state: 'removed', rows: 1, removed: 1 },
  ]);
  for (const [archive, expected] of [
    [older, 0],
    [newer, 1],
  ] as const)
    expect([
      await beginRestore(run, String(archive?.name)),
      await restoreRows(run, String(archive?.name), await linesOf(String(archive?.name))),
    ]).toEqual([true, expected]);
  expect([await paymentRows(), await receipts()]).toEqual([changed, sold]);
});

test.each<[string, string]>([
  ['its payment', `SELECT FROM payments ${OF_PAYMENT} FOR UPDATE`],
  ['its sale', 'SELECT FROM receipts WHERE payment_id IS NOT NULL FOR NO KEY UPDATE'],
  ['a refund', 'SELECT FROM receipts WHERE refund_of IS NOT NULL FOR UPDATE'],
  ['money that went back', `UPDATE payment_refunds SET reason = 'other'`],
  ['a transaction', `UPDATE provider_transactions SET fiscal_data = '{}' WHERE is_live`],
  ['a charge', `UPDATE extra_charges SET reason = 'other'`],
])('what another transaction holds keeps all of it here, and no one waits: %s', async (_, statement) => {
  await paid();
  await newestReceipt();
  const before = [await paymentRows(), await receipts()];
  const other = new pg.Client({ connectionString: at.database.ownerUrl });
  await other.connect();
  try {
    await other.query('BEGIN');
    await other.query(statement);
    await keepReceipts();
    expect([await paymentRows(), await receipts()]).toEqual(before);
    // Its archive stands; what was not taken is in the next one.
    expect(await archives()).toMatchObject([{ state: 'removed', rows: 1, removed: 0 }]);
    await other.query('COMMIT');
  } finally {
    await other.end();
  }
  await keepReceipts();
  expect(await paymentRows()).toEqual([]);
});

test('one with more refunds than a line is to hold, over all of its sales, stays, and keeps no other here', async () => {
  const members = [...(await insertPaidSale()), ...(await insertPaidSale())];
  const many = await insertPayment({ sales: members.filter((_, index) => index % 2 === 0) });
  const one = await paid();
  await newestReceipt();
  await at.owner.query(
    `INSERT INTO receipts SELECT c.* FROM receipts r, generate_series(1, 100) AS n,
            jsonb_populate_record(NULL::receipts, to_jsonb(r) || jsonb_build_object('id', left(r.id, 20) || right(r.id, 4) || 'r' || lpad(n::text, 5, '0'),
              'status', 'rejected', 'receipt_seq', NULL, 'terminal_id', NULL, 'registered_at', NULL, 'ofd_status', NULL)) AS c
      WHERE r.id = ANY ($1) AND r.refund_of IS NOT NULL`,
    [members],
  );
  await keepReceipts();
  expect([await paymentIds(), await archived('payments')]).toEqual([[many], [one.payment]]);
});

test('who waits for a payment that is leaving finds none', async () => {
  const { payment } = await paid();
  await newestReceipt();
  const name = await writtenArchive('payments');
  const [line = ''] = await linesOf(name);
  const keeping = new pg.Client({ connectionString: at.database.url });
  await keeping.connect();
  await keeping.query('BEGIN');
  const { rows } = await keeping.query(
    `SELECT remove_archived_payments($1, $2, ARRAY[encode(sha256(convert_to($3, 'UTF8')), 'hex')]) AS removed`,
    [name, [payment], line],
  );
  expect(rows).toEqual([{ removed: 1 }]);
  const waiting = at.programs.query('SELECT FROM payments WHERE id = $1 FOR UPDATE', [payment]);
  await delay(100);
  await keeping.query('COMMIT');
  await keeping.end();
  expect((await waiting).rowCount).toBe(0);
});

test('the programs remove none by themselves, and of what is younger than 395 days none at all', async () => {
  await paid();
  await newestReceipt();
  const name = await writtenArchive('payments');
  for (const statement of [
    'DELETE FROM archived_payments',
    `UPDATE archived_payments SET archive = 'x'`,
    `INSERT INTO archived_payments SELECT id, merchant_id, account_id, NULL, created_at, NULL, '${name}' FROM payments`,
  ])
    await expect(at.programs.query(statement)).rejects.toThrow(/permission denied/);
  const [sale = ''] = await insertPaidSale(300);
  const young = await insertPayment({ sales: [sale], daysAgo: 300 });
  await newestReceipt();
  const remove = `
    SELECT remove_archived_payments($1, ARRAY[p.id], ARRAY[encode(sha256(convert_to(payment_line(p), 'UTF8')), 'hex')]) AS removed
      FROM payments p WHERE id = $2`;
  expect((await at.programs.query(remove, [name, young])).rows).toEqual([{ removed: 0 }]);
  await at.owner.query(`UPDATE archives SET state = 'removed'`);
  await expect(at.programs.query(remove, [name, young])).rejects.toThrow(/is not written/);
  expect(await paymentIds()).toContain(young);
});

test('how far the archive is behind says payments that may leave, and no others', async () => {
  const lag = new ArchiveLag('payments', 3_000);
  const { payment } = await paid();
  await newestReceipt();
  await at.owner.query('UPDATE payments SET due_at = now()');
  expect(await lag.read(run)).toBe(0);
  await at.owner.query('UPDATE payments SET due_at = NULL');
  expect(await lag.read(run)).toBeGreaterThan(9 * 86_400);
  expect(await paymentIds()).toEqual([payment]);
});

test('a keeper that is killed at any moment loses no payment and archives none twice', async () => {
  for (let nth = 0; nth < 30; nth += 1) await paid();
  await newestReceipt();
  const [before, sold] = [await paymentRows(), await receipts()];
  const all = await paymentIds();
  const killed = await killRounds(at.owner, keeperProgram(), async () => {
    // Each is here with all that is its own, or away with all of it, in an archive that is whole.
    const here = await paymentIds();
    const left = new Set(here);
    const { rows } = await at.owner.query<{ id: string; archive: string }>('SELECT id, archive FROM archived_payments');
    expect([...here, ...rows.map(({ id }) => id)].sort()).toEqual(all);
    expect(await paymentRows()).toHaveLength(5 * here.length);
    expect((await ids()).length).toBe(2 * here.length + 1);
    expect(rows.every(({ id }) => !left.has(id))).toBe(true);
    for (const archive of new Set(rows.map((row) => row.archive)))
      expect(await archiveIn(at.place.settings).check(archive)).toBe('whole');
  });
  expect(killed).toBeGreaterThan(0);
  // The server ends the session of a killed keeper when it notices; until then its lock stands.
  const deadline = Date.now() + 60_000;
  const last = keeper();
  while ((await paymentIds()).length > 0 && Date.now() < deadline) {
    await runToEnd(last);
    await delay(50);
  }
  await runToEnd(last);
  const lines = (await Promise.all((await archives()).map(({ name }) => linesOf(name)))).flat();
  expect(lines.map((line) => (JSON.parse(line) as { id: string }).id).sort()).toEqual(all);
  expect(await restoreAll()).toBe(30);
  expect([await paymentRows(), await receipts()]).toEqual([before, sold]);
});
