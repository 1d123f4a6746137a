// Promise: a registration that is one too many is taken back at its own module, once, and no money moves with it.
import 'reflect-metadata';
import { superuserOf } from '#database/testing';
import { claimOf, link, OperatorFixture, SIGN, type TestAttempt } from './testing/operator-fixture.js';
import { untilTrue } from '../../../../libs/runtime/src/testing/until.js';

const SHIFT = `sht_${'0'.repeat(26)}`;

interface Reported {
  data: Record<string, unknown>[];
}

let fixture: OperatorFixture;

beforeAll(async () => {
  fixture = await OperatorFixture.start();
});

afterAll(() => fixture?.stop());

const duplicate = (attempt: TestAttempt, more: Record<string, unknown> = {}): Record<string, unknown> => ({
  ...{ decision: 'duplicate', reason: 'seen in the register’s journal' },
  ...claimOf(attempt),
  ...more,
});

test('registered, and this very registration is one too many', async () => {
  const attempt = await fixture.createAttempt({ outcome: { difference: '+2 documents' } });
  const answer = await fixture.resolve(attempt.attemptId, duplicate(attempt));
  expect([answer.status, answer.body.receipt.status]).toEqual([200, 'registered']);
  const { outcome } = await fixture.attempt(attempt.attemptId);
  expect(outcome).toMatchObject({
    difference: '+2 documents',
    resolution: { decision: 'duplicate', receipt_seq: 101, surplus: { receipt_seq: 101, fiscal_sign: SIGN } },
  });
  const types = (await fixture.events(attempt.receiptId)).map(({ type }) => type);
  expect(types).toEqual(['receipt.registered', 'receipt.duplicate_suspected']);
  const refundId = answer.body.refund_id ?? '';
  expect(await fixture.audited(attempt.attemptId)).toMatchObject([
    { after: { decision: 'duplicate', refund_id: refundId } },
  ]);
  // Nothing of it is left to be refunded by the merchant.
  expect((await fixture.get(`/v1/receipts/${attempt.receiptId}`)).body).toMatchObject({
    refunded: { total: 112_000, complete: true },
  });
  expect(await fixture.receipt(refundId)).toMatchObject({ type: 'refund', status: 'accepted' });
});

test('registered twice: the other document is named', async () => {
  const attempt = await fixture.createAttempt();
  const other = '999999999999';
  const surplus = { receipt_seq: 102, fiscal_sign: other, verification_url: link(attempt.terminalId, 102, other) };
  const answer = await fixture.resolve(attempt.attemptId, duplicate(attempt, { surplus }));
  expect(answer.status).toBe(200);
  expect(answer.body.receipt.fiscal?.receipt_seq).toBe(101);
  const [, event] = await fixture.events(attempt.receiptId);
  expect(event).toMatchObject({ data: { receipt_seq: 102, fiscal_sign: other, terminal_id: attempt.terminalId } });
  // It is taken back whole, by the module that has it; the sale itself stays sold.
  const refundId = answer.body.refund_id ?? '';
  expect(await fixture.receipt(refundId)).toMatchObject({
    ...{ type: 'refund', status: 'accepted', refundOf: attempt.receiptId, deviceId: attempt.deviceId },
    document: {
      lines: [{ line: 1, originalLine: 1, totalTiyin: 112_000 }],
      payment: { method: 'cash', cashTiyin: 112_000 },
      refundInfo: { terminalId: attempt.terminalId, receiptSeq: 102, dateTime: '20260102T080405', fiscalSign: other },
    },
  });
  expect(await fixture.events(refundId)).toMatchObject([{ type: 'refund.accepted' }]);
  expect((await fixture.get(`/v1/receipts/${attempt.receiptId}`)).body).toMatchObject({
    refunded: { total: 0, complete: false },
  });
  await untilTrue(() => fixture.rung.includes(attempt.deviceId), 'the bell');
});

test('after a restore: the same number in a module that is gone is another document, which no register can take back', async () => {
  const attempt = await fixture.createAttempt();
  await fixture.prisma.$executeRaw`INSERT INTO database_identity (identity, changed_at) VALUES ('x', now())`;
  const elsewhere = {
    receipt_seq: 101,
    fiscal_sign: SIGN,
    verification_url: link(`${attempt.terminalId}9`, 101, SIGN),
  };
  const decision = duplicate(attempt, { surplus: elsewhere });
  expect((await fixture.resolve(attempt.attemptId, decision)).body).toMatchObject({
    errors: [{ pointer: '/surplus/verification_url', detail: expect.stringContaining('confirm_terminal') }],
  });
  const answer = await fixture.resolve(attempt.attemptId, { ...decision, confirm_terminal: true });
  expect([answer.status, answer.body.refund_id]).toEqual([200, null]);
  expect(answer.body.receipt.fiscal).toMatchObject({ terminal_id: attempt.terminalId, receipt_seq: 101 });
  const [, event] = await fixture.events(attempt.receiptId);
  expect(event).toMatchObject({
    type: 'receipt.duplicate_suspected',
    data: { terminal_id: `${attempt.terminalId}9`, receipt_seq: 101 },
  });
  await fixture.prisma.$executeRaw`DELETE FROM database_identity`;
});

test('the buyer, whose purchase stands, gets no message of a refund; of a sale that is undone there is one', async () => {
  const notify = { channels: ['sms'], language: 'uz' };
  const other = '999999999999';
  const found: unknown[] = [];
  for (const isSurplus of [true, false]) {
    const attempt = await fixture.createAttempt();
    await wish(attempt.receiptId, notify);
    const surplus = { receipt_seq: 102, fiscal_sign: other, verification_url: link(attempt.terminalId, 102, other) };
    const { body } = await fixture.resolve(attempt.attemptId, duplicate(attempt, isSurplus ? { surplus } : {}));
    const { document } = await fixture.receipt(body.refund_id ?? '');
    found.push((document as { notify?: unknown }).notify);
  }
  expect(found).toEqual([undefined, notify]);
});

/** As its sale has asked for it. */
async function wish(receiptId: string, notify: object): Promise<void> {
  const client = await superuserOf(fixture.database);
  const statement = `UPDATE receipts SET document = jsonb_set(document, '{notify}', $2::jsonb) WHERE id = $1`;
  await client.query(statement, [receiptId, JSON.stringify(notify)]);
  await client.end();
}

test('what has no sign, or is a refund itself, is left to people', async () => {
  const refund = await fixture.createAttempt({ type: 'refund' });
  const advance = await fixture.createAttempt({ type: 'advance' });
  const unsigned = { fiscal_sign: undefined, verification_url: undefined };
  for (const [attempt, more] of [
    [refund, {}],
    [advance, unsigned],
  ] as const) {
    const answer = await fixture.resolve(attempt.attemptId, duplicate(attempt, more));
    expect([answer.status, answer.body.refund_id]).toEqual([200, null]);
  }
});

test('registered twice and taken back: the turnover is that of one sale, and the Z-report of all three documents is equal', async () => {
  const attempt = await fixture.createAttempt();
  const { deviceId, terminalId, merchantId } = attempt;
  const other = '888888888888';
  const surplus = { receipt_seq: 102, fiscal_sign: other, verification_url: link(terminalId, 102, other) };
  const { body } = await fixture.resolve(attempt.attemptId, duplicate(attempt, { surplus }));
  await fixture.prisma.$executeRaw`
    UPDATE receipts SET status = 'registered', terminal_id = ${terminalId}, receipt_seq = 103, fiscal_sign = '777777777777',
                        verification_url = ${link(terminalId, 103, '777777777777')}, evidence = 'answer', ofd_status = 'sent',
                        registered_at = '2026-01-02T03:10:00Z'
     WHERE id = ${body.refund_id}`;
  const shift = { deviceId, terminalId, merchantId, number: 1, openedAt: new Date('2026-01-02T01:00:00Z') };
  await fixture.prisma.device.update({ where: { id: deviceId }, data: { profile: { sharing: 'exclusive' } } });
  await fixture.prisma.shift.create({ data: { ...shift, id: SHIFT, closedAt: new Date('2026-01-02T09:00:00Z') } });
  const totals = {
    ...{ TotalSaleCash: 224_000, TotalSaleCard: 0, TotalSaleVAT: 24_000, TotalSaleCount: 2 },
    ...{ TotalRefundCash: 112_000, TotalRefundCard: 0, TotalRefundVAT: 12_000, TotalRefundCount: 1 },
  };
  await fixture.prisma.zReport.create({ data: { shiftId: SHIFT, totals, ofdStatus: 'sent' } });
  const report = async (path: string): Promise<Record<string, unknown>[]> =>
    ((await fixture.get(`/v1/reports/${path}&from=2026-01-02&to=2026-01-02`)).body as unknown as Reported).data;
  expect((await report('turnover?by=device')).find(({ key }) => key === deviceId)).toMatchObject({
    ...{ sales: { count: 1, total: 112_000 }, refunds: { count: 0 }, net_total: 112_000, net_vat: 12_000 },
  });
  expect(await report(`reconciliation?device_id=${deviceId}`)).toMatchObject([{ result: 'equal', difference: null }]);
});

test('the surplus must be another document, its own and of no other receipt', async () => {
  const attempt = await fixture.createAttempt();
  const { deviceId, terminalId } = attempt;
  await fixture.createReceipt(
    attempt.merchantId,
    { deviceId, terminalId },
    {
      status: 'registered',
      fiscal: { receiptSeq: 105, sign: SIGN },
    },
  );
  const surplus = (seq: number, of = seq): Record<string, unknown> => ({
    surplus: { receipt_seq: seq, fiscal_sign: SIGN, verification_url: link(terminalId, of, SIGN) },
  });
  const before = await fixture.world();
  const refusals = [
    [surplus(101), 422, 'duplicate', '/surplus/receipt_seq'],
    [surplus(102, 103), 422, 'contradicts_link', '/surplus/verification_url'],
    [surplus(100), 422, 'contradicts_reading', '/surplus/receipt_seq'],
    [surplus(105), 409, 'sequence_taken', '/surplus/receipt_seq'],
    [{ surplus: { receipt_seq: 102 } }, 422, 'required', '/surplus/fiscal_sign'],
  ] as const;
  for (const [more, status, code, pointer] of refusals) {
    const answer = await fixture.resolve(attempt.attemptId, duplicate(attempt, more));
    expect([answer.status, answer.body.code, answer.body.errors[0]?.pointer]).toEqual([status, code, pointer]);
  }
  expect(await fixture.world()).toBe(before);
});

test('200 though a false register of another merchant has left both sequences', async () => {
  const attempt = await fixture.createAttempt();
  const { terminalId } = attempt;
  await fixture.createRowsOfFalseRegister(terminalId, [101, 102]);
  const surplus = { receipt_seq: 102, fiscal_sign: SIGN, verification_url: link(terminalId, 102, SIGN) };
  const { status, body } = await fixture.resolve(attempt.attemptId, duplicate(attempt, { surplus }));
  expect([status, body.receipt.status, body.receipt.fiscal?.receipt_seq]).toEqual([200, 'registered', 101]);
});
