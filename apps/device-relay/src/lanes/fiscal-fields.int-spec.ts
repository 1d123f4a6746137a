// Promise: a register is sent what it takes and nothing else; what may not be lost is rejected instead, unless it may be registered already.
import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { apiKeyOwner, type StoredReceiptDocument } from '#database';
import { sampleDocument } from '#database/testing';
import { FISCAL_FIELDS, tiyin } from '#fiscal-domain';
import { OutgoingGuard, parseCidr } from '#outgoing';
import { createLogger, systemClock } from '#runtime';
import { parseKeyring, seal } from '#secrets';
import { answer, MisbehavingServer } from '../../../../libs/local-api/src/testing/misbehaving-server.js';
import { untilTrue } from '../../../../libs/runtime/src/testing/until.js';
import { RegisterConnections } from '../devices/register-connections.js';
import { AdvisoryLaneLocks } from './advisory-lane-locks.js';
import { later } from '../shares/places.js';
import { joinLane } from './join-lane.js';
import type { DrainLane } from './drain-lane.js';
import { answersInMemory } from './testing/answers-in-memory.js';
import { LaneRows } from './testing/lane-rows.js';
import { INFO, NO_LINKS, RECEIPT, STATUS } from './testing/register-answers.js';

const OURS = ['idempotency', 'journal'];
const SELLER = { tin: '301234567' };
const BUYER = { tin: '309999999', phone: '998901234567' };
const keyring = parseKeyring(randomBytes(32).toString('base64'));
const logger = createLogger('test', 'silent');

let rows: LaneRows;
let locks: AdvisoryLaneLocks;
let server: MisbehavingServer;
let registers: RegisterConnections;
let lane: DrainLane;
/** What the register announces now, and what it answers a sale beside the specification. */
let announced: readonly string[];
let alsoAnswered: object;
let sequence: number;
let notified: string[];

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
  ({ announced, alsoAnswered, sequence, notified } = { announced: [], alsoAnswered: {}, sequence: 40, notified: [] });
  server = new MisbehavingServer((socket, { head }) => {
    const path = head.split(' ')[1];
    if (path === '/status') return void socket.write(answer(200, { ...STATUS, capabilities: announced }));
    if (path === '/fm/info') return void socket.write(answer(200, { ...INFO, currentReceiptSeq: sequence }));
    sequence += 1;
    const receipt = { ...RECEIPT, receiptSeq: sequence };
    socket.write(answer(200, { success: true, receipt, receiptHtml: '', ofdSent: true, ...alsoAnswered }));
  });
  const profile = { pacingMs: 0, settleMs: 0, sendTimeoutMs: 20_000, callTimeoutMs: 20_000 };
  await rows.sql.query('UPDATE devices SET base_url = $1, api_key_sealed = $2, profile = $3', [
    ...[await server.listen(), seal('key', apiKeyOwner(rows.deviceId), keyring), JSON.stringify(profile)],
  ]);
  const loopback = parseCidr('127.0.0.0/8');
  const guard = OutgoingGuard.forDevices(loopback.kind === 'ok' ? [loopback.cidr] : []);
  registers = new RegisterConnections(keyring, guard, NO_LINKS);
  const notices = { notify: (id: string) => void notified.push(id) };
  const answers = answersInMemory(rows.ours, delay);
  const world = { store: rows.ours, locks, registers, notices, answers };
  lane = joinLane(world, { clock: systemClock, logger, random: Math.random, later });
});

afterEach(async () => {
  registers.close();
  await server.close();
});

/** A sale on commission, to a company, by a wallet. */
function document(more: Partial<StoredReceiptDocument> = {}): StoredReceiptDocument {
  const sample = sampleDocument();
  return {
    ...sample,
    lines: sample.lines.map((line) => ({ ...line, commission: SELLER })),
    customer: BUYER,
    payment: {
      ...sample.payment,
      method: 'wallet',
      provider: 'payme',
      cashTiyin: tiyin(0),
      cardTiyin: sample.totalTiyin,
    },
    ...more,
  };
}

async function accept(more: Partial<StoredReceiptDocument> = {}): Promise<string> {
  const id = await rows.createReceipt();
  await rows.sql.query('UPDATE receipts SET document = $2 WHERE id = $1', [id, JSON.stringify(document(more))]);
  return id;
}

async function announce(fields: readonly string[], isKnown = true): Promise<void> {
  announced = [...OURS, ...fields];
  if (isKnown) await rows.sql.query('UPDATE devices SET capabilities = $1', [announced]);
}

async function drain(): Promise<void> {
  await rows.sql.query('UPDATE lanes SET due_at = NULL');
  await lane.drain(rows.deviceId);
}

/** Bodies of the sales that came, each with what it says beyond the specification. */
function sent(): Record<string, unknown>[] {
  return server.requests
    .filter(({ head }) => head.startsWith('POST /receipts'))
    .map(({ body }) => {
      const { customer, paymentProvider, items } = JSON.parse(body) as {
        customer: unknown;
        paymentProvider: unknown;
        items: { commission?: unknown }[];
      };
      return { customer, paymentProvider, commission: items[0]?.commission };
    });
}

const EVERYTHING = { customer: { tin: BUYER.tin }, paymentProvider: 'payme', commission: SELLER };
const NOTHING = { customer: undefined, paymentProvider: undefined, commission: undefined };

test('all of it where it is announced, and the register’s own word of what it recorded stays', async () => {
  await announce(FISCAL_FIELDS);
  alsoAnswered = { recordedFields: ['payment_provider', 'commission', 'something'], shiftNumber: 7 };
  const id = await accept({ requiredFields: FISCAL_FIELDS });
  await drain();
  expect(sent()).toEqual([EVERYTHING]);
  expect(await rows.receipt(id)).toMatchObject({
    ...{ status: 'registered', recorded_fields: ['commission', 'payment_provider'], shift_number: 7 },
  });
});

test.each([
  ['nothing', {}],
  ['nonsense', { recordedFields: 'commission', shiftNumber: '7' }],
  ['a list of numbers and a shift beyond all bounds', { recordedFields: [1], shiftNumber: 3e9 }],
  ['a shift that cannot be', { shiftNumber: 0 }],
])('a register that says %s of it has registered the receipt all the same', async (_what, says) => {
  await announce(FISCAL_FIELDS);
  alsoAnswered = says;
  const id = await accept();
  await drain();
  expect(await rows.receipt(id)).toMatchObject({ status: 'registered', recorded_fields: [], shift_number: null });
});

test('what may be omitted is left out where it is not announced, field by field', async () => {
  await announce(['customer']);
  const id = await accept();
  await drain();
  expect(sent()).toEqual([{ ...NOTHING, customer: { tin: BUYER.tin } }]);
  expect(await rows.receipt(id)).toMatchObject({ status: 'registered' });
});

test('what a refund’s sale does not hold is not sent, whatever is announced', async () => {
  await announce(FISCAL_FIELDS);
  await accept({ withheldFields: ['commission', 'customer'] });
  await drain();
  expect(sent()).toEqual([{ ...NOTHING, paymentProvider: 'payme' }]);
});

test('what may not be lost is rejected, nothing is sent, and the next receipt goes out', async () => {
  await announce(['commission']);
  const [id, next] = [
    await accept({ requiredFields: FISCAL_FIELDS }),
    await accept({ requiredFields: ['commission'] }),
  ];
  await drain();
  expect(await rows.receipt(id)).toMatchObject({
    status: 'rejected',
    rejection: { code: 'field_unsupported', detail: expect.stringContaining('customer, payment_provider'), line: null },
  });
  expect(await rows.receipt(next)).toMatchObject({ status: 'registered' });
  expect(sent()).toEqual([{ ...NOTHING, commission: SELLER }]);
  expect(notified).toEqual([id, next]);
  expect(await rows.events()).toEqual(['receipt.rejected', 'receipt.registered']);
  expect(await rows.one('SELECT count(*)::int AS n FROM attempts')).toEqual({ n: 1 });
});

test('more than any register takes is rejected, nothing is sent, and the next receipt goes out', async () => {
  await announce([]);
  const labels = Array.from({ length: 300 }, (_, index) => `0104780012345678215${String(index).padStart(12, 'x')}`);
  const { lines, payment, totalTiyin } = document();
  const id = await accept({
    lines: Array.from({ length: 110 }, () => lines.map((line) => ({ ...line, labels }))).flat(),
    payment: { ...payment, cardTiyin: tiyin(110 * totalTiyin) },
  });
  const next = await accept();
  await drain();
  expect(await rows.receipt(id)).toMatchObject({
    status: 'rejected',
    rejection: { code: 'payload_too_large', detail: expect.stringContaining('a register takes 1048576'), line: null },
  });
  expect(await rows.receipt(next)).toMatchObject({ status: 'registered' });
  expect(sent()).toEqual([NOTHING]);
  expect(notified).toEqual([id, next]);
});

test('a register that was not known to take it is asked first: nothing is rejected for what was unknown', async () => {
  // As an adopted register stands there until it is seen again.
  await announce(FISCAL_FIELDS, false);
  const id = await accept({ requiredFields: FISCAL_FIELDS });
  await drain();
  expect(sent()).toEqual([EVERYTHING]);
  expect(await rows.receipt(id)).toMatchObject({ status: 'registered' });
});

test('a register that took it and no longer does is noticed before a byte is sent', async () => {
  await announce(FISCAL_FIELDS);
  announced = OURS;
  const id = await accept({ requiredFields: ['commission'] });
  await drain();
  expect([sent(), (await rows.receipt(id))['status']]).toEqual([[], 'rejected']);
});

test('nothing is rejected for what a late poll has written down: the register is asked anew', async () => {
  await announce(FISCAL_FIELDS);
  await accept({ requiredFields: FISCAL_FIELDS });
  await drain();
  await rows.sql.query(`UPDATE devices SET capabilities = '{}'`);
  const id = await accept({ requiredFields: FISCAL_FIELDS });
  await drain();
  expect([sent(), (await rows.receipt(id))['status']]).toEqual([[EVERYTHING, EVERYTHING], 'registered']);
});

describe('what may be registered already and is sent again by a person', () => {
  const bytes = '{"type":"sale","items":[{"name":"Non"}],"received":{"cash":0,"card":112000}}';
  const bodies = (): string[] =>
    server.requests.filter(({ head }) => head.startsWith('POST /receipts')).map(({ body }) => body);

  async function sendAgain(id: string): Promise<void> {
    // Its lane has met the register: what was sent again before that waits for a person once more.
    const met = { terminalId: RECEIPT.terminalId, journalId: 'jrn-1', sequence: 40, reading: null };
    await rows.sql.query('UPDATE lanes SET baseline = $1', [JSON.stringify(met)]);
    const intent = { ...rows.intent(id), request: Buffer.from(bytes) };
    expect(await rows.ours.openAttempt(intent)).toBe('opened');
    await rows.sql.query(`UPDATE attempts SET state = 'not_registered', outcome = '{"resolution": {}}'`);
    await rows.sql.query(`UPDATE receipts SET status = 'accepted' WHERE id = $1`, [id]);
  }

  test('is repeated byte for byte, also where a field would be lost: its key decides', async () => {
    await announce([]);
    const id = await accept({ requiredFields: ['commission'] });
    await sendAgain(id);
    await drain();
    expect(bodies()).toEqual([bytes]);
    expect(await rows.receipt(id)).toMatchObject({ status: 'registered', recorded_fields: [] });
  });

  test('is composed anew once the register has refused it', async () => {
    await announce(FISCAL_FIELDS);
    const id = await accept();
    await sendAgain(id);
    const refused = { ...rows.intent(id), request: Buffer.from(bytes) };
    expect(await rows.ours.openAttempt(refused)).toBe('opened');
    await rows.sql.query(
      `UPDATE attempts SET state = 'not_registered', outcome = '{"answer": {"kind": "refused", "code": "E-016"}}' WHERE id = $1`,
      [refused.attemptId],
    );
    await rows.sql.query(`UPDATE receipts SET status = 'accepted' WHERE id = $1`, [id]);
    await drain();
    expect(sent()).toEqual([EVERYTHING]);
    expect(await rows.receipt(id)).toMatchObject({ status: 'registered' });
  });
});

test('an attempt of an older version is repeated byte for byte, whatever the register takes by now', async () => {
  await announce(FISCAL_FIELDS);
  const id = await accept();
  const request = Buffer.from('{"type":"sale","items":[{"name":"Non"}],"received":{"cash":0,"card":112000}}');
  expect(
    await rows.ours.openAttempt({
      ...rows.intent(id),
      baseline: { terminalId: RECEIPT.terminalId, journalId: 'jrn-1', sequence: 40, reading: null },
      request,
    }),
  ).toBe('opened');
  await drain();
  const bodies = server.requests.filter(({ head }) => head.startsWith('POST /receipts')).map(({ body }) => body);
  expect(bodies).toEqual([request.toString()]);
  expect(await rows.receipt(id)).toMatchObject({ status: 'registered', recorded_fields: [] });
});

test('a document that is not paid to the tiyin never leaves', async () => {
  await announce(FISCAL_FIELDS);
  const { payment } = document();
  const id = await accept({ payment: { ...payment, cardTiyin: tiyin(payment.cardTiyin - 10_001) } });
  await drain();
  expect(await rows.receipt(id)).toMatchObject({ status: 'rejected', rejection: { code: 'payment_mismatch' } });
  expect(sent()).toEqual([]);
});
