// Promise: a simulated payment is made once, however many ask at the same moment; old ones go; one merchant's are never another's.
import pg from 'pg';
import type { PrismaService } from '#database';
import { createTestDatabase, type TestDatabase, testClient } from '#database/testing';
import { newIdOf } from '#runtime';
import type { PaymentOrder, PaymentRef } from '#payments';
import { EmulatedProvider } from './emulated-provider.js';

const MERCHANT = 'mer_test_01jd3k5v8mzq4x7y9w2abcdefg';
const OTHER = 'mer_test_01jd3k5v8mzq4x7y9w2abcdefh';
let database: TestDatabase;
let prisma: PrismaService;
let client: pg.Client;

beforeAll(async () => {
  database = await createTestDatabase();
  prisma = testClient(database.url, 8);
  client = new pg.Client({ connectionString: database.ownerUrl });
  await client.connect();
});
afterAll(async () => {
  await client?.end();
  await prisma?.$disconnect();
  await database?.drop();
});

const provider = (): EmulatedProvider => new EmulatedProvider(MERCHANT, prisma);
const refOf = (ourRef: string): PaymentRef => ({
  ...{ ourRef, providerRef: null, flow: 'charge', amountTiyin: 5_000 },
  createdAtMs: Date.now(),
});
const pay = (ref: PaymentRef): ReturnType<EmulatedProvider['authorize']> =>
  provider().authorize({ amountTiyin: 5_000 } as PaymentOrder, { phone: null } as never, ref);

test('of many that ask at the same moment each gets the same answer', async () => {
  const ref = refOf(newIdOf('pay', MERCHANT));
  const answers = await Promise.all(Array.from({ length: 30 }, () => pay(ref)));
  for (const answer of answers) expect(answer).toMatchObject({ kind: 'status', status: 'captured' });
  expect(await prisma.emulatedPayment.count({ where: { paymentId: ref.ourRef } })).toBe(1);
});

test('old ones go with new ones, those of others stay', async () => {
  const insert = `INSERT INTO emulated_payments (payment_id, merchant_id, status, amount_tiyin) VALUES ($1, $2, 'captured', 1)`;
  const [old, foreign] = ['pay_test_01aaaaaaaaaaaaaaaaaaaaaaaa', 'pay_test_01aaaaaaaaaaaaaaaaaaaaaaab'];
  await client.query(insert, [old, MERCHANT]);
  await client.query(insert, [foreign, OTHER]);
  await pay(refOf(newIdOf('pay', MERCHANT)));
  const left = await prisma.emulatedPayment.findMany({ where: { paymentId: { in: [old, foreign] } } });
  expect(left.map(({ paymentId }) => paymentId)).toEqual([foreign]);
});

test('row-level security shows a merchant its own alone', async () => {
  const { rows } = await client.query<{ on: boolean; policies: string[] }>(`
    SELECT c.relrowsecurity AS on, array_agg(p.polname::text ORDER BY p.polname) AS policies
      FROM pg_class c JOIN pg_policy p ON p.polrelid = c.oid WHERE c.relname = 'emulated_payments' GROUP BY c.oid, c.relrowsecurity`);
  expect(rows).toEqual([{ on: true, policies: ['merchant', 'programs'] }]);
});
