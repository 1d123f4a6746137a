// Promise: an operator can take on an exchanged register and free a blocked one, on record, and nothing old is sent again by it.
import 'reflect-metadata';
import { newId } from '#runtime';
import { untilTrue } from '../../../../libs/runtime/src/testing/until.js';
import { OperatorFixture, type Answer } from './testing/operator-fixture.js';

const reason = 'the register was exchanged';

let fixture: OperatorFixture;

beforeAll(async () => {
  fixture = await OperatorFixture.start();
});

afterAll(() => fixture?.stop());

const change = (id: string, verb: string, body: unknown = { reason }, token?: string): Promise<Answer> =>
  fixture.post(`/v1/operator/devices/${id}/${verb}`, body, token);

test.each([
  ['without extensions must settle first', undefined, true],
  ['with extensions begins at once', 'jrn-1', false],
])('an adopted one %s, and nothing known of the old one is kept', async (_what, journalId, mustSettle) => {
  const device = await fixture.createDevice({ state: 'replaced', ...(journalId && { journalId }) });
  const where = { deviceId: device.deviceId };
  const dueAt = new Date(Date.now() + 3_600_000);
  await fixture.prisma.lane.update({ where, data: { calibration: { sequenceOffset: 1, tiyinPerUnit: 1 }, dueAt } });
  const answer = await change(device.deviceId, 'adopt');
  expect(answer).toEqual({
    status: 200,
    body: { id: device.deviceId, state: 'online', state_reason: null, terminal_id: null },
  });
  expect(await fixture.prisma.lane.findUnique({ where })).toMatchObject({
    ...{ baseline: null, lastKnown: null, calibration: null, mustSettle, failures: 0, dueAt: null },
  });
  expect(await fixture.events(device.deviceId)).toMatchObject([{ type: 'device.online' }]);
  expect(await fixture.audited(device.deviceId)).toMatchObject([
    {
      action: 'device.adopt',
      before: { state: 'replaced', terminal_id: device.terminalId, baseline: { sequence: 100 } },
      after: { state: 'online', reason },
    },
  ]);
  await untilTrue(() => fixture.rung.includes(device.deviceId), 'the bell');
});

test('an adopted one is not sent what the old one may have: a person decides, and then it goes', async () => {
  const device = await fixture.createDevice({ state: 'replaced', journalId: 'jrn-1' });
  const waiting = async (outcome: Record<string, unknown> | null, state = 'not_registered'): Promise<string> => {
    const { receiptId } = await fixture.createAttempt({ device, outcome, baseline: { journalId: 'jrn-1' } });
    await fixture.prisma.$executeRaw`UPDATE receipts SET status = 'accepted' WHERE id = ${receiptId}`;
    await fixture.prisma
      .$executeRaw`UPDATE attempts SET state = ${state}::attempt_state WHERE receipt_id = ${receiptId}`;
    return receiptId;
  };
  const resolution = { decision: 'not_registered', reason: 'said so' };
  const unproven = [
    await waiting({ why: 'parked', resolution }),
    await waiting({ answer: { kind: 'refused' }, resolution }),
    await waiting({ refused_again: { kind: 'device_refused' } }),
    await waiting({ proof: { kind: 'unproven' } }),
    await waiting({ answer: 'another document under this key' }),
    await waiting(null),
    await waiting({ answer: { kind: 'refused' } }, 'unknown'),
  ];
  const proven = [
    await waiting({ answer: { kind: 'not_sent' } }),
    await waiting({ answer: { kind: 'refused', code: 'F-002' } }),
    await waiting({ proof: { kind: 'not_registered' } }),
    await fixture.createReceipt(fixture.merchantId, device, { status: 'accepted' }),
  ];
  expect((await change(device.deviceId, 'adopt')).status).toBe(200);
  for (const id of proven) expect(await fixture.receipt(id)).toMatchObject({ status: 'accepted' });
  for (const id of unproven) {
    expect(await fixture.receipt(id)).toMatchObject({ status: 'unknown' });
    expect(await fixture.events(id)).toMatchObject([{ type: 'receipt.unknown' }]);
  }
  expect(await fixture.audited(device.deviceId)).toMatchObject([{ after: { held_back: unproven } }]);
  const attempt = await fixture.prisma.attempt.findFirstOrThrow({ where: { receiptId: unproven[0]! } });
  expect(attempt).toMatchObject({
    ...{ state: 'unknown', outcome: { why: expect.stringContaining('replaced'), earlier_resolution: resolution } },
  });
  const again = { decision: 'not_registered', reason: 'the old module does not have it' };
  expect((await fixture.post(`/v1/operator/attempts/${attempt.id}/resolve`, again)).status).toBe(200);
  expect(await fixture.receipt(unproven[0]!)).toMatchObject({ status: 'accepted' });
});

test('an unblocked one is asked at once; a settle time keeps running', async () => {
  const dueAt = new Date(Date.now() + 3_600_000);
  for (const settlingRelay of [null, 'relay-1']) {
    const { deviceId } = await fixture.createDevice({ state: 'blocked' });
    await fixture.prisma.lane.update({ where: { deviceId }, data: { dueAt, settlingRelay } });
    const answer = await change(deviceId, 'unblock');
    expect([answer.status, answer.body.state]).toEqual([200, 'online']);
    const lane = await fixture.prisma.lane.findUnique({ where: { deviceId } });
    expect(lane?.dueAt?.getTime() ?? null).toBe(settlingRelay === null ? null : dueAt.getTime());
    expect(await fixture.audited(deviceId)).toMatchObject([
      { action: 'device.unblock', before: { state: 'blocked', state_reason: 'because' }, after: { reason } },
    ]);
    await untilTrue(() => fixture.rung.includes(deviceId), 'the bell');
  }
});

test('are left as they are when the call makes no sense', async () => {
  const online = await fixture.createDevice();
  const replaced = await fixture.createDevice({ state: 'replaced' });
  const blocked = await fixture.createDevice({ state: 'blocked' });
  await fixture.createAttempt({ state: 'open', device: replaced });
  const stranger = await fixture.createToken(await fixture.createMerchant(), ['operator:resolve']);
  const before = await fixture.world();
  const refusals = [
    [await change(online.deviceId, 'adopt'), 409, 'device_not_replaced'],
    [await change(replaced.deviceId, 'adopt'), 409, 'attempt_open'],
    [await change(replaced.deviceId, 'adopt', {}), 422, 'required'],
    [await change(replaced.deviceId, 'adopt', { reason }, stranger), 404, 'not_found'],
    [await change(replaced.deviceId, 'unblock'), 409, 'device_not_blocked'],
    [await change(online.deviceId, 'unblock'), 409, 'device_not_blocked'],
    [await change(blocked.deviceId, 'unblock', { reason }, stranger), 404, 'not_found'],
    [await change(newId('dev'), 'unblock'), 404, 'not_found'],
    [await change('dev_x', 'adopt'), 404, 'not_found'],
  ] as const;
  for (const [answer, status, code] of refusals) expect([answer.status, answer.body.code]).toEqual([status, code]);
  expect(await fixture.world()).toBe(before);
});

describe('documents of a module that is gone', () => {
  const reason = 'read out at the service centre';
  const receiptOf = (terminalId: string, deviceId: string, receiptSeq: number): Promise<string> =>
    fixture.createReceipt(
      fixture.merchantId,
      { deviceId, terminalId },
      { status: 'registered', fiscal: { receiptSeq } },
    );
  const statusOf = async (id: string): Promise<unknown> =>
    (await fixture.prisma.receipt.findFirstOrThrow({ where: { id } })).ofdStatus;

  test('are noted as delivered, as far as they were: each once, with its event, on record', async () => {
    const { deviceId, terminalId: present } = await fixture.createDevice();
    const gone = `${present.slice(0, -1)}X`;
    const receipts = await Promise.all([7, 8, 9].map((seq) => receiptOf(gone, deviceId, seq)));
    const [first = '', second = '', third = ''] = receipts;
    const kept = await receiptOf(present, deviceId, 8);
    const say = (more: object = {}) => change(deviceId, 'delivered', { terminal_id: gone, reason, ...more });
    expect(await say({ up_to_seq: 8 })).toEqual({ status: 200, body: { receipts: 2 } });
    expect(await Promise.all([first, second, third, kept].map(statusOf))).toEqual([
      'sent',
      'sent',
      'pending',
      'pending',
    ]);
    expect(await fixture.events(first)).toMatchObject([{ type: 'receipt.ofd_sent' }]);
    expect((await say()).body).toEqual({ receipts: 1 });
    expect((await say()).body).toEqual({ receipts: 0 });
    expect(await statusOf(kept)).toBe('pending');
    expect((await fixture.audited(deviceId))[0]).toMatchObject({
      action: 'device.delivered',
      after: { terminal_id: gone, up_to_seq: 8, receipts: 2, reason },
    });
  });

  test('of a deleted device too; not while the device has the module, and of no other merchant', async () => {
    const { deviceId, terminalId } = await fixture.createDevice();
    const receipt = await receiptOf(terminalId, deviceId, 7);
    const body = { terminal_id: terminalId, reason };
    const stranger = await fixture.createToken(await fixture.createMerchant(), ['operator:resolve']);
    const before = await fixture.world();
    const refusals = [
      [await change(deviceId, 'delivered', body), 409, 'terminal_still_watched'],
      [await change(deviceId, 'delivered', body, stranger), 404, 'not_found'],
      [await change(newId('dev'), 'delivered', body), 404, 'not_found'],
      [await change(deviceId, 'delivered', { reason }), 422, 'required'],
      [await change(deviceId, 'delivered', { terminal_id: 'x'.repeat(64), reason }), 422, 'too_long'],
      [await change(deviceId, 'delivered', { ...body, up_to_seq: 0 }), 422, 'out_of_range'],
      [await change(deviceId, 'delivered', { terminal_id: terminalId }), 422, 'required'],
    ] as const;
    expect(
      refusals.map(
        ([
          {
            status,
            body: { code },
          },
        ]) => [status, code],
      ),
    ).toEqual(refusals.map(([, status, code]) => [status, code]));
    const nothing = await change(deviceId, 'delivered', { terminal_id: `${terminalId.slice(0, -1)}Y`, reason });
    expect(nothing).toEqual({ status: 200, body: { receipts: 0 } });
    expect(await fixture.world()).toBe(before);
    await fixture.prisma.device.update({ where: { id: deviceId }, data: { deletedAt: new Date() } });
    expect(await change(deviceId, 'delivered', body)).toEqual({ status: 200, body: { receipts: 1 } });
    expect(await statusOf(receipt)).toBe('sent');
  });
});

test('documents that a module put back from a copy does not know can be noted as delivered before it is adopted', async () => {
  const { deviceId, terminalId } = await fixture.createDevice({ state: 'replaced' });
  const fiscal = { receiptSeq: 9 };
  await fixture.createReceipt(fixture.merchantId, { deviceId, terminalId }, { status: 'registered', fiscal });
  const answer = await change(deviceId, 'delivered', { terminal_id: terminalId, reason });
  expect(answer).toEqual({ status: 200, body: { receipts: 1 } });
});

test('five adoptions at once are one', async () => {
  const { deviceId } = await fixture.createDevice({ state: 'replaced' });
  const answers = await Promise.all(Array.from({ length: 5 }, () => change(deviceId, 'adopt')));
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409, 409]);
  expect(await fixture.audited(deviceId)).toHaveLength(1);
});
