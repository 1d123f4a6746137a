// Promise: a sale finds its register by device, cashier, branch or group; those that must not sell get nothing.
import { PrismaService } from '#database';
import { createTestDatabase, type TestDatabase } from '#database/testing';
import { newId } from '#runtime';
import { ChooseDevice, type Routing } from './choose-device.js';

let database: TestDatabase;
let prisma: PrismaService;
let merchantId: string;

beforeAll(async () => {
  database = await createTestDatabase();
  prisma = new PrismaService({ url: database.url, poolSize: 4, applicationName: 'test', lockTimeoutMs: 5_000 });
});

afterAll(async () => {
  await prisma?.$disconnect();
  await database?.drop();
});

beforeEach(async () => {
  merchantId = newId('mer');
  await prisma.merchant.create({ data: { id: merchantId, code: merchantId, name: 'M', tin: '300000000' } });
});

async function branch(code: string, defaultDeviceId: string | null = null): Promise<string> {
  const id = newId('brn');
  await prisma.branch.create({ data: { id, merchantId, code, name: code, defaultDeviceId } });
  return id;
}

async function group(): Promise<string> {
  const id = newId('grp');
  await prisma.deviceGroup.create({ data: { id, merchantId, code: id, name: id } });
  return id;
}

async function cashier(branchId: string | null, defaultDeviceId: string | null = null): Promise<string> {
  const id = newId('csh');
  await prisma.cashier.create({ data: { id, merchantId, branchId, code: id, name: 'C', defaultDeviceId } });
  return id;
}

async function device(branchId: string, more: Record<string, unknown> = {}): Promise<string> {
  const id = newId('dev');
  const own = { id, merchantId, branchId, name: id, baseUrl: 'http://127.0.0.1:9', apiKeySealed: new Uint8Array(1) };
  await prisma.device.create({ data: { ...own, ...more } });
  return id;
}

async function accepted(deviceId: string, count: number): Promise<void> {
  await prisma.$executeRaw`
    INSERT INTO receipts (id, merchant_id, client_id, operation, body_hash, type, status, lane_place, device_id, document,
                          total_tiyin, vat_total_tiyin)
    SELECT ${deviceId} || n, ${merchantId}, 'cli_1', 'receipts', '\\x00', 'sale', 'accepted', nextval('lane_place_seq'),
           ${deviceId}, '{}', 1, 0
      FROM generate_series(1, ${count}::int4) n`;
}

/** Every call on a new chooser: nothing is remembered. */
function choose(
  more: { cashier: string; branch?: string; deviceId?: string },
  by: ChooseDevice = new ChooseDevice(prisma),
): Promise<Routing> {
  return by.choose({ merchantId, cashier: more.cashier, branch: more.branch ?? null, deviceId: more.deviceId ?? null });
}

const to = (deviceId: string): object => ({ kind: 'routed', route: { deviceId } });

test('cashier’s device, else the branch’s default, else any of the branch, else one of its group elsewhere', async () => {
  const groupId = await group();
  const [main, far] = [await branch('main'), await branch('far')];
  const elsewhere = await device(far, { groupId });
  const lonely = await device(far);
  const [own, byDefault, other] = [await device(main, { groupId }), await device(main), await device(main)];
  await prisma.branch.update({ where: { id: main }, data: { defaultDeviceId: byDefault } });
  const seller = await cashier(main, own);
  const away = (id: string): Promise<unknown> =>
    prisma.device.update({ where: { id }, data: { state: 'unreachable' } });
  for (const expected of [own, byDefault, other, elsewhere]) {
    expect(await choose({ cashier: seller })).toMatchObject(to(expected));
    await away(expected);
  }
  expect(await choose({ cashier: seller })).not.toMatchObject(to(lonely));
  expect(await choose({ cashier: seller, deviceId: lonely })).toMatchObject(to(lonely));
});

test('a cashier is at another branch when the sale says so; archived branches and strangers are unknown', async () => {
  const [main, far] = [await branch('main'), await branch('far')];
  const [atMain, atFar] = [await device(main), await device(far)];
  const seller = await cashier(main);
  expect(await choose({ cashier: seller })).toMatchObject(to(atMain));
  expect(await choose({ cashier: seller, branch: 'far' })).toMatchObject(to(atFar));
  expect(await choose({ cashier: 'nobody' })).toMatchObject({ kind: 'unknown', field: 'cashier_id' });
  expect(await choose({ cashier: await cashier(null) })).toMatchObject({ kind: 'unknown', field: 'branch_id' });
  expect(await choose({ cashier: seller, deviceId: newId('dev') })).toMatchObject({
    kind: 'unknown',
    field: 'device_id',
  });
  await prisma.branch.update({ where: { id: far }, data: { archivedAt: new Date() } });
  expect(await choose({ cashier: seller, branch: 'far' })).toMatchObject({ kind: 'unknown', field: 'branch_id' });
});

test.each<[string, Record<string, unknown>]>([
  ['drained', { drainingSince: new Date() }],
  ['disabled', { state: 'disabled' }],
  ['replaced', { state: 'replaced' }],
])('one that is %s gets nothing, even when it is named', async (_what, more) => {
  const main = await branch('main');
  const id = await device(main, more);
  const seller = await cashier(main, id);
  expect(await choose({ cashier: seller })).toEqual({ kind: 'no_device' });
  expect(await choose({ cashier: seller, deviceId: id })).toEqual({ kind: 'no_device' });
});

test.each<[string, Record<string, unknown>]>([
  ['deleted', { deletedAt: new Date() }],
  ['only tried out', { registeredAt: null }],
])('one that is %s is not there', async (_what, more) => {
  const main = await branch('main');
  const id = await device(main, more);
  const seller = await cashier(main, id);
  expect(await choose({ cashier: seller })).toEqual({ kind: 'no_device' });
  expect(await choose({ cashier: seller, deviceId: id })).toMatchObject({ kind: 'unknown' });
});

test('one that has never dialled in gets nothing, one that is away gets what nobody else can take', async () => {
  const main = await branch('main');
  await device(main, { transport: 'link', baseUrl: null, state: 'unreachable' });
  const seller = await cashier(main);
  expect(await choose({ cashier: seller })).toEqual({ kind: 'no_device' });
  const away = await device(main, { state: 'unreachable' });
  expect(await choose({ cashier: seller })).toMatchObject(to(away));
});

test('the least work first; a burst within the second of a reading is spread evenly', async () => {
  const main = await branch('main');
  const busy = await device(main);
  const idle = [await device(main), await device(main)];
  await accepted(busy, 30);
  const seller = await cashier(main);
  const chooser = new ChooseDevice(prisma);
  const counts = new Map<string, number>();
  for (let index = 0; index < 40; index += 1) {
    const routing = await choose({ cashier: seller }, chooser);
    const { deviceId } = routing.kind === 'routed' ? routing.route : { deviceId: '' };
    counts.set(deviceId, (counts.get(deviceId) ?? 0) + 1);
  }
  expect([...counts].sort()).toEqual(idle.map((id) => [id, 20]).sort());
});

test('sales that come together read the place once', async () => {
  const main = await branch('main');
  await device(main);
  const seller = await cashier(main);
  let reads = 0;
  const counting = new Proxy(prisma, {
    get: (target, property, receiver): unknown => {
      if (property === '$queryRaw') reads += 1;
      return Reflect.get(target, property, receiver);
    },
  });
  const chooser = new ChooseDevice(counting);
  const routings = await Promise.all(Array.from({ length: 200 }, () => choose({ cashier: seller }, chooser)));
  expect(routings.every(({ kind }) => kind === 'routed')).toBe(true);
  expect(reads).toBe(2);
});
