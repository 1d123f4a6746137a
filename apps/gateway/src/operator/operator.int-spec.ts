// Promise: an operator sees all that is known of what is stuck, and can free a lane, a sign and a register, on record.
import 'reflect-metadata';
import { newId } from '#runtime';
import { untilTrue } from '../../../../libs/runtime/src/testing/until.js';
import { SettledReceipts } from '../receipts/settled-receipts.js';
import { link, OperatorFixture, reading, type Answer } from './testing/operator-fixture.js';

const SIGN = '012345678901';
const reason = 'the register was exchanged';

let fixture: OperatorFixture;

beforeAll(async () => {
  fixture = await OperatorFixture.start();
});

afterAll(() => fixture?.stop());

describe('the list', () => {
  let token: string;
  let merchantId: string;

  beforeEach(async () => {
    merchantId = await fixture.createMerchant();
    token = await fixture.createToken(merchantId, ['operator:resolve']);
  });

  test('says everything that is known about an unknown receipt', async () => {
    const device = await fixture.createDevice({ merchantId });
    const { terminalId, deviceId } = device;
    const good = { receiptSeq: 100, sign: SIGN };
    const lastId = await fixture.createReceipt(merchantId, device, { status: 'registered', fiscal: good });
    await fixture.createReceipt(merchantId, device, { status: 'accepted' });
    await fixture.createReceipt(merchantId, device, { status: 'accepted' });
    const difference = '+2 documents, sales in cash +224000; not this receipt alone';
    const attempt = await fixture.createAttempt(
      {
        device,
        baseline: { reading: reading(terminalId, 100, 5_000) },
        outcome: { reason: 'timeout', reading: reading(terminalId, 102, 229_000), difference },
      },
      merchantId,
    );
    const answer = await fixture.get('/v1/operator/unknown', token);
    expect(answer.status).toBe(200);
    expect(answer.body.next_cursor).toBeNull();
    expect(answer.body.data).toHaveLength(1);
    const [entry] = answer.body.data;
    expect(entry).toMatchObject({
      receipt: { id: attempt.receiptId, status: 'unknown', total: 112_000, items: [{ name: 'Non', total: 112_000 }] },
      device: { id: deviceId, terminal_id: terminalId, state: 'online', extensions: false, sharing: 'shared' },
      attempt: { id: attempt.attemptId, number: 1, state: 'unknown', parked_at: expect.any(String), unsettled: false },
      baseline: { terminal_id: terminalId, sequence: 100, reading: { sequence: 100, sale_cash: 5_000 } },
      reading: { terminal_id: terminalId, sequence: 102, sale_cash: 229_000 },
      difference,
      explanation: 'timeout',
      last_registered: { receipt_id: lastId, receipt_seq: 100, verification_url: link(terminalId, 100, SIGN) },
      queue: 2,
    });
    expect(entry?.blocked_seconds).toBeGreaterThanOrEqual(600);
  });

  test('compares the readings in words when no comparison is stored, and accepts an outcome of any shape', async () => {
    const device = await fixture.createDevice({ merchantId });
    const { terminalId } = device;
    const outcomes = [
      { reading: reading(terminalId, 101, 112_000) },
      { reading: 'gone', proof: [], difference: 7 },
      { reading: { terminalId, sequence: 1, sums: {} } },
      null,
    ];
    for (const outcome of outcomes) {
      await fixture.createAttempt({ device, outcome, baseline: { reading: reading(terminalId, 100) } }, merchantId);
    }
    const { body } = await fixture.get('/v1/operator/unknown', token);
    const words = body.data.map((entry) => entry.difference);
    expect(words).toEqual(['+1 documents, sales in cash +112000; not this receipt alone', null, null, null]);
  });

  test('has lanes that an open attempt blocks, but not work of a moment, and nothing that is decided', async () => {
    const blocked = await fixture.createAttempt({ state: 'open', ageSeconds: 120 }, merchantId);
    await fixture.createAttempt({ state: 'open', ageSeconds: 1 }, merchantId);
    const proved = await fixture.createAttempt({}, merchantId);
    await fixture.prisma.$executeRaw`
      UPDATE receipts SET status = 'registered', terminal_id = ${proved.terminalId}, receipt_seq = 101,
                          registered_at = now() WHERE id = ${proved.receiptId}`;
    const { body } = await fixture.get('/v1/operator/unknown', token);
    expect(body.data).toMatchObject([
      { attempt: { id: blocked.attemptId, state: 'open', parked_at: null, unsettled: true } },
    ]);
    expect(body.data).toHaveLength(1);
  });

  test('comes in pages, oldest first, and only one’s own', async () => {
    const device = await fixture.createDevice({ merchantId });
    const ids: string[] = [];
    for (let index = 0; index < 5; index += 1) {
      ids.push((await fixture.createAttempt({ device }, merchantId)).attemptId);
    }
    await fixture.createAttempt();
    const seen: string[] = [];
    let cursor: string | null = '';
    do {
      const { body }: Answer = await fixture.get(`/v1/operator/unknown?limit=2${cursor && `&cursor=${cursor}`}`, token);
      seen.push(...body.data.map((entry) => entry.attempt.id));
      expect(body.data.length).toBeLessThanOrEqual(2);
      cursor = body.next_cursor;
    } while (cursor);
    expect(seen).toEqual(ids);
  });

  test.each([
    ['limit=0', 'invalid_format'],
    ['limit=101', 'invalid_format'],
    ['limit=x', 'invalid_format'],
    ['cursor=abc', 'invalid_value'],
    ['cursor=', 'invalid_value'],
    ['page=2', 'unknown_field'],
  ])('?%s is a 422', async (query, code) => {
    const answer = await fixture.get(`/v1/operator/unknown?${query}`, token);
    expect([answer.status, answer.body.code]).toEqual([422, code]);
  });

  test('needs the scope', async () => {
    const reader = await fixture.createToken(merchantId, ['receipts:read']);
    expect((await fixture.get('/v1/operator/unknown', reader)).status).toBe(403);
  });
});

describe('parking', () => {
  const park = (id: string, body: unknown = { reason }, token?: string): Promise<Answer> =>
    fixture.post(`/v1/operator/attempts/${id}/park`, body, token);

  test.each([
    ['without extensions waits out the settle time', null, true],
    ['with extensions goes on at once', 'jrn-1', false],
  ])('a lane %s', async (_what, journalId, mustSettle) => {
    const attempt = await fixture.createAttempt({
      state: 'open',
      baseline: { journalId },
      outcome: { refused: 'F-001' },
    });
    const waiter = fixture.app.get(SettledReceipts).watch(attempt.receiptId);
    const answer = await park(attempt.attemptId);
    expect([answer.status, answer.body.receipt.status]).toEqual([200, 'unknown']);
    const stored = await fixture.attempt(attempt.attemptId);
    expect(stored).toMatchObject({ state: 'unknown', closedAt: expect.any(Date) });
    expect(stored['outcome']).toMatchObject({ refused: 'F-001', why: `parked by an operator: ${reason}` });
    const lane = await fixture.prisma.lane.findUnique({ where: { deviceId: attempt.deviceId } });
    expect(lane?.mustSettle).toBe(mustSettle);
    expect(await fixture.events(attempt.receiptId)).toMatchObject([{ type: 'receipt.unknown' }]);
    expect(await fixture.audited(attempt.attemptId)).toMatchObject([
      { action: 'attempt.park', before: { attempt_state: 'open' }, after: { must_settle: mustSettle, reason } },
    ]);
    await untilTrue(() => fixture.rung.includes(attempt.deviceId), 'the bell');
    expect(await waiter.settledWithin(20)).toBe(true);
    waiter.forget();
  });

  test('a lane that must settle anyway still must', async () => {
    const attempt = await fixture.createAttempt({ state: 'open', baseline: { journalId: 'jrn-1' } });
    const where = { deviceId: attempt.deviceId };
    await fixture.prisma.lane.update({ where, data: { mustSettle: true } });
    await park(attempt.attemptId);
    expect(await fixture.prisma.lane.findUnique({ where })).toMatchObject({ mustSettle: true });
  });

  test('and then deciding it', async () => {
    const attempt = await fixture.createAttempt({ state: 'open' });
    await park(attempt.attemptId);
    const body = { decision: 'not_registered', reason };
    const path = `/v1/operator/attempts/${attempt.attemptId}/resolve`;
    const before = await fixture.world();
    const refused = await fixture.post(path, body);
    expect([refused.status, refused.body.code]).toEqual([409, 'lane_unsettled']);
    expect(await fixture.world()).toBe(before);
    expect((await fixture.post(path, { ...body, confirm_unsettled: true })).status).toBe(200);
    expect(await fixture.audited(attempt.attemptId)).toMatchObject([
      { action: 'attempt.park' },
      { action: 'attempt.resolve', after: { confirm_unsettled: true } },
    ]);
  });

  test('is refused for what is closed, foreign or without a reason, and nothing has changed', async () => {
    const closed = await fixture.createAttempt();
    const open = await fixture.createAttempt({ state: 'open' });
    const stranger = await fixture.createToken(await fixture.createMerchant(), ['operator:resolve']);
    const before = await fixture.world();
    const refusals = [
      [await park(closed.attemptId), 409, 'attempt_closed'],
      [await park(open.attemptId, { reason }, stranger), 404, 'not_found'],
      [await park(newId('att')), 404, 'not_found'],
      [await park('att_x'), 404, 'not_found'],
      [await park(open.attemptId, {}), 422, 'required'],
      [await park(open.attemptId, { reason: 'no' }), 422, 'too_short'],
      [await park(open.attemptId, { reason: 5 }), 422, 'invalid_type'],
    ] as const;
    for (const [answer, status, code] of refusals) expect([answer.status, answer.body.code]).toEqual([status, code]);
    expect(await fixture.world()).toBe(before);
  });

  test('five at once: exactly one parks it', async () => {
    const attempt = await fixture.createAttempt({ state: 'open' });
    const answers = await Promise.all(Array.from({ length: 5 }, () => park(attempt.attemptId)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409, 409]);
    expect(await fixture.audited(attempt.attemptId)).toHaveLength(1);
  });
});

describe('completing a sign', () => {
  const complete = (id: string, body: unknown, token?: string): Promise<Answer> =>
    fixture.post(`/v1/receipts/${id}/fiscal`, body, token);

  const bodyOf = (terminalId: string, seq = 101, sign = SIGN): Record<string, unknown> => ({
    fiscal_sign: sign,
    verification_url: link(terminalId, seq, sign),
    reason,
  });

  test('of a receipt that the counters have proved: sign, link and the time that the link says', async () => {
    const device = await fixture.createDevice();
    const fiscal = { receiptSeq: 101, evidence: 'counters' };
    const id = await fixture.createReceipt(fixture.merchantId, device, { status: 'registered', fiscal });
    await fixture.prisma.$executeRaw`
      UPDATE receipts SET registered_at = registered_at - interval '1 minute',
                          ofd_deadline_at = ofd_deadline_at - interval '1 minute' WHERE id = ${id}`;
    const answer = await complete(id, bodyOf(device.terminalId));
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({
      id,
      status: 'registered',
      fiscal: {
        receipt_seq: 101,
        fiscal_sign: SIGN,
        verification_url: link(device.terminalId, 101, SIGN),
        registered_at: '2026-01-02T03:04:05.000Z',
        evidence: 'counters',
      },
      ofd: { deadline_at: '2026-01-04T03:04:05.000Z' },
    });
    expect(await fixture.events(id)).toMatchObject([{ type: 'receipt.registered', data: { fiscal_sign: SIGN } }]);
    expect(await fixture.audited(id)).toMatchObject([
      {
        action: 'receipt.complete_fiscal',
        before: { fiscal_sign: null, registered_at: '2026-01-02T03:03:05.000Z' },
        after: { fiscal_sign: SIGN, reason },
      },
    ]);
    const before = await fixture.world();
    const again = await complete(id, bodyOf(device.terminalId));
    expect([again.status, again.body.code]).toEqual([409, 'fiscal_complete']);
    expect(await fixture.world()).toBe(before);
  });

  test('is refused where it has one, needs none, or contradicts, and nothing has changed', async () => {
    const device = await fixture.createDevice();
    const { merchantId } = fixture;
    const { terminalId } = device;
    const make = (seq: number, sign: string | null, type = 'sale'): Promise<string> =>
      fixture.createReceipt(merchantId, device, { status: 'registered', type, fiscal: { receiptSeq: seq, sign } });
    const missing = await make(101, null);
    const complete101 = await make(102, SIGN);
    const advance = await make(103, null, 'advance');
    const waiting = await fixture.createReceipt(merchantId, device, { status: 'accepted' });
    const stranger = await fixture.createToken(await fixture.createMerchant(), ['operator:resolve']);
    const reader = await fixture.createToken(merchantId, ['receipts:read', 'receipts:write']);
    const before = await fixture.world();
    const good = bodyOf(terminalId);
    const refusals = [
      [await complete(complete101, bodyOf(terminalId, 102)), 409, 'fiscal_complete'],
      [await complete(advance, bodyOf(terminalId, 103)), 409, 'fiscal_complete'],
      [await complete(waiting, good), 409, 'receipt_not_registered'],
      [await complete(missing, good, stranger), 404, 'not_found'],
      [await complete(missing, good, reader), 403, 'insufficient_scope'],
      [await complete(newId('rcp'), good), 404, 'not_found'],
      [await complete('rcp_x', good), 404, 'not_found'],
      [await complete(missing, bodyOf('UZ999999999999')), 422, 'contradicts_link'],
      [await complete(missing, bodyOf(terminalId, 104)), 422, 'contradicts_link'],
      [await complete(missing, { ...good, fiscal_sign: '999999999999' }), 422, 'contradicts_link'],
      [await complete(missing, { ...good, fiscal_sign: '1' }), 422, 'invalid_format'],
      [await complete(missing, { ...good, verification_url: 'https://ofd.soliq.uz' }), 422, 'invalid_format'],
      [await complete(missing, { ...good, reason: undefined }), 422, 'required'],
      [await complete(missing, { reason }), 422, 'required'],
    ] as const;
    for (const [answer, status, code] of refusals) expect([answer.status, answer.body.code]).toEqual([status, code]);
    expect(await fixture.world()).toBe(before);
  });
});
