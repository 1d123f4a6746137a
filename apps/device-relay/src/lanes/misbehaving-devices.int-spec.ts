// Promise: whatever answers at a register's address, its lane neither hangs nor half does anything, and says what is wrong.
import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { apiKeyOwner } from '#database';
import { OutgoingGuard, parseCidr } from '#outgoing';
import { createLogger, systemClock } from '#runtime';
import { parseKeyring, seal } from '#secrets';
import { answer, MisbehavingServer, type Reaction } from '../../../../libs/local-api/src/testing/misbehaving-server.js';
import { untilTrue } from '../../../../libs/runtime/src/testing/until.js';
import { RegisterConnections } from '../devices/register-connections.js';
import { AdvisoryLaneLocks } from './advisory-lane-locks.js';
import type { DrainLane, Drained } from './drain-lane.js';
import { later } from '../shares/places.js';
import { joinLane } from './join-lane.js';
import { answersInMemory } from './testing/answers-in-memory.js';
import { LaneRows } from './testing/lane-rows.js';
import type { LaneRepository } from './lane.repository.js';
import { INFO, NO_LINKS, RECEIPT, SALE, STATUS } from './testing/register-answers.js';

/** Of calls that a test lets run out; whatever is to be answered in time has far longer. */
const DEADLINE_MS = 400;
const PATIENT_MS = 20_000;
const keyring = parseKeyring(randomBytes(32).toString('base64'));
const logger = createLogger('test', 'silent');

const drip: Reaction = (socket) => {
  socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n');
  const timer = setInterval(() => socket.write(' '), 20);
  socket.on('close', () => clearInterval(timer));
};

const flood: Reaction = (socket) => {
  socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
  let megabytes = 0;
  const pump = (): void => {
    megabytes += 1;
    if (!socket.destroyed && megabytes <= 100) socket.write(`100000\r\n${' '.repeat(1 << 20)}\r\n`, pump);
  };
  pump();
};

const KINDS: readonly [name: string, react: Reaction][] = [
  ['says nothing', () => undefined],
  ['closes', (socket) => socket.destroy()],
  ['does not speak HTTP', (socket) => socket.end('SSH-2.0-OpenSSH_9.2\r\n')],
  ['answers with HTML', (socket) => socket.write(answer(200, '<html>Router</html>', { 'Content-Type': 'text/html' }))],
  ['drips', drip],
  ['answers with 100 MB', flood],
  ['redirects', (socket) => socket.write(answer(302, '', { Location: 'http://127.0.0.1/' }))],
  ['answers 500', (socket) => socket.write(answer(500, 'oops'))],
  ['says true and false at once', (socket) => socket.write(answer(500, SALE))],
];
/** However slow the machine is, a connection is waited for. */
const neverLater = (): (() => void) => () => undefined;
let rows: LaneRows;
let locks: AdvisoryLaneLocks;
let server: MisbehavingServer;
let react: Reaction;
let lane: DrainLane;
let registers: RegisterConnections;

beforeAll(async () => {
  rows = await LaneRows.start();
  locks = new AdvisoryLaneLocks({ databaseUrl: rows.database.url, relayId: 'rly_ours' }, logger);
  locks.onApplicationBootstrap();
  await untilTrue(() => locks.isConnected, 'the session for locks');
});

afterAll(async () => {
  await locks?.onApplicationShutdown();
  await rows?.stop();
});

beforeEach(async () => {
  await rows.clear();
  react = () => undefined;
  server = new MisbehavingServer((socket, request, self) => react(socket, request, self));
  await standAt(await server.listen());
  const loopback = parseCidr('127.0.0.0/8');
  registers = new RegisterConnections(
    keyring,
    OutgoingGuard.forDevices(loopback.kind === 'ok' ? [loopback.cidr] : []),
    NO_LINKS,
  );
  const answers = answersInMemory(rows.ours, delay);
  const world = { store: rows.ours, locks, registers, notices: { notify: () => undefined }, answers };
  lane = joinLane(world, { clock: systemClock, logger, random: Math.random, later });
});

afterEach(async () => {
  registers.close();
  await server.close();
});

async function standAt(
  baseUrl: string,
  { sendTimeoutMs = PATIENT_MS, callTimeoutMs = PATIENT_MS } = {},
): Promise<void> {
  const profile = { sendTimeoutMs, callTimeoutMs, pacingMs: 0, settleMs: 0 };
  await rows.sql.query("UPDATE devices SET transport = 'http', base_url = $1, api_key_sealed = $2, profile = $3", [
    baseUrl,
    seal('key', apiKeyOwner(rows.deviceId), keyring),
    JSON.stringify(profile),
  ]);
}

/**
 * A drain that outlives its deadlines by far has hung. On a machine that stood still for a second the send guard stops the bytes, and the
 * relay reads the lane again: so does this.
 */
async function drain(): Promise<Drained> {
  await rows.sql.query('UPDATE lanes SET due_at = NULL');
  const hung = new AbortController();
  const deadline = delay(20_000, undefined, { signal: hung.signal }).then(
    () => Promise.reject(new Error('the drain hangs')),
    () => ({ kind: 'idle' as const }),
  );
  const untilNoMore = async (): Promise<Drained> => {
    const drained = await lane.drain(rows.deviceId);
    return drained.kind === 'more' ? untilNoMore() : drained;
  };
  const drained = await Promise.race([untilNoMore(), deadline]);
  hung.abort();
  return drained;
}

async function expectUntouched(receiptId: string): Promise<void> {
  expect(await rows.receipt(receiptId)).toMatchObject({ status: 'accepted' });
  expect(await rows.one('SELECT count(*)::int AS n FROM attempts')).toEqual({ n: 0 });
  const device = await rows.one<{ state: string; state_reason: string }>('SELECT state, state_reason FROM devices');
  expect(device.state).toBe('unreachable');
  expect(device.state_reason).toMatch(/^GET \/status: ./);
  expect(await rows.lane()).toMatchObject({ failures: 1, due_at: expect.any(Date), due_reason: device.state_reason });
}

test.each(KINDS)('a device that %s is unreachable and says so; nothing was begun', async (_name, behave) => {
  react = behave;
  await standAt(server.url, { callTimeoutMs: DEADLINE_MS });
  const receiptId = await rows.createReceipt();
  expect(await drain()).toMatchObject({ kind: 'wait' });
  await expectUntouched(receiptId);
});

test.each([
  ['no listener', (url: string) => url.replace(/:\d+$/, ':1')],
  ['TLS is broken', (url: string) => url.replace('http:', 'https:')],
  ['the name does not resolve', () => 'http://nowhere.invalid:80'],
  ['its network is not allowed', () => 'http://192.0.2.1:80'],
])('where %s the device is unreachable and says so; nothing was begun', async (_name, urlOf) => {
  await standAt(urlOf(server.url), { callTimeoutMs: DEADLINE_MS });
  const receiptId = await rows.createReceipt();
  expect(await drain()).toMatchObject({ kind: 'wait' });
  await expectUntouched(receiptId);
});

test.each(KINDS)('a device that %s over the receipt: it stays open, and ends once, whole', async (_name, behave) => {
  let isMended = false;
  react = (socket, request, self) => {
    const path = request.head.split(' ')[1];
    if (path === '/status') socket.write(answer(200, STATUS));
    else if (path === '/fm/info') socket.write(answer(200, INFO));
    else if (isMended) socket.write(answer(200, SALE));
    else behave(socket, request, self);
  };
  await standAt(server.url, { sendTimeoutMs: DEADLINE_MS });
  const receiptId = await rows.createReceipt();
  expect(await drain()).toMatchObject({ kind: 'wait' });
  expect(await rows.receipt(receiptId)).toMatchObject({ status: 'sending', receipt_seq: null });
  expect(await rows.one('SELECT state::text, count(*)::int AS n FROM attempts GROUP BY state')).toEqual({
    state: 'open',
    n: 1,
  });
  isMended = true;
  await standAt(server.url);
  await drain();
  expect(await rows.receipt(receiptId)).toMatchObject({ status: 'registered', receipt_seq: '41' });
  expect(await rows.one('SELECT state::text, count(*)::int AS n FROM attempts GROUP BY state')).toEqual({
    state: 'registered',
    n: 1,
  });
  expect(await rows.events()).toEqual(expect.arrayContaining(['receipt.registered']));
  // The same bytes under the same key each time.
  const sent = server.requests.filter(({ head }) => head.startsWith('POST'));
  expect(sent.length).toBeGreaterThan(1);
  expect(new Set(sent.map(({ body }) => body)).size).toBe(1);
  expect(new Set(sent.map(({ head }) => /idempotency-key: (.*)/i.exec(head)?.[1]))).toEqual(new Set([receiptId]));
});

test('a register that closes its connection without a word between two receipts is not away: both are sold, at once', async () => {
  let sequence = INFO.currentReceiptSeq;
  react = (socket, request) => {
    const path = request.head.split(' ')[1];
    if (path === '/receipts') sequence += 1;
    const info = { ...INFO, currentReceiptSeq: sequence };
    const sale = { ...SALE, receipt: { ...RECEIPT, receiptSeq: sequence } };
    socket.write(answer(200, path === '/status' ? STATUS : path === '/fm/info' ? info : sale));
  };
  let together = 0;
  // The register closes while the result of the one and the intent of the next are written.
  const store = Object.create(rows.ours, {
    closeAndOpen: {
      value: async (...both: Parameters<LaneRepository['closeAndOpen']>) => {
        together += 1;
        server.endConnections();
        await untilTrue(() => server.openConnections === 0, 'the connections are closed');
        return rows.ours.closeAndOpen(...both);
      },
    },
  }) as LaneRepository;
  const world = {
    store,
    locks,
    registers,
    notices: { notify: () => undefined },
    answers: answersInMemory(store, delay),
  };
  lane = joinLane(world, { clock: systemClock, logger, random: Math.random, later: neverLater });
  const ids = [await rows.createReceipt(), await rows.createReceipt(), await rows.createReceipt()];
  const left = `SELECT count(*)::int AS n FROM receipts WHERE status <> 'registered' AND id = ANY($1)`;
  await untilTrue(async () => {
    await drain();
    return (await rows.one<{ n: number }>(left, ids)).n === 0;
  }, 'all are sold');
  expect(await rows.one('SELECT state::text FROM devices')).toEqual({ state: 'online' });
  expect(await rows.lane()).toMatchObject({ failures: 0 });
  expect(together).toBeGreaterThan(0);
});

test('a register behind a link that was not asked yet whose it is sells nothing', async () => {
  let calls = 0;
  const transport = {
    open: () => {
      calls += 1;
      return Promise.resolve({ kind: 'not_sent' as const, reason: 'no link' });
    },
    close: () => undefined,
    retire: () => undefined,
  };
  registers.close();
  registers = new RegisterConnections(keyring, OutgoingGuard.forDevices([]), { transportTo: () => transport });
  const answers = answersInMemory(rows.ours, delay);
  const world = { store: rows.ours, locks, registers, notices: { notify: () => undefined }, answers };
  lane = joinLane(world, { clock: systemClock, logger, random: Math.random, later });
  await rows.sql.query(`UPDATE devices SET transport = 'link', base_url = NULL, terminal_id = NULL, state = 'blocked'`);
  await rows.createReceipt();
  await drain();
  expect(await rows.lane()).toMatchObject({ due_reason: expect.stringContaining('not known yet') });
  expect([calls, await rows.one('SELECT state::text FROM devices')]).toEqual([0, { state: 'blocked' }]);
  await rows.sql.query(`UPDATE devices SET terminal_id = 'UZ1'; UPDATE lanes SET due_at = NULL`);
  await drain();
  expect(calls).toBeGreaterThan(0);
});

test('a refusal in words that no database can keep is recorded all the same', async () => {
  const error = { code: 'E-013', message: 'no \0 and half a \ud83d', details: { 'a\0': ['\udc00'] } };
  react = (socket, request) => {
    const path = request.head.split(' ')[1];
    if (path === '/status') socket.write(answer(200, STATUS));
    else if (path === '/fm/info') socket.write(answer(200, INFO));
    else socket.write(answer(400, { success: false, error }));
  };
  const receiptId = await rows.createReceipt();
  await drain();
  expect(await rows.receipt(receiptId)).toMatchObject({ status: 'rejected' });
  expect(await rows.one('SELECT rejection FROM receipts WHERE id = $1', receiptId)).toMatchObject({
    rejection: { detail: 'no \ufffd and half a \ufffd' },
  });
});

test('a register that closes its connection after a refusal, and does not say so, has refused the receipt', async () => {
  react = (socket, request) => {
    const path = request.head.split(' ')[1];
    if (path === '/status') socket.write(answer(200, { ...STATUS, capabilities: [], journalId: undefined }));
    else if (path === '/fm/info') socket.write(answer(200, INFO));
    else socket.end(answer(400, { success: false, error: { code: 'E-013', message: 'no' } }));
  };
  const receiptId = await rows.createReceipt();
  await drain();
  expect(await rows.receipt(receiptId)).toMatchObject({ status: 'rejected' });
});

test.each([
  ['in the words of the local API', answer(413, { success: false, error: { code: 'S-003', message: 'too large' } })],
  ['in words of its server', answer(413, '<h1>Request Entity Too Large</h1>', { 'Content-Type': 'text/html' })],
  ['and hangs up', 'HTTP/1.1 413 Payload Too Large\r\nContent-Length: 500\r\nConnection: close\r\n\r\n'],
])('a register that takes no receipt of this size, %s, goes on with those behind it', async (_name, refusal) => {
  let sequence = INFO.currentReceiptSeq;
  let isFirst = true;
  react = (socket, request) => {
    const path = request.head.split(' ')[1];
    if (path === '/status')
      return void socket.write(answer(200, { ...STATUS, capabilities: [], journalId: undefined }));
    if (path === '/fm/info') return void socket.write(answer(200, { ...INFO, currentReceiptSeq: sequence }));
    if (isFirst) {
      isFirst = false;
      return void socket.end(refusal);
    }
    sequence += 1;
    socket.write(answer(200, { ...SALE, receipt: { ...RECEIPT, receiptSeq: sequence } }));
  };
  const [large, behind] = [await rows.createReceipt(), await rows.createReceipt()];
  await drain();
  expect(await rows.receipt(large)).toMatchObject({ status: 'rejected' });
  expect(await rows.one('SELECT rejection FROM receipts WHERE id = $1', large)).toMatchObject({
    rejection: { code: 'payload_too_large', line: null },
  });
  expect(await rows.receipt(behind)).toMatchObject({ status: 'registered', receipt_seq: '41' });
  expect(await rows.one('SELECT state::text FROM devices')).toEqual({ state: 'online' });
});

test.each([
  ['with our extensions', ['idempotency', 'journal'], true],
  ['that knows only the specification', [], false],
])('how the money came goes only to a register %s', async (_name, capabilities, isSent) => {
  react = (socket, request) => {
    const path = request.head.split(' ')[1];
    const body = path === '/status' ? { ...STATUS, capabilities } : path === '/fm/info' ? INFO : SALE;
    socket.write(answer(200, body));
  };
  const extraInfo = { paymentId: '1000001', paymentProvider: 64, phone: '998901234567' };
  await rows.sql.query('UPDATE devices SET capabilities = $1', [capabilities]);
  const receiptId = await rows.createReceipt();
  await rows.sql.query('UPDATE receipts SET extra_info = $2 WHERE id = $1', [receiptId, JSON.stringify(extraInfo)]);
  await drain();
  expect(await rows.receipt(receiptId)).toMatchObject({ status: 'registered' });
  const [sent] = server.requests.filter(({ head }) => head.startsWith('POST'));
  expect((JSON.parse(sent?.body ?? '{}') as { extraInfo?: unknown }).extraInfo).toEqual(isSent ? extraInfo : undefined);
});

test('a register that was away for long comes back with its shift closed: the shift is opened and the receipt goes at once', async () => {
  let isOpen = false;
  react = (socket, request) => {
    const path = request.head.split(' ')[1];
    if (path === '/z-report/open') isOpen = true;
    if (path === '/status') socket.write(answer(200, STATUS));
    else if (path === '/fm/info') socket.write(answer(200, INFO));
    else if (path === '/z-report/open') socket.write(answer(200, { success: true }));
    else if (isOpen) socket.write(answer(200, SALE));
    else socket.write(answer(409, { success: false, error: { code: 'F-002', message: 'closed' } }));
  };
  const receiptId = await rows.createReceipt();
  await rows.sql.query('UPDATE lanes SET failures = 7');
  await drain();
  expect(await rows.receipt(receiptId)).toMatchObject({ status: 'registered', receipt_seq: '41' });
});

test('a register that says it opened its shift and stays closed is asked again after a pause', async () => {
  react = (socket, request) => {
    const path = request.head.split(' ')[1];
    if (path === '/status') socket.write(answer(200, STATUS));
    else if (path === '/fm/info') socket.write(answer(200, INFO));
    else if (path === '/z-report/open') socket.write(answer(200, { success: true }));
    else socket.write(answer(409, { success: false, error: { code: 'F-002', message: 'closed' } }));
  };
  const receiptId = await rows.createReceipt();
  expect(await drain()).toMatchObject({ kind: 'wait' });
  expect(await rows.receipt(receiptId)).toMatchObject({ status: 'accepted' });
  expect(await rows.lane()).toMatchObject({ failures: 2, due_reason: expect.stringContaining('F-002 again') });
});
