// Promise: what a gateway asks of a register is done by one relay, also when the first one dies, and always answered.
import { DEVICE_TASK_DONE_CHANNEL, ChannelListener, type PrismaService, type DeviceTaskResult } from '#database';
import { createTestDatabase, type TestDatabase, testClient } from '#database/testing';
import { createLogger, newId } from '#runtime';
import { untilTrue } from '../../../../libs/runtime/src/testing/until.js';
import { DeviceTaskHandlers } from './device-task-handlers.js';
import { DeviceTaskRunner, DEVICE_TASK_TIMING } from './device-task-runner.js';
import { DeviceTaskRepository } from './device-task.repository.js';

const logger = createLogger('relay', 'error', { write: () => undefined });
const ok: DeviceTaskResult = { kind: 'ok', value: { done: true } };
let database: TestDatabase;
let prisma: PrismaService;
let deviceId: string;
const runners: DeviceTaskRunner[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  prisma = testClient(database.url, 6);
  deviceId = await createDevice();
});

/** Of a merchant of its own. */
async function createDevice(): Promise<string> {
  const [id, merchantId, branchId] = [newId('dev'), newId('mer'), newId('brn')];
  await prisma.merchant.create({ data: { id: merchantId, code: merchantId, name: 'M', tin: '300000000' } });
  await prisma.branch.create({ data: { id: branchId, merchantId, code: 'b', name: 'B' } });
  const own = { id, merchantId, branchId, name: 'Till', baseUrl: 'http://127.0.0.1:9' };
  await prisma.device.create({ data: { ...own, apiKeySealed: new Uint8Array(1) } });
  return id;
}

afterEach(async () => {
  await Promise.all(runners.splice(0).map((runner) => runner.stop()));
  await prisma.deviceTask.deleteMany();
});

afterAll(async () => {
  await prisma?.$disconnect();
  await database?.drop();
});

interface Left {
  expiresInSeconds?: number;
  state?: string;
  leaseInSeconds?: number;
  device?: string;
}

async function leave(kind: string, more: Left = {}) {
  const id = newId('tsk');
  const { expiresInSeconds = 60, state = 'waiting', leaseInSeconds = null, device = deviceId } = more;
  await prisma.$executeRaw`
    INSERT INTO device_tasks (id, device_id, kind, actor, state, expires_at, lease_until, relay_id)
    VALUES (${id}, ${device}, ${kind}, 'cli_1', ${state}::device_task_state,
            now() + make_interval(secs => ${expiresInSeconds}::float8),
            now() + make_interval(secs => ${leaseInSeconds}::float8), 'another')`;
  return id;
}

function relay(
  run: (taskId: string) => Promise<DeviceTaskResult>,
  timing: Partial<typeof DEVICE_TASK_TIMING> = {},
): DeviceTaskRunner {
  const handlers = new DeviceTaskHandlers();
  handlers.add({ kind: 'check', run: ({ id }) => run(id) });
  const rows = new DeviceTaskRepository(prisma, newId('rly'));
  const runner = new DeviceTaskRunner(rows, handlers, logger, { ...DEVICE_TASK_TIMING, pollMs: 50, ...timing });
  runners.push(runner);
  runner.start();
  return runner;
}

const rowOf = (id: string) => prisma.deviceTask.findUniqueOrThrow({ where: { id } });
const isDone = async (id: string): Promise<boolean> => (await rowOf(id)).state === 'done';

test('each task is done once, by one of two relays, and its end is published', async () => {
  const notified: string[] = [];
  const listener = new ChannelListener(
    {
      databaseUrl: database.url,
      applicationName: 'test',
      channel: DEVICE_TASK_DONE_CHANNEL,
      onNotice: (id) => notified.push(id),
      onListening: () => void notified.push('listening'),
    },
    logger,
  );
  listener.start();
  await untilTrue(() => notified.length > 0, 'the listener listens');
  const ids = await Promise.all(Array.from({ length: 40 }, () => leave('check')));
  const ran: string[] = [];
  const run = (id: string): Promise<DeviceTaskResult> => Promise.resolve(ok).finally(() => ran.push(id));
  relay(run);
  relay(run);
  await untilTrue(() => notified.length > 40, 'all are notified');
  await listener.stop();
  expect([...ran].sort()).toEqual([...ids].sort());
  expect(
    (await prisma.deviceTask.findMany()).every(({ result }) => JSON.stringify(result) === JSON.stringify(ok)),
  ).toBe(true);
});

test('a lease that ran out is taken over; one that is kept is not', async () => {
  const [lost, held] = [
    await leave('check', { state: 'running', leaseInSeconds: -1 }),
    await leave('check', { state: 'running', leaseInSeconds: 60 }),
  ];
  relay(() => Promise.resolve(ok));
  await untilTrue(() => isDone(lost), 'the lost one is done');
  expect(await isDone(held)).toBe(false);
});

test('a long task keeps its lease', async () => {
  let finish: () => void = () => undefined;
  const id = await leave('check');
  const ran: string[] = [];
  const run = (taskId: string): Promise<DeviceTaskResult> => {
    ran.push(taskId);
    return new Promise((resolve) => {
      finish = () => resolve(ok);
    });
  };
  relay(run, { leaseMs: 600 });
  relay(run, { leaseMs: 600 });
  await untilTrue(() => ran.length > 0, 'it is begun');
  const first = (await rowOf(id)).leaseUntil?.getTime() ?? 0;
  await untilTrue(async () => ((await rowOf(id)).leaseUntil?.getTime() ?? 0) > first + 600, 'its lease is longer');
  finish();
  await untilTrue(() => isDone(id), 'it is done');
});

test('a task not begun in time, or of an unknown kind, is closed as failed', async () => {
  const [late, unknown] = [
    await leave('check', { expiresInSeconds: -1 }),
    await leave('no_such_kind', { expiresInSeconds: -1 }),
  ];
  const newer = await leave('no_such_kind');
  let ran = 0;
  relay(() => {
    ran += 1;
    return Promise.resolve(ok);
  });
  await untilTrue(async () => (await isDone(late)) && (await isDone(unknown)), 'both are closed');
  expect((await rowOf(late)).result).toMatchObject({ kind: 'failed', code: 'expired' });
  // A newer relay may know it.
  expect((await rowOf(newer)).state).toBe('waiting');
  expect(ran).toBe(0);
});

test('a handler that throws is a failure, not a silence; the next task goes on', async () => {
  const [bad, good] = [await leave('check'), await leave('check')];
  relay((id) => (id === bad ? Promise.reject(new Error('surprise')) : Promise.resolve(ok)));
  await untilTrue(async () => (await isDone(bad)) && (await isDone(good)), 'both are done');
  expect((await rowOf(bad)).result).toMatchObject({ kind: 'failed', code: 'internal' });
});

test('no more than its places at a time, and all in the end', async () => {
  const ids = await Promise.all(Array.from({ length: 12 }, () => leave('check')));
  let now = 0;
  let most = 0;
  relay(
    async () => {
      now += 1;
      most = Math.max(most, now);
      await new Promise((resolve) => setTimeout(resolve, 5));
      now -= 1;
      return ok;
    },
    { concurrency: 3 },
  );
  await untilTrue(
    async () => (await prisma.deviceTask.count({ where: { state: 'done' } })) === ids.length,
    'all are done',
  );
  expect(most).toBeLessThanOrEqual(3);
});

test('registers that never answer take their merchants’ shares; another merchant’s task is done at once', async () => {
  const [flooding, alsoFlooding, other] = [deviceId, await createDevice(), await createDevice()];
  const stuck = new Map<string, (result: DeviceTaskResult) => void>();
  const others = new Set<string>();
  relay((id) => (others.has(id) ? Promise.resolve(ok) : new Promise((resolve) => void stuck.set(id, resolve))));
  const flood = [flooding, alsoFlooding].flatMap((device) => Array.from({ length: 20 }, () => ({ device })));
  await Promise.all(flood.map((each) => leave('check', { ...each, expiresInSeconds: 600 })));
  await untilTrue(() => stuck.size === 24, 'two merchants have twelve tasks each');
  for (let asked = 0; asked < 5; asked += 1) {
    const id = newId('tsk');
    others.add(id);
    await prisma.deviceTask.create({
      data: { id, deviceId: other, kind: 'check', actor: 'cli_1', expiresAt: new Date(Date.now() + 600_000) },
    });
    await untilTrue(() => isDone(id), 'the other merchant’s task is done');
  }
  // Not because the flood had come to its end.
  expect(stuck.size).toBe(24);
  for (const finish of stuck.values()) finish(ok);
  await untilTrue(() => stuck.size === 40, 'the others of the flood have their turn');
  for (const finish of stuck.values()) finish(ok);
  await untilTrue(async () => (await prisma.deviceTask.count({ where: { state: 'done' } })) === 45, 'all are done');
});

test('the last places are for merchants that have none', async () => {
  const rows = new DeviceTaskRepository(prisma, newId('rly'));
  const devices = [deviceId, await createDevice(), await createDevice()];
  for (const device of devices) for (let at = 0; at < 4; at += 1) await leave('check', { device });
  const places = { free: 5, share: 3, reserved: 2, leaseMs: 60_000 };
  const claim = async (free: number) => {
    const claimed = await rows.claim(['check'], { ...places, free });
    return devices.map((device) => claimed.filter((task) => task.deviceId === device).length);
  };
  // In turn, as far as no reserved place is needed for it.
  expect(await claim(5)).toEqual([1, 1, 1]);
  expect(await claim(2)).toEqual([0, 0, 0]);
  const [late] = [await createDevice()];
  devices.push(late);
  await leave('check', { device: late });
  expect(await claim(2)).toEqual([0, 0, 0, 1]);
});

test('done tasks are deleted after a day', async () => {
  const [old, young] = [await leave('check', { state: 'done' }), await leave('check', { state: 'done' })];
  await prisma.$executeRaw`UPDATE device_tasks SET finished_at = now() - interval '25 hours' WHERE id = ${old}`;
  await prisma.$executeRaw`UPDATE device_tasks SET finished_at = now() - interval '23 hours' WHERE id = ${young}`;
  relay(() => Promise.resolve(ok));
  await untilTrue(async () => (await prisma.deviceTask.count({ where: { id: old } })) === 0, 'the old one is gone');
  expect(await prisma.deviceTask.count({ where: { id: young } })).toBe(1);
});
