// Promise: what payments are compared, settled and routed by reads a bounded part of them, however many another merchant has waiting.
import pg from 'pg';
import type { PrismaService } from '#database';
import { createTestDatabase, planOf, recorded, type TestDatabase } from '#database/testing';
import type { OpenAccount } from './accounts/account-settings.js';
import type { ProviderAccounts } from './accounts/provider-accounts.js';
import { ComparePayments } from './compare-payments.js';
import type { ProviderClients } from './provider-clients.js';
import { disagreementsOf } from './reconciliation.js';
import type { PaymentRepository } from './repository/payment.repository.js';
import { PaymentRouting } from './routing/payment-routing.js';
import { SettlementRepository } from './settlement/settlement.repository.js';
import { createLogger } from '#runtime';

/** PLAN_ROWS=1000000 shows the same at a size that takes minutes to make. */
const ROWS = Number(process.env['PLAN_ROWS'] ?? 60_000);
let database: TestDatabase;
let client: pg.Client;

/** Half of all payments are held at one merchant for days; of the others each tenth has not been compared, each hundredth waits. */
beforeAll(async () => {
  database = await createTestDatabase();
  client = new pg.Client({ connectionString: database.adminUrl });
  await client.connect();
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
            CASE WHEN n % 4 = 0 THEN at + interval '1 hour' WHEN n % 4 = 2 THEN NULL WHEN n % 20 <> 1 THEN at + interval '1 hour' END, CASE WHEN n % 2 = 1 THEN at END,
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
  await client.query('VACUUM ANALYZE');
});
afterAll(async () => {
  await client?.end();
  await database?.drop();
});

/** Those that grow with every sale; the others are small or empty here. */
const LARGE = new Set(['payments', 'receipts', 'settlements']);
const logger = createLogger('test', 'silent');
const settlements = (prisma: PrismaService): SettlementRepository => new SettlementRepository(prisma, prisma);
const comparing = (prisma: PrismaService): ComparePayments =>
  new ComparePayments(
    prisma,
    {} as unknown as PaymentRepository,
    { open: (): Promise<OpenAccount | undefined> => Promise.resolve(undefined) } as unknown as ProviderAccounts,
    {} as unknown as ProviderClients,
    logger,
  );
const refs = Array.from({ length: 500 }, (_, at) => `ref-${String(2 * at + 1)}`);
const period = { from: '2026-01-10', to: '2026-01-10' };

test.each([
  ['held money to compare', recorded((prisma) => comparing(prisma).compareHeld(60)), 4_000],
  ['ended payments to compare', recorded((prisma) => comparing(prisma).compare(10)), 3_000],
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
