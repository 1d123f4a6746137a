// Promise: a statement that forgets its merchant finds nothing of others, in no table and by no pool; connections forget their merchant.
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { ReportDatabase, SalesDatabase, withinMerchant } from '#database';
import { newId } from '#runtime';
import { OWNERS, SHARED } from '../../../../../scripts/lib/row-security.mjs';
import { writeReceipt } from '../../receipts/search/testing/receipt-rows.js';
import { OperatorFixture } from '../testing/operator-fixture.js';

let fixture: OperatorFixture;
let merchantId: string;
let token: string;

beforeAll(async () => {
  fixture = await OperatorFixture.start();
});
beforeEach(async () => {
  merchantId = fixture.merchantId = await fixture.createMerchant();
  token = await fixture.createToken(merchantId, ['receipts:read']);
});
afterAll(() => fixture?.stop());

async function get(path: string): Promise<{ status: number; body: { data: unknown[] } }> {
  const response = await fetch(`${fixture.base}${path}`, { headers: { authorization: `Bearer ${token}` } });
  return { status: response.status, body: (await response.json()) as { data: unknown[] } };
}

describe('row-level security', () => {
  test('a statement that forgets its merchant finds nothing of others, in no table, by no pool', async () => {
    const stranger = await fixture.createMerchant();
    await fixture.createAttempt({}, stranger);
    await paidReceipt(stranger);
    const { rows } = await asOwner<{ name: string; is_on: boolean; has_merchant: boolean }>(
      `SELECT c.relname AS name, c.relrowsecurity AS is_on,
              EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'merchant_id') AS has_merchant
         FROM pg_class c WHERE c.relkind IN ('r', 'p') AND c.relnamespace = 'public'::regnamespace`,
    );
    // A new table has a merchant's id, or says in scripts/lib/row-security.mjs whose its rows are.
    expect(rows.filter(({ name, has_merchant: has }) => !has && !(name in OWNERS) && !SHARED.includes(name))).toEqual(
      [],
    );
    const secured = rows.filter(({ name }) => !SHARED.includes(name));
    expect(secured.filter(({ is_on: isOn }) => !isOn)).toEqual([]);
    const pools = [fixture.prisma, fixture.app.get(SalesDatabase), fixture.app.get(ReportDatabase)];
    const someMerchant = newId('mer');
    for (const { name } of secured) {
      for (const pool of pools) {
        const [found] = await withinMerchant(someMerchant, async () =>
          pool.$queryRawUnsafe<{ count: number }[]>(`SELECT count(*)::int4 AS count FROM ${name}`),
        );
        expect([name, found?.count]).toEqual([name, 0]);
      }
    }
    const own = await withinMerchant(
      stranger,
      async () => fixture.prisma.$queryRaw<{ merchant_id: string }[]>`SELECT DISTINCT merchant_id FROM receipts`,
    );
    expect(own).toEqual([{ merchant_id: stranger }]);
    const children = await withinMerchant(
      stranger,
      async () =>
        fixture.prisma.$queryRaw<{ calls: number; attempts: number }[]>`
        SELECT (SELECT count(*)::int4 FROM payment_calls) AS calls, (SELECT count(*)::int4 FROM attempts) AS attempts`,
    );
    expect(children).toEqual([{ calls: 1, attempts: 1 }]);
  });

  test('nothing is written for others; transactions keep their merchant, and connections forget it', async () => {
    const stranger = await fixture.createMerchant();
    const forged = withinMerchant(merchantId, async () =>
      fixture.prisma.branch.create({ data: { id: newId('brn'), merchantId: stranger, code: 'x', name: 'X' } }),
    );
    await expect(forged).rejects.toThrow(/row-level security/);
    const moved = await withinMerchant(
      merchantId,
      async () => fixture.prisma.$executeRaw`UPDATE branches SET name = 'mine' WHERE true`,
    );
    expect(moved).toBe(1);
    const names = await withinMerchant(merchantId, async () =>
      fixture.prisma.$transaction(async (tx) => {
        await tx.$executeRaw`UPDATE branches SET name = 'again' WHERE true`;
        return tx.branch.findMany({ select: { name: true } });
      }),
    );
    expect(names).toEqual([{ name: 'again' }]);
    const all = await Promise.all(
      Array.from({ length: 20 }, async () =>
        fixture.prisma.branch.count({ where: { id: { in: [branchOf(stranger), branchOf(merchantId)] } } }),
      ),
    );
    expect(new Set(all)).toEqual(new Set([2]));
  });

  test('merchants that ask at the same moment over few connections get each their own', async () => {
    const others = await Promise.all(Array.from({ length: 8 }, () => fixture.createMerchant()));
    const answers = await Promise.all(
      Array.from({ length: 400 }, async (_, index) => {
        const wanted = others[index % others.length] ?? '';
        const rows = await withinMerchant(wanted, async () => {
          if (index % 3 === 0) await delay(index % 7);
          return fixture.prisma.$queryRaw<{ id: string }[]>`SELECT id FROM merchants`;
        });
        return rows.length === 1 && rows[0]?.id === wanted;
      }),
    );
    expect(answers.every(Boolean)).toBe(true);
  });

  test('an error in such a statement leaves the connection usable, and the statement prepared or not as it was', async () => {
    for (let turn = 0; turn < 3; turn += 1) {
      const broken = withinMerchant(
        merchantId,
        async () => fixture.prisma.$queryRaw`SELECT 1 / (SELECT count(*) - 1 FROM merchants)`,
      );
      await expect(broken).rejects.toThrow(/division by zero/);
      const unknown = withinMerchant(merchantId, async () => fixture.prisma.$queryRaw`SELECT * FROM no_such_table`);
      await expect(unknown).rejects.toThrow(/no_such_table/);
      const fine = await withinMerchant(
        merchantId,
        async () => fixture.prisma.$queryRaw<{ id: string }[]>`SELECT id FROM merchants`,
      );
      expect(fine).toEqual([{ id: merchantId }]);
    }
  });

  test('what the API reads goes through it: without the merchant’s policy it finds nothing, while programs still write', async () => {
    const id = await writeReceipt(fixture.prisma, { merchantId });
    expect((await get(`/v1/receipts/${id}`)).status).toBe(200);
    await asOwner('ALTER POLICY merchant ON receipts USING (false)');
    try {
      expect((await get(`/v1/receipts/${id}`)).status).toBe(404);
      expect((await get('/v1/receipts')).body.data).toEqual([]);
      expect((await get(`/v1/receipts/${id}/timeline`)).status).toBe(404);
      const exported = await fetch(`${fixture.base}/v1/receipts/export`, {
        headers: { authorization: `Bearer ${token}` },
      });
      expect(await exported.text()).toBe('');
      await writeReceipt(fixture.prisma, { merchantId });
    } finally {
      await asOwner("ALTER POLICY merchant ON receipts USING (merchant_id = current_setting('fgw.merchant_id', true))");
    }
    expect((await get(`/v1/receipts/${id}`)).status).toBe(200);
  });
});

async function paidReceipt(of: string): Promise<void> {
  const receiptId = await writeReceipt(fixture.prisma, { merchantId: of });
  const [account, paymentId] = [of.replace('mer_', 'pac_'), newId('pay')];
  await fixture.prisma.$executeRaw`
    INSERT INTO provider_accounts (id, merchant_id, provider, name, settings, credentials_sealed)
    VALUES (${account}, ${of}, 'payme', 'P', '{}', '\\x00'::bytea)`;
  await fixture.prisma.$executeRaw`
    INSERT INTO payments (id, merchant_id, account_id, receipt_id, provider, flow, state, amount_tiyin, expires_at)
    VALUES (${paymentId}, ${of}, ${account}, ${receiptId}, 'payme', 'inbound', 'captured', 112000, now())`;
  await fixture.prisma
    .$executeRaw`INSERT INTO payment_calls (payment_id, call, lease_id) VALUES (${paymentId}, 'x', 'l')`;
}

function branchOf(id: string): string {
  return id.replace('mer_', 'brn_');
}

async function asOwner<Row extends pg.QueryResultRow>(statement: string): Promise<pg.QueryResult<Row>> {
  const owner = new pg.Client({ connectionString: fixture.database.ownerUrl });
  await owner.connect();
  try {
    return await owner.query<Row>(statement);
  } finally {
    await owner.end();
  }
}
