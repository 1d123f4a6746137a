// Promise: within one gateway no quota is exceeded, whatever comes at the same moment and whenever the counts are written; nothing is refused before.
import 'reflect-metadata';
import { setImmediate as turn } from 'node:timers/promises';
import type { PrismaService } from '#database';
import { createLogger } from '#runtime';
import { OperatorFixture } from '../../operator/testing/operator-fixture.js';
import { MerchantUsage } from './merchant-usage.js';
import { UsageRepository, type Standing } from './usage.repository.js';

const logger = createLogger('gateway', 'error', { write: () => undefined });
let fixture: OperatorFixture;
let prisma: PrismaService;

beforeAll(async () => {
  fixture = await OperatorFixture.start();
  prisma = fixture.prisma;
});
afterAll(() => fixture?.stop());

async function merchant(quotas: Record<string, number>): Promise<string> {
  const id = await fixture.createMerchant();
  await prisma.$executeRaw`UPDATE merchants SET quotas = ${JSON.stringify(quotas)}::jsonb WHERE id = ${id}`;
  return id;
}

/** Sales that come at once, and as they are written: some are lost on their way to the database. @returns how many were kept */
async function flood(
  usage: MerchantUsage,
  merchantId: string,
  { sales, bytes }: { sales: number; bytes: number },
): Promise<number> {
  const kept = await Promise.all(
    Array.from({ length: sales }, async (_, index) => {
      for (let pause = index % 9; pause > 0; pause -= 1) await turn();
      const place = await usage.admit(merchantId, bytes).catch(() => null);
      if (!place) return 0;
      for (let pause = index % 7; pause > 0; pause -= 1) await turn();
      if (index % 5 !== 0) place.keep();
      place.release();
      return index % 5 === 0 ? 0 : 1;
    }),
  );
  return kept.reduce<number>((sum, one) => sum + one, 0);
}

test('receipts a day: exactly so many, while counts are written', async () => {
  const merchantId = await merchant({ receipts_per_day: 120 });
  const usage = new MerchantUsage(new UsageRepository(prisma), prisma, logger);
  let isOver = false;
  const flushing = (async () => {
    while (!isOver) {
      await usage.flush();
      await turn();
    }
  })();
  let kept = 0;
  for (let round = 0; round < 12; round += 1) kept += await flood(usage, merchantId, { sales: 40, bytes: 10 });
  isOver = true;
  await flushing;
  await usage.flush();
  const [row] = await prisma.$queryRaw<{ receipts: number }[]>`
    SELECT sum(receipts)::int4 AS receipts FROM merchant_usage WHERE merchant_id = ${merchantId}`;
  expect([kept, row?.receipts]).toEqual([120, 120]);
  expect(usage.leftToday(merchantId)).toMatchObject({ limit: 120, left: 0 });
});

test('of three gateways each further one accepts at most a hundred more, however long the others have been at work', async () => {
  const merchantId = await merchant({ receipts_per_day: 300 });
  const gateways = Array.from({ length: 3 }, () => new MerchantUsage(new UsageRepository(prisma), prisma, logger));
  const accept = async (usage: MerchantUsage): Promise<boolean> => {
    const place = await usage.admit(merchantId, 10).catch(() => null);
    place?.keep();
    return place !== null;
  };
  // All have read how the merchant stands before a receipt was written.
  let kept = 0;
  for (const usage of gateways) kept += (await accept(usage)) ? 1 : 0;
  for (const usage of gateways) for (let sales = 0; sales < 400; sales += 1) kept += (await accept(usage)) ? 1 : 0;
  for (const usage of gateways) await usage.flush();
  expect(kept).toBeGreaterThanOrEqual(300);
  expect(kept).toBeLessThanOrEqual(300 + 2 * 100);
  for (const usage of gateways) expect(await accept(usage)).toBe(false);
});

test('storage: no byte above it, also of what is on its way to the database', async () => {
  const merchantId = await merchant({ storage_bytes: 1_000 });
  const usage = new MerchantUsage(new UsageRepository(prisma), prisma, logger);
  let kept = 0;
  for (let round = 0; round < 6; round += 1) {
    const writing = usage.flush();
    kept += await flood(usage, merchantId, { sales: 20, bytes: 30 });
    await writing;
  }
  expect(kept).toBe(33);
  await expect(usage.admit(merchantId, 30)).rejects.toMatchObject({ code: 'storage_limit_reached' });
  expect(await usage.admit(merchantId, 10)).toBeDefined();
});

test('what was read before the counts were written does not bring back what they took', async () => {
  const merchantId = await merchant({ receipts_per_day: 10 });
  const real = new UsageRepository(prisma);
  const held: (() => void)[] = [];
  let isSlow = false;
  const repository = {
    add: (used: Parameters<UsageRepository['add']>[0]) => real.add(used),
    read: async (id: string): Promise<Standing | null> => {
      const standing = await real.read(id);
      if (isSlow) await new Promise<void>((resolve) => held.push(resolve));
      return standing;
    },
  } as unknown as UsageRepository;
  const usage = new MerchantUsage(repository, prisma, logger);
  for (let index = 0; index < 10; index += 1) (await usage.admit(merchantId, 1)).keep();
  isSlow = true;
  const reading = usage.refresh(merchantId);
  while (held.length === 0) await turn();
  await usage.flush();
  for (const release of held) release();
  await reading;
  await expect(usage.admit(merchantId, 1)).rejects.toMatchObject({ code: 'quota_exceeded' });
});

describe('by the API', () => {
  async function post(path: string, body: unknown): Promise<[number, string]> {
    const headers = { authorization: `Bearer ${fixture.token}`, 'content-type': 'application/json' };
    const answer = await fetch(`${fixture.base}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    const { id = '', code = '' } = (await answer.json()) as { id?: string; code?: string };
    return [answer.status, answer.status < 300 ? id : code];
  }

  test('clients: exactly so many at once, and none by disabling and enabling', async () => {
    const merchantId = await merchant({});
    fixture.token = await fixture.createToken(merchantId, ['clients:admin', 'receipts:read']);
    const before = await prisma.oauthClient.count({ where: { merchantId, disabledAt: null } });
    await prisma.$executeRaw`
      UPDATE merchants SET quotas = jsonb_build_object('clients', ${before + 3}::int4) WHERE id = ${merchantId}`;
    const body = { name: 'C', scopes: ['receipts:read'], ip_policy: 'any' };
    const made = await Promise.all(Array.from({ length: 12 }, () => post('/v1/clients', body)));
    const ids = made.flatMap(([status, id]) => (status === 201 ? [id] : []));
    expect(ids).toHaveLength(3);
    expect(made.filter(([status]) => status !== 201)).toEqual(Array(9).fill([422, 'client_limit_reached']));
    expect(await post(`/v1/clients/${ids[0]}/disable`, {})).toEqual([200, ids[0]]);
    expect((await post('/v1/clients', body))[0]).toBe(201);
    expect(await post(`/v1/clients/${ids[0]}/enable`, {})).toEqual([422, 'client_limit_reached']);
    const events = await prisma.$queryRaw<{ type: string; count: number }[]>`
      SELECT type, count(*)::int4 AS count FROM events WHERE merchant_id = ${merchantId} AND type LIKE 'quota.%'
       GROUP BY type ORDER BY type`;
    expect(events).toEqual([
      { type: 'quota.reached', count: 1 },
      { type: 'quota.warning', count: 1 },
    ]);
  });

  test('registers: exactly so many at once', async () => {
    const merchantId = await merchant({ devices: 4 });
    fixture.token = await fixture.createToken(merchantId, ['devices:admin']);
    const way = { branch_id: 'main', transport: 'link', api_key: 'key-of-the-register' };
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) => post('/v1/devices', { ...way, name: `Till ${index}` })),
    );
    expect(answers.filter(([status]) => status === 201)).toHaveLength(4);
    expect(answers.filter(([status]) => status !== 201)).toEqual(Array(6).fill([422, 'device_limit_reached']));
  });
});
