// Promise: a sale finds its register by device, cashier, branch or group; those that must not sell get nothing.
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import type { PrismaService } from '#database';
import { createTestDatabase, type TestDatabase, testClient } from '#database/testing';
import { createLogger, newId } from '#runtime';
import { standStill } from '../../../../../libs/runtime/src/testing/stand-still.js';
import { untilTrue } from '../../../../../libs/runtime/src/testing/until.js';
import { ChooseDevice, type Routing } from './choose-device.js';
import { PlaceDirectory } from './place-directory.js';

const LOGGER = createLogger('test', 'silent');
let database: TestDatabase;
let prisma: PrismaService;
let merchantId: string;

beforeAll(async () => {
  database = await createTestDatabase();
  prisma = testClient(database.url, 4);
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

/** Nothing is cached yet, and no notices arrive. */
function newChooser(client = prisma): ChooseDevice {
  return new ChooseDevice(client, new PlaceDirectory(client, { DATABASE_URL: database.url }, LOGGER));
}

/** Every call on a new chooser. */
function choose(
  more: { cashier: string; branch?: string; deviceId?: string },
  by: ChooseDevice = newChooser(),
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
  expect(await choose({ cashier: 'no_such_cashier' })).toMatchObject({ kind: 'unknown', field: 'cashier_id' });
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

test('one that has never dialled in gets nothing, one that is away gets what no other device can take', async () => {
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
  const chooser = newChooser();
  const counts = new Map<string, number>();
  for (let index = 0; index < 40; index += 1) {
    const routing = await choose({ cashier: seller }, chooser);
    const { deviceId } = routing.kind === 'routed' ? routing.route : { deviceId: '' };
    counts.set(deviceId, (counts.get(deviceId) ?? 0) + 1);
  }
  expect([...counts].sort()).toEqual(idle.map((id) => [id, 20]).sort());
});

/** Statements that go out by this client. */
function counting(): { client: PrismaService; statements: () => number } {
  let statements = 0;
  const client = new Proxy(prisma, {
    get: (target, property, receiver): unknown => {
      if (['$queryRaw', 'queryHot', 'queryPlanned'].includes(String(property))) statements += 1;
      return Reflect.get(target, property, receiver);
    },
  });
  return { client, statements: () => statements };
}

test('sales that come together read the place once', async () => {
  const main = await branch('main');
  await device(main);
  const seller = await cashier(main);
  const { client, statements } = counting();
  const chooser = newChooser(client);
  const routings = await Promise.all(Array.from({ length: 200 }, () => choose({ cashier: seller }, chooser)));
  expect(routings.every(({ kind }) => kind === 'routed')).toBe(true);
  expect(statements()).toBe(2);
});

test('a thousand cashiers at a thousand devices of thirty branches, all at once and none in the cache: a few statements', async () => {
  const branches = await Promise.all(Array.from({ length: 30 }, (_, index) => branch(`b${index}`)));
  const sellers = Array.from({ length: 1_000 }, (_, index) => ({
    ...{
      cashier: `csh_${merchantId}_${index}`,
      device: `dev_${merchantId}_${index}`,
      branchId: branches[index % 30] ?? '',
    },
  }));
  await prisma.device.createMany({
    data: sellers.map(({ device: id, branchId }) => ({
      ...{ id, merchantId, branchId, name: id, baseUrl: 'http://127.0.0.1:9', apiKeySealed: new Uint8Array(1) },
    })),
  });
  await prisma.cashier.createMany({
    data: sellers.map(({ cashier: id, device: defaultDeviceId, branchId }, index) => {
      // Every tenth has no register of its own: one of the branch is chosen.
      return {
        id,
        merchantId,
        branchId,
        code: id,
        name: id,
        defaultDeviceId: index % 10 === 0 ? null : defaultDeviceId,
      };
    }),
  });
  const { client, statements } = counting();
  const chooser = newChooser(client);
  const routings = await Promise.all(sellers.map(({ cashier: seller }) => choose({ cashier: seller }, chooser)));
  routings.forEach((routing, index) => {
    const seller = sellers[index];
    if (index % 10 > 0) expect(routing).toMatchObject(to(seller?.device ?? ''));
    else expect(routing).toMatchObject({ kind: 'routed', route: { branchId: seller?.branchId } });
  });
  // Places, devices, branches, work: two statements at a time, of 500 questions at most.
  expect(statements()).toBeLessThanOrEqual(20);
});

describe('a change is seen at once, however long what was read before would be used', () => {
  let directory: PlaceDirectory;
  let chooser: ChooseDevice;
  let [main, far, own, other, seller, walker] = ['', '', '', '', '', ''];

  beforeEach(async () => {
    directory = new PlaceDirectory(prisma, { DATABASE_URL: database.url, ageMs: Infinity }, LOGGER);
    directory.onApplicationBootstrap();
    await untilTrue(() => Promise.resolve(directory.isListening), 'notices arrive');
    chooser = new ChooseDevice(prisma, directory);
    [main, far] = [await branch('main'), await branch('far')];
    [own, other] = [await device(main), await device(main)];
    seller = await cashier(main, own);
    expect(await choose({ cashier: seller }, chooser)).toMatchObject(to(own));
    walker = await cashier(main);
    expect(await choose({ cashier: walker, branch: 'new' }, chooser)).toMatchObject({ kind: 'unknown' });
    expect(await choose({ cashier: walker, branch: 'far' }, chooser)).toEqual({ kind: 'no_device' });
    // What was committed before is known by now.
    await untilTrue(async () => {
      const routing = await choose({ cashier: seller }, chooser);
      return routing.kind === 'routed' && routing.route.deviceId === own;
    }, 'it has settled');
  });

  afterEach(() => directory.onApplicationShutdown());

  const change = (data: Record<string, unknown>) => (): Promise<unknown> =>
    prisma.device.update({ where: { id: own }, data });

  test.each<[what: string, make: () => Promise<unknown>, expected: () => object]>([
    ['the device is drained', change({ drainingSince: new Date() }), () => to(other)],
    ['the device is away', change({ state: 'unreachable' }), () => to(other)],
    ['the device is disabled', change({ state: 'disabled' }), () => to(other)],
    ['the device is deleted', change({ deletedAt: new Date() }), () => to(other)],
    ['its profile says another rule', change({ profile: { vatRule: 'line' } }), () => ({ route: { vatRule: 'line' } })],
    [
      'the cashier gets another device',
      () => prisma.cashier.update({ where: { id: seller }, data: { defaultDeviceId: other } }),
      () => to(other),
    ],
    [
      'the cashier is archived',
      () => prisma.cashier.update({ where: { id: seller }, data: { archivedAt: new Date() } }),
      () => ({ kind: 'unknown', field: 'cashier_id' }),
    ],
  ])('%s', async (_what, make, expected) => {
    await make();
    await untilChosen({ cashier: seller }, expected());
  });

  test.each<[what: string, make: () => Promise<unknown>, at: string, expected: () => object]>([
    ['a branch is made', () => branch('new'), 'new', () => ({ kind: 'no_device' })],
    ['a branch gets a device', () => device(far), 'far', () => ({ kind: 'routed' })],
    [
      'a device moves to the branch',
      () => prisma.device.update({ where: { id: other }, data: { branchId: far } }),
      'far',
      () => to(other),
    ],
    [
      'the branch is archived',
      () => prisma.branch.update({ where: { id: far }, data: { archivedAt: new Date() } }),
      'far',
      () => ({ kind: 'unknown', field: 'branch_id' }),
    ],
  ])('%s', async (_what, make, at, expected) => {
    await make();
    await untilChosen({ cashier: walker, branch: at }, expected());
  });

  async function untilChosen(query: { cashier: string; branch?: string }, wanted: object): Promise<void> {
    const asked = async (): Promise<unknown> => choose(query, chooser);
    await untilTrue(async () => contains(await asked(), wanted), 'the change is seen');
  }

  test('by a gateway that has just stood still for six seconds, and has notices to read yet', async () => {
    const owner = new pg.Client({ connectionString: database.ownerUrl });
    await owner.connect();
    try {
      await owner.query("SELECT set_config('test.device', $1, false)", [own]);
      const changed = owner.query(`
        SELECT pg_sleep(1); UPDATE devices SET state = 'disabled' WHERE id = current_setting('test.device')`);
      await delay(200);
      standStill(6_000);
      expect(await choose({ cashier: seller }, chooser)).toMatchObject(to(other));
      await changed;
    } finally {
      await owner.end();
    }
  });

  test('what has not changed is not read again, whatever happens to other merchants and devices', async () => {
    const { client, statements } = counting();
    const quiet = new PlaceDirectory(client, { DATABASE_URL: database.url, ageMs: Infinity }, LOGGER);
    quiet.onApplicationBootstrap();
    await untilTrue(() => Promise.resolve(quiet.isListening), 'notices arrive');
    const chooses = new ChooseDevice(client, quiet);
    await choose({ cashier: seller }, chooses);
    const before = statements();
    await prisma.device.update({ where: { id: other }, data: { state: 'unreachable' } });
    await prisma.device.update({ where: { id: own }, data: { lastSeenAt: new Date(), name: 'Till' } });
    await untilTrue(
      async () => (await directory.device(merchantId, other))?.state === 'unreachable',
      'notices have arrived',
    );
    await choose({ cashier: seller }, chooses);
    expect(statements()).toBe(before);
    await quiet.onApplicationShutdown();
  });
});

/** Whether a part of it is as wanted. */
function contains(found: unknown, wanted: object): boolean {
  return Object.entries(wanted).every(([key, value]) => {
    const own = (found as Record<string, unknown>)[key];
    return typeof value === 'object' ? own !== undefined && contains(own, value as object) : own === value;
  });
}
