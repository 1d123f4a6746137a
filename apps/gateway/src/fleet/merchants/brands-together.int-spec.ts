// Promise: what merchants read at the same moment is read for each of them alone, and out of its own share.
import 'reflect-metadata';
import { Prisma, PrismaService, withinMerchant, withinShare } from '#database';
import type { AuditedChange } from '../../audit/audited-change.js';
import { OperatorFixture } from '../../operator/testing/operator-fixture.js';
import { Brands } from './brands.js';

const HELD_MS = 2_000;
let gateway: OperatorFixture;
let pool: PrismaService;
let brands: Brands;
let first: string;
let second: string;

beforeAll(async () => {
  gateway = await OperatorFixture.start();
  const { url } = gateway.database;
  pool = new PrismaService({ url, poolSize: 4, applicationName: 'shared', lockTimeoutMs: 400, isShared: true });
  brands = new Brands(pool, {} as AuditedChange);
  [first, second] = [await gateway.createMerchant(), await gateway.createMerchant()];
  for (const merchantId of [first, second])
    await gateway.prisma.merchantBrand.create({ data: { merchantId, header: merchantId, footer: '', logo: null } });
});
afterAll(async () => {
  await pool?.$disconnect();
  await gateway?.stop();
});

function ofBoth(within: (merchantId: string, work: () => Promise<string>) => Promise<string>): Promise<string>[] {
  return [first, second].map((id) => within(id, async () => (await brands.get(id)).header));
}

test('each sees its own', async () => {
  expect(await Promise.all(ofBoth(withinMerchant))).toEqual([first, second]);
});

test('one whose connections hang holds up itself alone', async () => {
  const hang = (): Promise<unknown> => pool.queryHot(Prisma.sql`SELECT pg_sleep(${HELD_MS / 1_000}::float8)`);
  const held = [withinShare(first, hang), withinShare(first, hang)];
  const beganMs = performance.now();
  const [ofFirst, ofSecond] = ofBoth(withinShare);
  expect(await ofSecond).toBe(second);
  expect(performance.now() - beganMs).toBeLessThan(HELD_MS / 2);
  expect(await ofFirst).toBe(first);
  await Promise.all(held);
});
