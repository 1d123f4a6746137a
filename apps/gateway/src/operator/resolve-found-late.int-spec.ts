// Promise: a document that a register has of a receipt which a person had ended waits for a person, in the list and in the count, until it is taken back or said to be gone.
import 'reflect-metadata';
import { encodeTime } from 'ulid';
import { countUnknown, recordLateAnswer } from '#ledger';
import { newId } from '#runtime';
import { writeReceipt } from '../receipts/search/testing/receipt-rows.js';
import {
  claimOf,
  link,
  OperatorFixture,
  reading,
  SIGN,
  type AttemptSetup,
  type TestAttempt,
} from './testing/operator-fixture.js';
import { untilTrue } from '../../../../libs/runtime/src/testing/until.js';

const REASON = 'found in the register’s journal';
const ENDED = {
  decision: 'not_registered',
  send_again: false,
  confirm_unsettled: true,
  reason: 'burnt; the OFD does not have it',
};
const GONE = { decision: 'not_registered', send_again: false, receipt_seq: 101, reason: 'refunded at the register' };

let fixture: OperatorFixture;

beforeAll(async () => {
  fixture = await OperatorFixture.start();
});

afterAll(() => fixture?.stop());

const duplicate = (attempt: TestAttempt): Record<string, unknown> => ({
  ...{ decision: 'duplicate', reason: REASON },
  ...claimOf(attempt),
});
const duplicateOf = (terminalId: string, receiptSeq: number): Record<string, unknown> => ({
  ...{ decision: 'duplicate', reason: REASON, receipt_seq: receiptSeq, fiscal_sign: SIGN },
  verification_url: link(terminalId, receiptSeq, SIGN),
});
const listed = async (): Promise<string[]> =>
  (await fixture.get('/v1/operator/unknown')).body.data.map(({ attempt }) => attempt.id);
const waiting = (): Promise<number> => countUnknown(fixture.prisma, 100);

function answersLate(
  { receiptId, deviceId, terminalId: own }: TestAttempt,
  receiptSeq = 101,
  terminalId = own,
): Promise<unknown> {
  const registration = {
    ...{ terminalId, receiptSeq, fiscalSign: SIGN, verificationUrl: link(terminalId, receiptSeq, SIGN) },
    ...{ transactionTimeMs: Date.parse('2026-01-02T03:04:05Z'), ofdSent: false, ofdError: null },
    ...{ recordedFields: [], shiftNumber: null },
  };
  return recordLateAnswer(fixture.prisma, { receiptId, deviceId, registration });
}

async function movedTo(id: string, status: string): Promise<void> {
  await fixture.prisma.$executeRaw`UPDATE receipts SET status = ${status}::receipt_status WHERE id = ${id}`;
}

async function ended(setup: AttemptSetup = {}): Promise<TestAttempt> {
  const attempt = await fixture.createAttempt(setup);
  expect((await fixture.resolve(attempt.attemptId, ENDED)).body.receipt.status).toBe('rejected');
  expect(await waiting()).toBe(0);
  return attempt;
}

async function endedAndAnswered(): Promise<TestAttempt> {
  const attempt = await ended();
  expect(await answersLate(attempt)).toBe('duplicate_suspected');
  return attempt;
}

test('it waits for a person, and is taken back by the module that has it; the receipt stays rejected', async () => {
  const attempt = await endedAndAnswered();
  const { attemptId, receiptId, deviceId, terminalId } = attempt;
  expect(await waiting()).toBe(1);
  const { data } = (await fixture.get('/v1/operator/unknown')).body;
  expect(data).toMatchObject([
    {
      ...{
        receipt: { id: receiptId, status: 'rejected' },
        attempt: { id: attemptId, state: 'unknown', unsettled: false },
      },
      explanation: expect.stringContaining(`receipt 101 of terminal ${terminalId}`),
      evidence: { found_late: [{ terminal_id: terminalId, receipt_seq: 101, fiscal_sign: SIGN, evidence: 'answer' }] },
    },
  ]);
  const answer = await fixture.resolve(attemptId, duplicate(attempt));
  expect([answer.status, answer.body.receipt.status]).toEqual([200, 'rejected']);
  const refundId = answer.body.refund_id ?? '';
  expect(await fixture.receipt(refundId)).toMatchObject({
    ...{ type: 'refund', status: 'accepted', refundOf: receiptId, deviceId },
    document: { refundInfo: { terminalId, receiptSeq: 101, fiscalSign: SIGN } },
  });
  await untilTrue(() => fixture.rung.includes(deviceId), 'the bell');
  expect(await fixture.audited(attemptId)).toMatchObject([
    {},
    { after: { decision: 'duplicate', refund_id: refundId } },
  ]);
  expect([await listed(), await waiting()]).toEqual([[], 0]);
  expect((await fixture.resolve(attemptId, duplicate(attempt))).body.code).toBe('already_resolved');
  // The same answer once more, as a relay replays it, opens nothing again; another document does.
  await answersLate(attempt);
  expect(await listed()).toEqual([]);
  await answersLate(attempt, 102);
  expect(await listed()).toEqual([attemptId]);
  expect((await fixture.resolve(attemptId, { ...GONE, receipt_seq: 102 })).status).toBe(200);
});

test('two documents of one receipt are decided one by one, and each is taken back once', async () => {
  const { attemptId, terminalId, ...attempt } = await endedAndAnswered();
  const answersAgain = (receiptSeq: number): Promise<unknown> =>
    answersLate({ ...attempt, attemptId, terminalId }, receiptSeq);
  await answersAgain(102);
  expect(await waiting()).toBe(1);
  const refundIds: unknown[] = [];
  for (const receiptSeq of [101, 102]) {
    expect(await listed()).toEqual([attemptId]);
    const { status, body } = await fixture.resolve(attemptId, duplicateOf(terminalId, receiptSeq));
    expect([status, body.refund_id]).toEqual([200, expect.any(String)]);
    refundIds.push(body.refund_id);
  }
  expect(new Set(refundIds).size).toBe(2);
  // Of the first one, too, a relay may have kept the answer.
  for (const receiptSeq of [101, 102]) await answersAgain(receiptSeq);
  expect([await listed(), await waiting()]).toEqual([[], 0]);
});

test('what had ended it, sent again, says nothing of a document that no person has seen', async () => {
  const { attemptId } = await endedAndAnswered();
  expect((await fixture.resolve(attemptId, ENDED)).body.code).toBe('already_resolved');
  expect((await fixture.resolve(attemptId, { ...GONE, receipt_seq: 102 })).body.errors).toMatchObject([
    { pointer: '/receipt_seq', code: 'contradicts_reading' },
  ]);
  expect(await listed()).toEqual([attemptId]);
  await fixture.resolve(attemptId, GONE);
  expect((await fixture.resolve(attemptId, GONE)).body.code).toBe('already_resolved');
});

test('a document is named alone where there is one', async () => {
  const { attemptId } = await fixture.createAttempt();
  const { status, body } = await fixture.resolve(attemptId, GONE);
  expect([status, body.errors]).toMatchObject([422, [{ pointer: '/receipt_seq', code: 'unknown_field' }]]);
  await fixture.resolve(attemptId, ENDED);
});

test('what is taken back is the document that the register has answered, and no other', async () => {
  const { attemptId, terminalId } = await endedAndAnswered();
  const other = '999999999999';
  const wrong = [
    { ...duplicateOf(terminalId, 102) },
    { ...duplicateOf('UZ000000000000', 101) },
    { ...duplicateOf(terminalId, 101), fiscal_sign: other, verification_url: link(terminalId, 101, other) },
  ];
  for (const decision of wrong) {
    const { status, body } = await fixture.resolve(attemptId, decision);
    expect([status, body.errors]).toMatchObject([422, [{ code: 'contradicts_reading' }]]);
  }
  await fixture.resolve(attemptId, GONE);
});

test('also one that came after the counters were read, or stands in a module that came later', async () => {
  const device = await fixture.createDevice();
  const read = await ended({ device, outcome: { reading: reading(device.terminalId, 101) } });
  await answersLate(read, 105);
  const taken = await fixture.resolve(read.attemptId, duplicateOf(read.terminalId, 105));
  expect([taken.status, taken.body.refund_id]).toEqual([200, expect.any(String)]);
  const changed = await ended();
  await answersLate(changed, 3, 'UZ999999999999');
  const unplaced = await fixture.resolve(changed.attemptId, duplicateOf('UZ999999999999', 3));
  // No register has this module now: it is refunded wherever it is.
  expect([unplaced.status, unplaced.body.refund_id]).toEqual([200, null]);
});

test('what was refunded at the register is recorded as gone', async () => {
  const { attemptId } = await endedAndAnswered();
  const answer = await fixture.resolve(attemptId, GONE);
  expect([answer.status, answer.body.receipt.status]).toEqual([200, 'rejected']);
  expect([await listed(), await waiting()]).toEqual([[], 0]);
  expect(await fixture.attempt(attemptId)).toMatchObject({
    outcome: { decided_late: [{ decision: 'not_registered', reason: GONE.reason, found_late: { receipt_seq: 101 } }] },
  });
});

test('so does one that was answered while the receipt was sent again, once that was refused', async () => {
  const attempt = await fixture.createAttempt();
  const { attemptId, receiptId } = attempt;
  await fixture.resolve(attemptId, { decision: 'not_registered', confirm_unsettled: true, reason: REASON });
  await movedTo(receiptId, 'sending');
  expect(await answersLate(attempt)).toBe('duplicate_suspected');
  // As long as it may still be registered, that is what it waits for.
  expect([await listed(), await waiting()]).toEqual([[], 0]);
  expect((await fixture.resolve(attemptId, duplicate(attempt))).body.code).toBe('already_resolved');
  await movedTo(receiptId, 'rejected');
  expect([await listed(), await waiting()]).toEqual([[attemptId], 1]);
  expect((await fixture.resolve(attemptId, duplicate(attempt))).body.refund_id).toEqual(expect.any(String));
});

test.each(['rejected', 'cancelled'])(
  'so does one of a receipt whose absence was proven and that is %s',
  async (status) => {
    const attempt = await fixture.createAttempt();
    const { attemptId, receiptId } = attempt;
    const proven = `UPDATE attempts SET state = 'not_registered', outcome = '{"proof": {"kind": "not_registered"}}' WHERE id = $1`;
    await fixture.prisma.$executeRawUnsafe(proven, attemptId);
    await movedTo(receiptId, 'accepted');
    await movedTo(receiptId, status);
    expect(await answersLate(attempt)).toBe('duplicate_suspected');
    expect([await listed(), await waiting()]).toEqual([[attemptId], 1]);
    const answer = await fixture.resolve(attemptId, duplicate(attempt));
    expect([answer.body.receipt.status, answer.body.refund_id]).toEqual([status, expect.any(String)]);
  },
);

test('it is neither sold by that document nor sent again', async () => {
  const attempt = await endedAndAnswered();
  const other = { receipt_seq: 102, fiscal_sign: SIGN, verification_url: link(attempt.terminalId, 102, SIGN) };
  const decisions = [
    { ...duplicate(attempt), decision: 'registered' },
    { decision: 'not_registered', reason: REASON },
    { ...duplicate(attempt), surplus: other },
  ];
  for (const decision of decisions)
    expect((await fixture.resolve(attempt.attemptId, decision)).body.code).toBe('already_resolved');
  expect(await listed()).toEqual([attempt.attemptId]);
  await fixture.resolve(attempt.attemptId, GONE);
});

test('an answer that meets the decision is not lost between them', async () => {
  const attempt = await fixture.createAttempt();
  const [late] = await Promise.all([answersLate(attempt), fixture.resolve(attempt.attemptId, ENDED)]);
  const receipt = (await fixture.get(`/v1/receipts/${attempt.receiptId}`)).body as unknown as { status: string };
  expect([late, receipt.status, await waiting()]).toEqual(
    late === 'proved' ? ['proved', 'registered', 0] : ['duplicate_suspected', 'rejected', 1],
  );
});

test('the overview counts what the list has, however old, of this merchant alone', async () => {
  const merchantId = await fixture.createMerchant();
  const token = await fixture.createToken(merchantId, ['receipts:read', 'operator:resolve', 'platform:read']);
  const ancient = new Date(Date.now() - 40 * 86_400_000).toISOString();
  const id = `rcp_${encodeTime(Date.parse(ancient), 10).toLowerCase()}${newId('rcp').slice(-16)}`;
  const { deviceId } = await fixture.createDevice({ merchantId });
  await writeReceipt(fixture.prisma, { id, merchantId, deviceId, status: 'unknown', createdAt: ancient });
  await fixture.prisma.$executeRaw`
    INSERT INTO attempts (id, receipt_id, device_id, number, state, baseline, request, relay_id, created_at, closed_at)
    VALUES (${newId('att')}, ${id}, ${deviceId}, 1, 'unknown', '{}', '', 'relay-1', ${ancient}::timestamptz, now())`;
  const late = await fixture.createAttempt({}, merchantId);
  await movedTo(late.receiptId, 'rejected');
  expect(await answersLate(late)).toBe('duplicate_suspected');
  expect((await fixture.get('/v1/operator/unknown', token)).body.data).toHaveLength(2);
  expect((await fixture.get('/v1/overview', token)).body).toMatchObject({
    waiting_for_person: 2,
    last_30_days: { by_status: { unknown: { count: 0 } } },
  });
  const stranger = await fixture.createToken(await fixture.createMerchant(), ['receipts:read']);
  expect((await fixture.get('/v1/overview', stranger)).body).toMatchObject({ waiting_for_person: 0 });
  const { body } = await fixture.get('/v1/platform/overview', token);
  expect(body).toMatchObject({ waiting_for_person: await waiting() });
});
