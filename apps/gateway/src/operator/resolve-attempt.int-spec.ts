// Promise: a person's decision about an unknown receipt happens once, whole, on record, and never against the evidence.
import 'reflect-metadata';
import { newId } from '#runtime';
import { claimOf, link, OperatorFixture, SIGN, reading, type TestAttempt } from './testing/operator-fixture.js';
import { untilTrue } from '../../../../libs/runtime/src/testing/until.js';

const REASON = 'seen in the register’s journal';

let fixture: OperatorFixture;

beforeAll(async () => {
  fixture = await OperatorFixture.start();
});

afterAll(() => fixture?.stop());

const registered = (attempt: TestAttempt, more: Record<string, unknown> = {}): Record<string, unknown> => ({
  ...{ decision: 'registered', reason: REASON },
  ...claimOf(attempt),
  ...more,
});

const notRegistered = { decision: 'not_registered', reason: REASON };

describe('registered', () => {
  test('the receipt becomes fiscal, by the word of an operator', async () => {
    const outcome = { why: 'could not be resolved in time' };
    const attempt = await fixture.createAttempt({ outcome });
    const answer = await fixture.resolve(attempt.attemptId, registered(attempt));
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({
      attempt_id: attempt.attemptId,
      receipt: {
        id: attempt.receiptId,
        status: 'registered',
        fiscal: {
          terminal_id: attempt.terminalId,
          receipt_seq: 101,
          fiscal_sign: SIGN,
          verification_url: link(attempt.terminalId, 101, SIGN),
          registered_at: '2026-01-02T03:04:05.000Z',
          evidence: 'operator',
        },
        ofd: { status: 'pending', deadline_at: '2026-01-04T03:04:05.000Z' },
      },
    });
    const stored = await fixture.attempt(attempt.attemptId);
    expect(stored['state']).toBe('registered');
    expect(stored['outcome']).toMatchObject({ ...outcome, resolution: { decision: 'registered', reason: REASON } });
    expect(await fixture.events(attempt.receiptId)).toMatchObject([
      { type: 'receipt.registered', data: { receipt_id: attempt.receiptId, receipt_seq: 101, evidence: 'operator' } },
    ]);
    const [record, ...more] = await fixture.audited(attempt.attemptId);
    expect(more).toEqual([]);
    expect(record).toMatchObject({
      action: 'attempt.resolve',
      before: { attempt_state: 'unknown', receipt_status: 'unknown', receipt_id: attempt.receiptId },
      after: { decision: 'registered', reason: REASON, fiscal_sign: SIGN, receipt_status: 'registered' },
    });
    expect(record?.actor).toMatch(/^cli_/);
  });

  interface LaneBefore {
    reading: number | null;
    sequence?: number;
    journalId?: string;
    terminal?: string;
  }

  test.each<[string, LaneBefore, number]>([
    ['up to the sequence that the operator names', { reading: 101 }, 101],
    ['no further than the counters say', { reading: 99 }, 100],
    ['never back', { reading: 120, sequence: 110 }, 110],
    ['not without a reading', { reading: null }, 90],
    ['not on a register with keys', { reading: 101, journalId: 'jrn-1' }, 90],
    ['not for another module', { reading: 101, terminal: 'UZ999' }, 90],
  ])('what later answers are held against rises %s', async (_what, lane, expected) => {
    const attempt = await fixture.createAttempt({});
    const { terminal: terminalId = attempt.terminalId, journalId = null, sequence = 90 } = lane;
    const counted = lane.reading === null ? null : reading(attempt.terminalId, lane.reading);
    const where = { deviceId: attempt.deviceId };
    const baseline = { terminalId, journalId, sequence, reading: counted };
    await fixture.prisma.lane.update({ where, data: { baseline: JSON.parse(JSON.stringify(baseline)) as object } });
    expect((await fixture.resolve(attempt.attemptId, registered(attempt))).status).toBe(200);
    expect(await fixture.prisma.lane.findUnique({ where })).toMatchObject({ baseline: { sequence: expected } });
  });

  test('what an earlier attempt may have registered is not held against the counter before this one', async () => {
    const attempt = await fixture.createAttempt();
    const earlier = registered(attempt, { receipt_seq: 100, verification_url: link(attempt.terminalId, 100, SIGN) });
    expect((await fixture.resolve(attempt.attemptId, earlier)).body).toMatchObject({ code: 'contradicts_reading' });
    await fixture.prisma.$executeRaw`
      INSERT INTO attempts (id, receipt_id, device_id, number, state, baseline, request, relay_id, closed_at, outcome)
      SELECT ${newId('att')}, receipt_id, device_id, 2, 'not_registered', jsonb_set(baseline, '{sequence}', '99'), request, relay_id, now(),
             '{"resolution": {}}' FROM attempts WHERE id = ${attempt.attemptId}`;
    const earliest = registered(attempt, { receipt_seq: 99, verification_url: link(attempt.terminalId, 99, SIGN) });
    expect((await fixture.resolve(attempt.attemptId, earliest)).body).toMatchObject({ code: 'contradicts_reading' });
    expect((await fixture.resolve(attempt.attemptId, earlier)).status).toBe(200);
  });

  test('an advance has neither sign nor link; its time is the given one', async () => {
    const attempt = await fixture.createAttempt({ type: 'advance' });
    const refused = await fixture.resolve(attempt.attemptId, registered(attempt));
    expect(refused.body).toMatchObject({ code: 'unknown_field', errors: [{ pointer: '/fiscal_sign' }, {}] });
    const body = {
      decision: 'registered',
      receipt_seq: 101,
      registered_at: '2026-01-02T08:04:00+05:00',
      reason: REASON,
    };
    const { body: answer } = await fixture.resolve(attempt.attemptId, body);
    expect(answer.receipt.fiscal).toMatchObject({
      terminal_id: attempt.terminalId,
      receipt_seq: 101,
      fiscal_sign: null,
      registered_at: '2026-01-02T03:04:00.000Z',
    });
  });

  test('of a register that was never met a person says what its module is, but not that it is another merchant’s', async () => {
    const theirs = await fixture.createDevice({ merchantId: await fixture.createMerchant() });
    const baseline = { terminalId: null, journalId: null, sequence: null, reading: null };
    const attempt = await fixture.createAttempt({ baseline });
    await fixture.prisma.device.update({ where: { id: attempt.deviceId }, data: { terminalId: null } });
    const named = (terminalId: string): Record<string, unknown> =>
      registered(attempt, { verification_url: link(terminalId, 101, SIGN) });
    expect((await fixture.resolve(attempt.attemptId, named(theirs.terminalId))).body.errors).toEqual([
      expect.objectContaining({ pointer: '/verification_url', detail: expect.stringContaining("not this merchant's") }),
    ]);
    expect((await fixture.resolve(attempt.attemptId, named('UZ0000000000007'))).status).toBe(200);
  });

  test('a refund is reported as a refund', async () => {
    const attempt = await fixture.createAttempt({ type: 'refund' });
    expect((await fixture.resolve(attempt.attemptId, registered(attempt))).status).toBe(200);
    expect(await fixture.events(attempt.receiptId)).toMatchObject([{ type: 'refund.registered' }]);
  });

  test('up to the reading that was taken after it', async () => {
    const device = await fixture.createDevice();
    const outcome = { baseline: reading(device.terminalId, 100), reading: reading(device.terminalId, 103) };
    const setup = { device, outcome, baseline: { reading: reading(device.terminalId, 100) } };
    const attempt = await fixture.createAttempt(setup);
    await fixture.prisma.lane.update({
      where: { deviceId: device.deviceId },
      data: { calibration: { sequenceOffset: 0, tiyinPerUnit: 1 } },
    });
    const body = (seq: number): Record<string, unknown> =>
      registered(attempt, { receipt_seq: seq, verification_url: link(device.terminalId, seq, SIGN) });
    for (const seq of [99, 100, 104]) {
      const answer = await fixture.resolve(attempt.attemptId, body(seq));
      expect([answer.status, answer.body.code]).toEqual([422, 'contradicts_reading']);
    }
    expect((await fixture.resolve(attempt.attemptId, body(103))).status).toBe(200);
  });
});

test('not registered: back in its lane at its old place, and the bell is rung', async () => {
  const attempt = await fixture.createAttempt({ outcome: { why: 'never quiet' } });
  const { lanePlace } = await fixture.receipt(attempt.receiptId);
  const answer = await fixture.resolve(attempt.attemptId, notRegistered);
  expect([answer.status, answer.body.receipt.status]).toEqual([200, 'accepted']);
  expect(await fixture.receipt(attempt.receiptId)).toMatchObject({ status: 'accepted', lanePlace });
  const stored = await fixture.attempt(attempt.attemptId);
  expect(stored).toMatchObject({ state: 'not_registered', outcome: { why: 'never quiet', resolution: notRegistered } });
  expect(await fixture.events(attempt.receiptId)).toMatchObject([{ type: 'receipt.accepted' }]);
  expect(await fixture.audited(attempt.attemptId)).toMatchObject([{ after: { ...notRegistered } }]);
  await untilTrue(() => fixture.rung.includes(attempt.deviceId), 'the bell');
});

describe('not registered, while the lane has not settled', () => {
  test.each([
    ['nothing sleeps on a register that knows keys', { journalId: 'jrn-1' }, false, 200],
    ['nothing sleeps after a reading', {}, true, 200],
    ['the request may wake up', {}, false, 409],
  ])('%s', async (_what, baseline, isRead, status) => {
    const device = await fixture.createDevice();
    const outcome = isRead ? { reading: reading(device.terminalId, 102) } : null;
    const attempt = await fixture.createAttempt({ device, baseline, outcome });
    await fixture.prisma.lane.update({ where: { deviceId: device.deviceId }, data: { mustSettle: true } });
    const answer = await fixture.resolve(attempt.attemptId, notRegistered);
    expect(answer.status).toBe(status);
    if (status === 200) return;
    expect(answer.body.code).toBe('lane_unsettled');
    // What the register's journal shows can be said at any time.
    expect((await fixture.resolve(attempt.attemptId, registered(attempt))).status).toBe(200);
  });
});

test('200 though a false register of another merchant has left this sequence of this terminal', async () => {
  const attempt = await fixture.createAttempt();
  await fixture.createRowsOfFalseRegister(attempt.terminalId, [101, 102, 103, 104, 105]);
  const { status, body } = await fixture.resolve(attempt.attemptId, registered(attempt));
  expect([status, body.receipt.status, body.receipt.fiscal?.receipt_seq]).toEqual([200, 'registered', 101]);
});

describe('refused, and nothing has changed:', () => {
  let attempt: TestAttempt;
  let before: string;

  beforeAll(async () => {
    attempt = await fixture.createAttempt();
    const { deviceId, terminalId } = attempt;
    await fixture.createReceipt(
      attempt.merchantId,
      { deviceId, terminalId },
      {
        status: 'registered',
        fiscal: { receiptSeq: 120, sign: SIGN },
      },
    );
    before = await fixture.world();
  });

  afterEach(async () => {
    expect(await fixture.world()).toBe(before);
  });

  const linkWith = (seq: number, sign = SIGN): string => link(attempt.terminalId, seq, sign);

  test.each<[string, () => Record<string, unknown>, string]>([
    [
      'a sequence that another receipt has',
      () => ({ receipt_seq: 120, verification_url: linkWith(120) }),
      '409 sequence_taken /receipt_seq',
    ],
    [
      'a sequence not above the baseline',
      () => ({ receipt_seq: 100, verification_url: linkWith(100) }),
      '422 contradicts_reading /receipt_seq',
    ],
    ['no sequence', () => ({ receipt_seq: undefined }), '422 required /receipt_seq'],
    ['a sequence of 0', () => ({ receipt_seq: 0 }), '422 out_of_range /receipt_seq'],
    ['a sequence as text', () => ({ receipt_seq: '101' }), '422 invalid_type /receipt_seq'],
    ['a sequence beyond the safe integers', () => ({ receipt_seq: 2 ** 53 }), '422 out_of_range /receipt_seq'],
    ['no sign', () => ({ fiscal_sign: undefined }), '422 required /fiscal_sign'],
    ['a sign of 11 digits', () => ({ fiscal_sign: '12345678901' }), '422 invalid_format /fiscal_sign'],
    ['a sign of other digits', () => ({ fiscal_sign: '١٢٣٤٥٦٧٨٩٠١٢' }), '422 invalid_format /fiscal_sign'],
    ['a sign as number', () => ({ fiscal_sign: 123456789012 }), '422 invalid_format /fiscal_sign'],
    [
      'a sign that the link does not have',
      () => ({ fiscal_sign: '999999999999' }),
      '422 contradicts_link /verification_url',
    ],
    ['no link', () => ({ verification_url: null }), '422 required /verification_url'],
    ['no web address', () => ({ verification_url: 'ofd' }), '422 invalid_format /verification_url'],
    [
      'a link without t, r, c, s',
      () => ({ verification_url: 'https://ofd.soliq.uz/check?t=1' }),
      '422 invalid_format /verification_url',
    ],
    [
      'a link of another sequence',
      () => ({ verification_url: linkWith(102) }),
      '422 contradicts_link /verification_url',
    ],
    [
      'a link of another terminal',
      () => ({ verification_url: link('UZ999999999999', 101, SIGN) }),
      '422 contradicts_reading /verification_url',
    ],
    [
      'a link of the year 9000',
      () => ({ verification_url: linkWith(101).replace('c=2026', 'c=9000') }),
      '422 out_of_range /verification_url',
    ],
    [
      'another time than the link’s',
      () => ({ registered_at: '2026-01-02T04:04:05Z' }),
      '422 contradicts_link /registered_at',
    ],
    ['a time without zone', () => ({ registered_at: '2026-01-02T08:04:05' }), '422 invalid_format /registered_at'],
    [
      'a time that does not exist',
      () => ({ registered_at: '2026-02-31T08:04:05Z' }),
      '422 invalid_format /registered_at',
    ],
    ['no reason', () => ({ reason: undefined }), '422 required /reason'],
    ['a reason of blanks', () => ({ reason: '  a     ' }), '422 too_short /reason'],
    ['a reason too long', () => ({ reason: 'x'.repeat(501) }), '422 too_long /reason'],
    ['a reason with NUL', () => ({ reason: 'because\0' }), '422 invalid_text /reason'],
    ['no decision', () => ({ decision: undefined }), '422 required /decision'],
    ['an unknown decision', () => ({ decision: 'maybe' }), '422 invalid_value /decision'],
    ['a field of another decision', () => ({ decision: 'not_registered' }), '422 unknown_field /receipt_seq'],
    [
      'surplus without duplicate',
      () => ({ surplus: { receipt_seq: 102, fiscal_sign: SIGN, verification_url: linkWith(102) } }),
      '422 unknown_field /surplus',
    ],
    ['a confirmation of another decision', () => ({ confirm_unsettled: true }), '422 unknown_field /confirm_unsettled'],
    ['an unknown field', () => ({ sign: SIGN }), '422 unknown_field /sign'],
  ])('%s', async (_what, more, expected) => {
    const { status, body } = await fixture.resolve(attempt.attemptId, registered(attempt, more()));
    expect(`${status} ${body.code} ${body.errors[0]?.pointer}`).toBe(expected);
  });

  test('an unknown attempt, no id at all', async () => {
    for (const id of [newId('att'), 'att_1', attempt.receiptId, '%00']) {
      const answer = await fixture.resolve(id, notRegistered);
      expect([answer.status, answer.body.code]).toEqual([404, 'not_found']);
    }
  });

  test('another merchant’s attempt answers like a missing one', async () => {
    const stranger = await fixture.createToken(await fixture.createMerchant(), ['operator:resolve']);
    const answer = await fixture.resolve(attempt.attemptId, notRegistered, stranger);
    expect([answer.status, answer.body.code]).toEqual([404, 'not_found']);
  });

  test('a token without the scope', async () => {
    const token = await fixture.createToken(fixture.merchantId, ['receipts:write', 'receipts:read']);
    const answer = await fixture.resolve(attempt.attemptId, notRegistered, token);
    expect([answer.status, answer.body.code]).toEqual([403, 'insufficient_scope']);
  });
});

describe('only while it is undecided', () => {
  test('an open attempt is the relay’s', async () => {
    const attempt = await fixture.createAttempt({ state: 'open' });
    const before = await fixture.world();
    for (const body of [notRegistered, registered(attempt)]) {
      const answer = await fixture.resolve(attempt.attemptId, body);
      expect([answer.status, answer.body.code]).toEqual([409, 'attempt_open']);
    }
    expect(await fixture.world()).toBe(before);
  });

  test('409 for a second decision, whatever it decides', async () => {
    const attempt = await fixture.createAttempt();
    expect((await fixture.resolve(attempt.attemptId, registered(attempt))).status).toBe(200);
    const before = await fixture.world();
    for (const body of [registered(attempt), notRegistered]) {
      const answer = await fixture.resolve(attempt.attemptId, body);
      expect([answer.status, answer.body.code]).toEqual([409, 'already_resolved']);
    }
    expect(await fixture.world()).toBe(before);
  });

  test('a late answer that came first has decided it', async () => {
    const attempt = await fixture.createAttempt();
    await fixture.prisma.$executeRaw`
      UPDATE receipts SET status = 'registered', terminal_id = ${attempt.terminalId}, receipt_seq = 101,
                          registered_at = now() WHERE id = ${attempt.receiptId}`;
    const before = await fixture.world();
    const answer = await fixture.resolve(attempt.attemptId, notRegistered);
    expect([answer.status, answer.body.code]).toEqual([409, 'already_resolved']);
    expect(await fixture.world()).toBe(before);
  });

  test('ten at once: exactly one wins', async () => {
    for (let round = 0; round < 5; round += 1) {
      const attempt = await fixture.createAttempt();
      const bodies = Array.from({ length: 10 }, (_, index) => (index % 2 === 0 ? notRegistered : registered(attempt)));
      const answers = await Promise.all(bodies.map((body) => fixture.resolve(attempt.attemptId, body)));
      const winners = answers.filter(({ status }) => status === 200);
      expect(winners).toHaveLength(1);
      const losers = answers.filter(({ status }) => status !== 200).map(({ body }) => body.code);
      expect(new Set(losers)).toEqual(new Set(['already_resolved']));
      const { status } = await fixture.receipt(attempt.receiptId);
      expect(status).toBe(winners[0]?.body.receipt.status);
      expect(await fixture.events(attempt.receiptId)).toHaveLength(1);
      expect(await fixture.audited(attempt.attemptId)).toHaveLength(1);
    }
  });

  test('one sequence for two receipts at once: exactly one gets it, the other stays unknown', async () => {
    const device = await fixture.createDevice();
    const attempts = [await fixture.createAttempt({ device }), await fixture.createAttempt({ device })];
    const answers = await Promise.all(
      attempts.map((attempt) => fixture.resolve(attempt.attemptId, registered(attempt))),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
    const loser = attempts[answers.findIndex(({ status }) => status === 409)]!;
    expect(await fixture.receipt(loser.receiptId)).toMatchObject({ status: 'unknown', receiptSeq: null });
    expect(await fixture.attempt(loser.attemptId)).toMatchObject({ state: 'unknown', outcome: null });
    expect(await fixture.events(loser.receiptId)).toEqual([]);
    expect(await fixture.audited(loser.attemptId)).toEqual([]);
  });
});
