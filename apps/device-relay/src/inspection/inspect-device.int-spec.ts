// Promise: a register says who it is before it may work, and whatever keeps it from working is named; nothing is changed.
import { randomBytes } from 'node:crypto';
import { apiKeyOwner, type PrismaService } from '#database';
import { createTestDatabase, type TestDatabase, testClient } from '#database/testing';
import { OutgoingGuard, parseCidr } from '#outgoing';
import { createLogger, newId } from '#runtime';
import { parseKeyring, seal } from '#secrets';
import { answer, MisbehavingServer } from '../../../../libs/local-api/src/testing/misbehaving-server.js';
import { RegisterConnections } from '../devices/register-connections.js';
import { AdmitLinkedDevice } from './admit-linked-device.js';
import { InspectDevice } from './inspect-device.js';
import { InspectionRepository } from './inspection.repository.js';

const STATUS = {
  ...{ app: 'x', version: '1', systemVersion: '1', port: 1, fmInitialized: true, activated: true },
  ...{ subscriptionState: 'active', capabilities: ['idempotency', 'journal'], journalId: 'j-1' },
};
const INFO = {
  ...{ terminalId: 'UZ000000000001', version: '1', type: 1, receiptCount: 2, receiptMaxCount: 858, zreportCount: 3 },
  ...{ zreportMaxCount: 832, currentReceiptSeq: 70, AccumulatedSaleCash: 0, AccumulatedSaleCard: 0 },
  ...{ AccumulatedRefundCash: 0, AccumulatedRefundCard: 0, AccumulatedSaleVAT: 0, AccumulatedRefundVAT: 0 },
};
const BUSINESS = {
  success: true,
  business: {
    ...{ name: 'Shop', phone: '998', tin: '300000000', legal_address: 'L', actual_address: 'A' },
    has_warehouse_system: false,
  },
};
const BRANCH = { success: true, branch: { _id: 'b-1', address: 'Toshkent' } };
const EXPIRES = { 'X-Subscription-Expires-At': '2027-01-01T00:00:00.000Z' };

const keyring = parseKeyring(randomBytes(32).toString('base64'));
/** Answers by path; a text is sent as it is, null ends the connection. */
let answers: Record<string, string | null> = {};
let server: MisbehavingServer;
const NO_LINKS = {
  transportTo: (): never => {
    throw new Error('no register dials in here');
  },
};
let database: TestDatabase;
let prisma: PrismaService;
let rows: InspectionRepository;
let inspector: InspectDevice;
let merchantId: string;

beforeAll(async () => {
  database = await createTestDatabase();
  prisma = testClient(database.url, 3);
  server = new MisbehavingServer((socket, { head }) => {
    const path = /^GET (\S+)/.exec(head)?.[1] ?? '';
    const text = /x-api-key: right/i.test(head)
      ? (answers[path] ?? null)
      : answer(401, { success: false, error: { code: 'S-001', message: 'key' } });
    if (text === null) socket.destroy();
    else socket.write(text);
  });
  await server.listen();
  rows = new InspectionRepository(prisma);
  inspector = new InspectDevice(rows, (device) => {
    const loopback = parseCidr('127.0.0.0/8');
    if (loopback.kind === 'invalid') throw new Error(loopback.reason);
    const connections = new RegisterConnections(keyring, OutgoingGuard.forDevices([loopback.cidr]), NO_LINKS);
    return { register: connections.of(device), close: () => connections.close() };
  });
  merchantId = newId('mer');
  await prisma.merchant.create({ data: { id: merchantId, code: 'm', name: 'M', tin: '300000000' } });
  await prisma.branch.create({ data: { id: 'brn_1', merchantId, code: 'b', name: 'B' } });
});

afterAll(async () => {
  await server?.close();
  await prisma?.$disconnect();
  await database?.drop();
});

beforeEach(async () => {
  await prisma.device.deleteMany();
  answers = {
    '/status': answer(200, STATUS),
    '/fm/info': answer(200, INFO, EXPIRES),
    '/business': answer(200, BUSINESS, EXPIRES),
    '/branch': answer(200, BRANCH, EXPIRES),
  };
});

async function device(more: Record<string, unknown> = {}, key = 'right'): Promise<string> {
  const id = newId('dev');
  const apiKeySealed = new Uint8Array(seal(key, apiKeyOwner(id), keyring));
  const own = { id, merchantId, branchId: 'brn_1', name: 'Till', baseUrl: server.url, apiKeySealed };
  await prisma.device.create({ data: { ...own, profile: { callTimeoutMs: 1_000 }, ...more } });
  return id;
}

test('everything that it says of itself is learned', async () => {
  expect(await inspector.execute(await device())).toEqual({
    kind: 'ok',
    introduction: {
      ...{ terminalId: 'UZ000000000001', journalId: 'j-1', capabilities: ['idempotency', 'journal'] },
      subscriptionExpiresAt: '2027-01-01T00:00:00.000Z',
      business: {
        ...{ name: 'Shop', tin: '300000000', phone: '998', legalAddress: 'L', actualAddress: 'A' },
        ...{ branchId: 'b-1', branchAddress: 'Toshkent' },
      },
      reading: {
        ...{ terminalId: 'UZ000000000001', receiptSeq: 70, unsentReceipts: 2, maxUnsentReceipts: 858 },
        ...{ zReportsUsed: 3, zReportsMax: 832, unsentZReports: 0, shift: null, subscriptionState: 'active' },
        oldestUnsentAt: expect.stringMatching(/Z$/),
      },
    },
  });
});

const refusal = (code: string): string => answer(409, { success: false, error: { code, message: 'no' } });

test.each<[string, Record<string, string | null>, string]>([
  ['is not activated', { '/status': answer(200, { ...STATUS, activated: false }) }, 'E-001'],
  ['has no module', { '/status': answer(200, { ...STATUS, fmInitialized: false }) }, 'F-001'],
  ['has expired', { '/status': answer(200, { ...STATUS, subscriptionState: 'expired' }) }, 'E-002'],
  ['refuses a call', { '/fm/info': refusal('F-001') }, 'F-001'],
  [
    'is another taxpayer’s',
    { '/business': answer(200, { ...BUSINESS, business: { ...BUSINESS.business, tin: '3' } }) },
    'tin_mismatch',
  ],
  ['is a web site', { '/status': answer(200, '<html></html>') }, 'not_a_register'],
  ['leads elsewhere', { '/status': answer(302, '', { Location: 'http://127.0.0.1:1/' }) }, 'not_a_register'],
  ['knows no /branch', { '/branch': answer(404, 'nothing') }, 'not_a_register'],
  ['hangs up', { '/status': null }, 'unreachable'],
])('one that %s is refused', async (_what, changes, code) => {
  Object.assign(answers, changes);
  const id = await device();
  const before = JSON.stringify(await prisma.device.findMany());
  expect(await inspector.execute(id)).toMatchObject({ kind: 'failed', code });
  expect(JSON.stringify(await prisma.device.findMany())).toBe(before);
});

test('a wrong key, an address without a listener, and one outside the networks', async () => {
  expect(await inspector.execute(await device({}, 'wrong'))).toMatchObject({ code: 'S-001' });
  expect(await inspector.execute(await device({ baseUrl: 'http://127.0.0.1:9' }))).toMatchObject({
    code: 'unreachable',
  });
  expect(await inspector.execute(await device({ baseUrl: 'http://192.0.2.1' }))).toMatchObject({
    code: 'unreachable',
    detail: expect.stringContaining('outside DEVICE_ALLOWED_CIDRS') as unknown,
  });
});

test('a terminal that lives elsewhere, and another one than before', async () => {
  const taken = await device({ terminalId: 'UZ000000000001' });
  const id = await device();
  expect(await inspector.execute(id)).toMatchObject({ kind: 'failed', code: 'terminal_taken' });
  expect(await inspector.execute(taken)).toMatchObject({ kind: 'ok' });
  await prisma.device.update({ where: { id: taken }, data: { deletedAt: new Date() } });
  expect(await inspector.execute(id)).toMatchObject({ kind: 'ok' });
  const other = await device({ terminalId: 'UZ000000000002' });
  expect(await inspector.execute(other)).toMatchObject({ kind: 'failed', code: 'other_terminal' });
});

test('an address and key that are only tried are not the row’s', async () => {
  const id = await device({ baseUrl: 'http://127.0.0.1:9' }, 'wrong');
  const apiKeySealed = seal('right', apiKeyOwner(id), keyring).toString('base64');
  expect(await inspector.execute(id, { baseUrl: server.url, apiKeySealed })).toMatchObject({ kind: 'ok' });
});

test('a device that waited for its link is admitted, or blocked with the reason, once', async () => {
  const admit = new AdmitLinkedDevice(inspector, rows, createLogger('relay', 'silent'));
  // Reached over HTTP here: how it is reached is the transport's business.
  const waiting = { state: 'unreachable', stateReason: 'waiting for enrolment' };
  const [good, late] = [await device(waiting), await device(waiting)];
  expect(await admit.execute(good)).toMatchObject({ kind: 'ok' });
  expect(await prisma.device.findUnique({ where: { id: good } })).toMatchObject({
    ...{ state: 'online', stateReason: null, terminalId: 'UZ000000000001' },
  });
  for (let turn = 0; turn < 2; turn += 1) expect(await admit.execute(late)).toMatchObject({ code: 'terminal_taken' });
  expect(await prisma.device.findUnique({ where: { id: late } })).toMatchObject({ state: 'blocked', terminalId: null });
  const events = await prisma.event.findMany({ orderBy: { position: 'asc' } });
  expect(events.map(({ type, subjectId }) => [type, subjectId])).toEqual([
    ['device.online', good],
    ['device.blocked', late],
  ]);
  const silent = await device(waiting);
  answers['/status'] = null;
  expect(await admit.execute(silent)).toMatchObject({ code: 'unreachable' });
  expect(await prisma.device.findUnique({ where: { id: silent } })).toMatchObject({ state: 'unreachable' });
});

test.each([
  ['online', 'online'],
  ['expired', 'online'],
  ['disabled', 'disabled'],
])(
  'a device without a terminal, as one has that was adopted, is asked while it is %s: then it is %s',
  async (state, then) => {
    const admit = new AdmitLinkedDevice(inspector, rows, createLogger('relay', 'silent'));
    const id = await device({ state });
    await admit.executeIfWaiting(id);
    const terminalId = then === 'online' ? 'UZ000000000001' : null;
    expect(await prisma.device.findUnique({ where: { id } })).toMatchObject({ state: then, terminalId });
    expect(await admit.executeIfWaiting(id)).toBeNull();
  },
);

test('a device that dialled in is admitted, and gets nothing, where another merchant holds its terminal', async () => {
  const admit = new AdmitLinkedDevice(inspector, rows, createLogger('relay', 'silent'));
  const holder = newId('mer');
  await prisma.merchant.create({ data: { id: holder, code: holder, name: 'H', tin: '300000000' } });
  const terminalId = 'UZ000000000009';
  await prisma.terminal.create({ data: { terminalId, merchantId: holder, proof: 'challenge' } });
  answers['/fm/info'] = answer(200, { ...INFO, terminalId }, EXPIRES);
  const id = await device({ state: 'unreachable', stateReason: 'waiting for enrolment' });
  expect(await admit.executeIfWaiting(id)).toMatchObject({ kind: 'ok' });
  expect(await prisma.device.findUnique({ where: { id } })).toMatchObject({
    ...{ state: 'claimed_elsewhere', stateReason: expect.stringContaining('another merchant'), terminalId },
  });
  const events = await prisma.event.findMany({ where: { OR: [{ subjectId: id }, { merchantId: holder }] } });
  expect(events.map(({ type }) => type).sort()).toEqual(['device.claimed_elsewhere', 'device.terminal_contested']);
});

test('two relays that ask a device at the same time admit it once', async () => {
  const admit = new AdmitLinkedDevice(inspector, rows, createLogger('relay', 'silent'));
  const id = await device({ state: 'unreachable', stateReason: 'waiting for enrolment' });
  await Promise.all([admit.execute(id), admit.execute(id), admit.execute(id)]);
  expect(await prisma.device.findUnique({ where: { id } })).toMatchObject({ state: 'online' });
  expect((await prisma.event.findMany({ where: { subjectId: id } })).map(({ type }) => type)).toEqual([
    'device.online',
  ]);
});
