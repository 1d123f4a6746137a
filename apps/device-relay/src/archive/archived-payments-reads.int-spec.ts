// Promise: what the archive of payments reads does not grow with what has left, nor with the square of what is to leave.
import pg from 'pg';
import { archivedPaymentsWithin, type PaymentSpan } from '#ledger';
import { Prisma } from '#database';
import { openFolder } from '../../../../libs/ledger/src/testing/archive-places.js';
import { archives, at, withAttempts } from './testing/aged-attempts.js';
import { keepReceipts, newestReceipt } from './testing/aged-receipts.js';
import { insertPaidSale, insertPayment, openAccount, paymentIds } from './testing/aged-payments.js';

withAttempts(openFolder);
beforeEach(openAccount);

test('receipts of payments are read through once, however many archives the payments fill', async () => {
  for (let payment = 0; payment < 6; payment += 1) {
    const [sale = ''] = await insertPaidSale();
    await insertPayment({ sales: [sale] });
  }
  await newestReceipt();
  const name = new URL(at.database.url).pathname.slice(1);
  const admin = new pg.Client({ connectionString: at.database.adminUrl });
  await admin.connect();
  // A session of the keeper takes it over, and says what it has counted when it ends.
  await admin.query(`ALTER DATABASE ${name} SET track_functions = 'pl'`);
  try {
    const asked = async (): Promise<number> =>
      Number(
        (
          await admin.query(
            `SELECT sum(calls) AS n FROM pg_stat_user_functions WHERE funcname = 'receipts_that_may_leave'`,
          )
        ).rows[0]?.n ?? 0,
      );
    const before = await asked();
    await keepReceipts({ rowsAtOnce: 5, maxRows: 1 });
    expect(await paymentIds()).toEqual([]);
    expect(await archives()).toHaveLength(6);
    // Twelve receipts and the newest, in pages of five.
    expect((await asked()) - before).toBeLessThanOrEqual(3);
    expect((await asked()) - before).toBeGreaterThan(0);
  } finally {
    await admin.query(`ALTER DATABASE ${name} RESET track_functions`);
    await admin.end();
  }
});

test('whether payments of a time have left is read by an index, however many an account has there', async () => {
  await at.owner.query(`
    INSERT INTO archives (name, state) VALUES ('payments-x', 'removed');
    INSERT INTO archived_payments (id, merchant_id, account_id, created_at, captured_at, archive)
    SELECT 'pay_' || n, 'mer_1', 'pac_1', now() - make_interval(days => n), now() - make_interval(days => n), 'payments-x'
      FROM generate_series(1, 20000) AS n;
    ANALYZE archived_payments`);
  const [from, to] = [new Date(), new Date(Date.now() + 86_400_000)];
  const [merchant, account] = [
    { of: 'merchant_id', id: 'mer_1', by: 'created_at' },
    { of: 'account_id', id: 'pac_1' },
  ] as const;
  const spans: [PaymentSpan, string][] = [
    [{ ...merchant, from, to: null }, 'archived_payments_merchant_id_created_at_idx'],
    [{ ...merchant, from: null, to: new Date(0) }, 'archived_payments_merchant_id_created_at_idx'],
    [{ ...account, by: 'created_at', from, to }, 'archived_payments_account_id_created_at_idx'],
    [{ ...account, by: 'captured_at', from, to }, 'archived_payments_by_capture'],
  ];
  for (const [span, index] of spans) {
    let plan = '';
    const explain = async ({ text, values }: Prisma.Sql): Promise<never[]> => {
      await at.programs.query(`SET plan_cache_mode = force_generic_plan; DEALLOCATE ALL; PREPARE asked AS ${text}`);
      const given = values.map((value) =>
        pg.escapeLiteral(value instanceof Date ? value.toISOString() : String(value)),
      );
      const { rows } = await at.programs.query<{ 'QUERY PLAN': string }>(`EXPLAIN EXECUTE asked (${given.join(', ')})`);
      plan = rows.map((row) => row['QUERY PLAN']).join(' ');
      return [];
    };
    const database = {
      $queryRaw: (parts: TemplateStringsArray, ...values: unknown[]) => explain(Prisma.sql(parts, ...values)),
    };
    await archivedPaymentsWithin(database as unknown as Parameters<typeof archivedPaymentsWithin>[0], span);
    expect(plan).toContain(`Backward using ${index}`);
  }
  await at.programs.query('RESET plan_cache_mode');
});
