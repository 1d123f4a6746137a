// Promise: what payments are compared, settled and routed by reads a bounded part of them, however many another merchant has waiting.
import type pg from 'pg';
import type { PrismaService } from '#database';
import { createTestDatabase, planOf, recorded, superuserOf, testClient, type TestDatabase } from '#database/testing';
import { DueComparisons, endedInTurn, heldInTurn } from './due-comparisons.js';
import { disagreementsOf } from './reconciliation.js';
import { countForPerson } from './repository/payments-for-person.js';
import { PaymentRouting } from './routing/payment-routing.js';
import { SettlementRepository } from './settlement/settlement.repository.js';

/** PLAN_ROWS=1000000 shows the same at a size that takes minutes to make. */
const ROWS = Number(process.env['PLAN_ROWS'] ?? 60_000);
let database: TestDatabase;
let client: pg.Client;

/** Half of all payments are held at one merchant for days; of the others each eleventh has not been compared, each hundredth waits. */
beforeAll(async () => {
  database = await createTestDatabase();
  client = await superuserOf(database);
  await client.query(`INSERT INTO merchants (id, code, name, tin)
    SELECT 'mer_' || n, 'm' || n, 'M', '300000000' FROM generate_series(0, 49) AS n`);
  await client.query(`INSERT INTO provider_accounts (id, merchant_id, provider, name, settings, credentials_sealed)
    SELECT 'pac_' || n, 'mer_' || n, 'payme', 'P', '{}', '\\x00' FROM generate_series(0, 49) AS n`);
  await client.query(
    `INSERT INTO receipts (id, merchant_id, client_id, operation, body_hash, type, status, device_id, document, total_tiyin,
                           vat_total_tiyin)
     SELECT 'rcp_' || lpad(n::text, 10, '0'), 'mer_' || m, 'cli_1', 'receipts', '', 'sale', 'rejected', 'dev_1', '{}', n, 0
       FROM generate_series(1, $1::int) AS n, LATERAL (SELECT CASE WHEN n % 2 = 0 THEN 0 ELSE n / 2 % 50 END AS m) AS whose`,
    [ROWS],
  );
  await client.query(
    `INSERT INTO payments (id, merchant_id, account_id, receipt_id, provider, flow, state, amount_tiyin, provider_ref, expires_at,
                           state_since, compared_at, captured_at, due_at)
     SELECT 'pay_' || lpad(n::text, 10, '0'), 'mer_' || m, 'pac_' || m, 'rcp_' || lpad(n::text, 10, '0'), 'payme', 'hold',
            (CASE WHEN n % 2 = 0 THEN 'authorized' ELSE 'captured' END)::payment_state, n, 'ref-' || n, now(), at,
            CASE WHEN n % 4 = 0 THEN at + interval '1 hour' WHEN n % 4 = 2 THEN NULL WHEN n % 22 <> 1 THEN at + interval '1 hour' END, CASE WHEN n % 2 = 1 THEN at END,
            CASE WHEN n % 200 = 3 THEN now() + interval '1 day' END
       FROM generate_series(1, $1::int) AS n, LATERAL (SELECT CASE WHEN n % 2 = 0 THEN 0 ELSE n / 2 % 50 END AS m) AS whose,
            LATERAL (SELECT '2026-01-01T00:00:00Z'::timestamptz + n * interval '30 days' / $1::int AS at) AS instant`,
    [ROWS],
  );
  await client.query(
    `INSERT INTO settlements (id, merchant_id, account_id, provider, format, day_from, day_to, report)
     SELECT 'stl_' || lpad(n::text, 10, '0'), 'mer_' || n % 1000, 'pac_' || n % 1000, 'payme', 'csv', '2026-01-01', '2026-01-01', '{}'
       FROM generate_series(1, 20000) AS n`,
  );
  await client.query(`UPDATE payments SET awaits_operator = true WHERE id <= 'pay_0000000005'`);
  await client.query('VACUUM ANALYZE');
});
afterAll(async () => {
  await client?.end();
  await database?.drop();
});

/** Those that grow with every sale; the others are small or empty here. */
const LARGE = new Set(['payments', 'receipts', 'settlements']);
const settlements = (prisma: PrismaService): SettlementRepository => new SettlementRepository(prisma, prisma);
const NONE_LEFT = { payments: [], accounts: [] };
const ALL_ACCOUNTS = { after: '', upTo: null, limit: 1_000 };
/** As many as are known at a time, all of them of one account. */
const SILENT = {
  payments: Array.from({ length: 1_000 }, (_, at) => `pay_${String(1_100 * at + 1).padStart(10, '0')}`),
  accounts: ['pac_3'],
};
const refs = Array.from({ length: 500 }, (_, at) => `ref-${String(2 * at + 1)}`);
const period = { from: '2026-01-10', to: '2026-01-10' };

test.each([
  ['held money to compare', heldInTurn(60, ALL_ACCOUNTS, NONE_LEFT), 600],
  ['ended payments to compare', endedInTurn(10, ALL_ACCOUNTS, NONE_LEFT), 600],
  ['ended payments, where most are left alone', endedInTurn(10, ALL_ACCOUNTS, SILENT), 1_600],
  [
    'a register by its references',
    recorded((prisma) => settlements(prisma).paymentsOf('pac_0', { providerRefs: refs, ourRefs: [] })),
    600,
  ],
  ['what was taken on a day', recorded((prisma) => settlements(prisma).taken('pac_7', period).next()), 1_001],
  [
    'registers of a merchant',
    recorded((prisma) => settlements(prisma).page('mer_7', { limit: 100, afterId: null })),
    101,
  ],
  [
    'a later page of them',
    recorded((prisma) => settlements(prisma).page('mer_7', { limit: 100, afterId: 'stl_0000010000' })),
    101,
  ],
  ['disagreements of a merchant', disagreementsOf('mer_7', { limit: 100, afterId: null }), 2_000],
  // Half of all are held, each hundredth waits for its worker, and the five of the test wait for a person.
  ['what waits for a person', recorded((prisma) => countForPerson(prisma)), 10],
  [
    'the rules of a merchant',
    recorded((prisma) => new PaymentRouting(prisma, {} as never, {} as never).find('mer_7')),
    1,
  ],
] as const)('%s', async (_name, statement, most) => {
  const { wholeTables, largest } = await planOf(client, statement);
  expect(wholeTables.filter((name) => LARGE.has(name))).toEqual([]);
  expect(largest).toBeLessThanOrEqual(most);
});

describe('what is compared next', () => {
  test.each(['ended', 'held'] as const)(
    '%s: each account has its turn, whatever another has waiting',
    async (which) => {
      const prisma = testClient(database.url);
      try {
        const due = new DueComparisons(prisma);
        const turns = new Map<string, number>();
        for (let statements = 0; statements < 26; statements += 1)
          for (const { account_id: account } of await due[which](60, 20, NONE_LEFT))
            turns.set(account, (turns.get(account) ?? 0) + 1);
        // All of the held ones are of one account; it is not given more at a time for that.
        if (which === 'held') expect([...turns]).toEqual([['pac_0', 26 * 5]]);
        else expect([turns.size, Math.max(...turns.values()) - Math.min(...turns.values())]).toEqual([50, 5]);
      } finally {
        await prisma.$disconnect();
      }
    },
  );

  test('one whose provider is silent has none, and takes none from the others', async () => {
    const prisma = testClient(database.url);
    try {
      const accounts = Array.from({ length: 49 }, (_, at) => `pac_${String(at + 1)}`);
      const found = await new DueComparisons(prisma).ended(60, 20, { payments: [], accounts });
      expect(new Set(found.map(({ account_id: account }) => account))).toEqual(new Set(['pac_0']));
      const [{ id = '' } = {}] = found;
      const next = await new DueComparisons(prisma).ended(60, 20, { payments: [id], accounts });
      expect([next.length, next.some((one) => one.id === id)]).toEqual([5, false]);
    } finally {
      await prisma.$disconnect();
    }
  });
});
