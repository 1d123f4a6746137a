import {
  parseVerificationLink,
  tashkentCompact,
  tashkentDateTime,
  tashkentIsoBasic,
  type LocalItem,
} from '#fiscal-domain';
import { withRegister, type TestRegister, type TestRegisterOptions } from '../register-fixture.js';
import { item, sale, VODKA, WATER } from '../samples.js';
import type { Proof } from './rule-proofs.js';
import type { Row } from './specification.js';

function on(work: (register: TestRegister) => Promise<void>, options: TestRegisterOptions = {}): Proof {
  return () => withRegister(options, work);
}

async function expectRefused(
  answer: Promise<{ status: number; body: unknown }>,
  { status, code, reason }: { status: number; code: string; reason: string },
): Promise<void> {
  expect(await answer).toMatchObject({ status, body: { success: false, error: { code, details: { reason } } } });
}

/** refundInfo of a sale response, as a client makes it: the link's `c` with a literal T. */
export function refundInfoOf({ receipt }: { receipt: { terminalId: string; receiptSeq: number; qrUrl: string } }): {
  terminalId: string;
  receiptSeq: number;
  dateTime: string;
  fiscalSign: string;
} {
  const link = parseVerificationLink(receipt.qrUrl);
  if (!link) throw new Error('no verification link');
  const { terminalId, receiptSeq, compactTime, fiscalSign } = link;
  return { terminalId, receiptSeq, dateTime: `${compactTime.slice(0, 8)}T${compactTime.slice(8)}`, fiscalSign };
}

export const LIFE_PROOFS: Partial<Record<Row, Proof>> = {
  'error: F-001 a broken journal': () =>
    withRegister({}, async (register) => {
      for (let count = 0; count < 3; count += 1) await register.sell(sale());
      await register.tamper("UPDATE documents SET payload = replace(payload, 'Non', 'Nan') WHERE seq = 2");
      const { status, body } = await register.sell(sale());
      expect({ status, code: body.error.code, details: body.error.details }).toEqual({
        status: 503,
        code: 'F-001',
        details: { reason: 'chain_broken', receiptSeq: 2, chain: 'the content does not match its digest' },
      });
      expect(body.error.message).toContain('receipt 2');
      expect((await register.call('GET', '/status')).body.fmInitialized).toBe(false);
      expect((await register.call('GET', '/fm/info')).body.currentReceiptSeq).toBe(3);
    }),
  'error: F-002 no shift open': on(
    async (register) => {
      await expectRefused(register.sell(sale()), { status: 409, code: 'F-002', reason: 'shift_not_open' });
      await expectRefused(register.call('POST', '/z-report/close'), {
        status: 409,
        code: 'F-002',
        reason: 'shift_not_open',
      });
    },
    { openShift: false },
  ),
  'error: F-003 memory full': on(
    async (register) => {
      await register.ofd('/faults', { mode: 'error' });
      await register.sell(sale());
      await register.sell(sale());
      await expectRefused(register.sell(sale()), { status: 503, code: 'F-003', reason: 'memory_full' });
      await register.ofd('/faults', { mode: 'ok' });
      await register.call('POST', '/receipts/send-unsent');
      expect((await register.sell(sale())).status).toBe(200);
    },
    { environment: { FM_RECEIPT_CAPACITY: '2' } },
  ),
  'error: F-005 shift already open, shift empty': on(async (register) => {
    const refused = { status: 409, code: 'F-005' };
    await expectRefused(register.call('POST', '/z-report/open'), { ...refused, reason: 'shift_already_open' });
    await expectRefused(register.call('POST', '/z-report/close'), { ...refused, reason: 'shift_empty' });
  }),
  'error: S-005 another document under a used key': on(async (register) => {
    await register.sell(sale(), 'key-1');
    const other = register.sell(sale({ received: { cash: 0, card: 2_000_000 } }), 'key-1');
    await expectRefused(other, { status: 409, code: 'S-005', reason: 'idempotency_conflict' });
  }),
  'error: T-001 and T-003 in ofdError and in errors[]': on(async (register) => {
    for (const [mode, code] of [
      ['error', 'T-001'],
      ['down', 'T-001'],
      ['reject', 'T-003'],
    ] as const) {
      await register.ofd('/faults', { mode });
      const { body } = await register.sell(sale());
      expect(body).toMatchObject({ success: true, ofdSent: false, ofdError: expect.stringContaining(code) });
      const resent = await register.call('POST', '/receipts/send-unsent');
      expect(resent.body.errors[0]).toEqual({ receiptSeq: 1, code, message: expect.any(String) });
    }
  }),
  'transition: no open shift -> shift open': on(
    async (register) => {
      expect(await register.call('POST', '/z-report/open', {})).toMatchObject({ status: 200, body: { success: true } });
      expect((await register.call('GET', '/z-report/current')).body.Header).toMatchObject({ Number: 1, CloseTime: '' });
    },
    { openShift: false },
  ),
  'transition: shift open -> receipt registered': on(async (register) => {
    expect((await register.sell(sale())).body).toMatchObject({ success: true, ofdSent: true });
    expect((await register.call('GET', '/z-report/current')).body).toMatchObject({ TotalSaleCount: 1 });
  }),
  'transition: receipt registered -> OFD-unsent when the OFD is unavailable': on(async (register) => {
    await register.ofd('/faults', { mode: 'down' });
    const { status, body } = await register.sell(sale());
    expect(status).toBe(200);
    expect(body).toMatchObject({ success: true, ofdSent: false });
    expect(body.ofdError).toContain('all OFD servers failed');
    expect((await register.call('GET', '/fm/info')).body.receiptCount).toBe(1);
  }),
  'transition: OFD-unsent -> OFD-sent by send-unsent': on(async (register) => {
    await register.ofd('/faults', { mode: 'down', next: 1 });
    await register.sell(sale());
    const { body } = await register.call('POST', '/receipts/send-unsent', {});
    expect(body).toEqual({ success: true, total: 1, sent: 1, failed: 0, errors: [] });
    expect((await register.call('GET', '/fm/info')).body.receiptCount).toBe(0);
    expect((await register.call('GET', '/receipts/1')).body).toMatchObject({ ofdSent: true });
  }),
  'transition: shift open -> shift closed, Z-report sent': on(async (register) => {
    await register.sell(sale());
    const { body } = await register.call('POST', '/z-report/close');
    expect(body).toMatchObject({ success: true, zReport: { number: 1 }, ofdSent: true });
    expect((await register.ofd('/z-reports')).data).toMatchObject([{ seq: 1, cash: 2_000_000, documents: 1 }]);
    expect((await register.call('GET', '/z-report/stats')).body).toEqual({
      totalClosed: 1,
      totalUnacked: 0,
      unackedNumbers: [],
    });
  }),
  'transition: shift closed while the OFD is unavailable -> closed, unacknowledged': on(async (register) => {
    await register.sell(sale());
    await register.ofd('/faults', { mode: 'error' });
    const { body } = await register.call('POST', '/z-report/close');
    expect(body).toMatchObject({ success: true, ofdSent: false, ofdError: expect.stringContaining('T-001') });
    expect((await register.call('GET', '/z-report/stats')).body).toEqual({
      totalClosed: 1,
      totalUnacked: 1,
      unackedNumbers: [1],
    });
  }),
  'transition: closed, unacknowledged -> acknowledged by send-unsent': on(async (register) => {
    await register.sell(sale());
    await register.ofd('/faults', { mode: 'error', next: 2 });
    await register.call('POST', '/z-report/close');
    const failed = await register.call('POST', '/z-report/send-unsent');
    expect(failed.body).toMatchObject({
      success: false,
      total: 1,
      sent: 0,
      failed: 1,
      errors: [{ number: 1, code: 'T-001' }],
    });
    const { body } = await register.call('POST', '/z-report/send-unsent', {});
    expect(body).toEqual({ success: true, total: 1, sent: 1, failed: 0, errors: [] });
    const stats = { totalClosed: 1, totalUnacked: 0, unackedNumbers: [] };
    expect((await register.call('GET', '/z-report/stats')).body).toEqual(stats);
    await register.call('POST', '/z-report/open');
    expect((await register.call('GET', '/z-report/stats')).body).toEqual(stats);
  }),
  'z-report: current is the last closed one without an open shift, F-002 if there never was one': on(
    async (register) => {
      expect(await register.call('GET', '/z-report/current')).toMatchObject({
        status: 409,
        body: { error: { code: 'F-002' } },
      });
      await register.call('POST', '/z-report/open');
      await register.sell(sale());
      await register.call('POST', '/z-report/close');
      const { body } = await register.call('GET', '/z-report/current');
      expect(body).toMatchObject({ Header: { Number: 1 }, TotalSaleCash: 2_000_000, TotalSaleVAT: 214_286 });
      expect(body.Header.CloseTime).not.toBe('');
    },
    { openShift: false },
  ),
  'z-report: open and close take no body or {}': on(async (register) => {
    for (const body of [undefined, {}, '']) {
      await register.sell(sale());
      expect((await register.call('POST', '/z-report/close', body)).status).toBe(200);
      expect((await register.call('POST', '/z-report/open', body)).status).toBe(200);
    }
  }),
  'z-report: times have the documented forms': on(async (register) => {
    const { receipt } = (await register.sell(sale())).body;
    const { closeTime } = (await register.call('POST', '/z-report/close')).body.zReport;
    expect(closeTime).toMatch(/^\d{8}T\d{6}$/);
    const { Header } = (await register.call('GET', '/z-report/current')).body as {
      Header: { OpenTime: string; CloseTime: string };
    };
    expect(Header.OpenTime).toMatch(/^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}$/);
    expect(Header.CloseTime.replaceAll(/[-:]/g, '').replace(' ', 'T')).toBe(closeTime);
    expect(closeTime >= tashkentIsoBasic(receipt.transactionTime)).toBe(true);
    expect(Header.OpenTime <= tashkentDateTime(receipt.transactionTime)).toBe(true);
  }),
  'sale: qrUrl carries t, r, c and s of the receipt': on(async (register) => {
    const { receipt } = (await register.sell(sale())).body;
    const { searchParams } = new URL(receipt.qrUrl);
    expect(Object.fromEntries(searchParams)).toEqual({
      t: receipt.terminalId,
      r: String(receipt.receiptSeq),
      c: tashkentCompact(receipt.transactionTime),
      s: receipt.fiscalSign,
    });
  }),
  'sale: advance and credit have neither fiscalSign nor qrUrl': on(async (register) => {
    for (const type of ['advance', 'credit'] as const) {
      const { body } = await register.sell(sale({ type }));
      expect(body.receipt).toEqual({
        terminalId: expect.any(String),
        receiptSeq: expect.any(Number),
        transactionTime: expect.any(Number),
      });
      expect(body.receiptHtml).not.toContain('<svg');
    }
    expect((await register.sell(sale())).body.receipt.receiptSeq).toBe(3);
    expect((await register.call('GET', '/fm/info')).body).toMatchObject({ AccumulatedSaleCash: 2_000_000 });
  }),
  'refund: refundInfo names the sale; wrong sign or time is F-005': on(async (register) => {
    const refundInfo = refundInfoOf((await register.sell(sale())).body);
    const refund = (changes: object): Promise<{ status: number; body: unknown }> =>
      register.sell({ ...sale({ type: 'refund' }), refundInfo: { ...refundInfo, ...changes } });
    const mismatch = { status: 409, code: 'F-005', reason: 'refund_mismatch' };
    await expectRefused(refund({ fiscalSign: '000000000000' }), mismatch);
    await expectRefused(refund({ dateTime: '20200101T000000' }), mismatch);
    await expectRefused(refund({ receiptSeq: 9 }), { ...mismatch, reason: 'refund_receipt_unknown' });
    const { status, body } = (await refund({})) as { status: number; body: { receipt: { fiscalSign: string } } };
    expect(status).toBe(200);
    expect(body.receipt.fiscalSign).toMatch(/^\d{12}$/);
    expect((await register.call('GET', '/z-report/current')).body).toMatchObject({
      TotalRefundCash: 2_000_000,
      TotalRefundVAT: 214_286,
      TotalRefundCount: 1,
    });
  }),
  'refund: more than was sold is F-005': on(async (register) => {
    const refundInfo = refundInfoOf((await register.sell(sale())).body);
    const refund = { ...sale({ type: 'refund' }), refundInfo };
    const excess = { status: 409, code: 'F-005', reason: 'refund_exceeds_sales' };
    await expectRefused(register.sell({ ...refund, received: { cash: 0, card: 2_000_000 } }), excess);
    expect((await register.sell(refund)).status).toBe(200);
    await expectRefused(register.sell(refund), excess);
  }),
  'refund: goods that were marked, repackaged or barred from cash since the sale': on(async (register) => {
    const refundInfo = refundInfoOf((await register.sell(sale())).body);
    const became: [string, Partial<LocalItem>][] = [
      ['E-004', { ...WATER, packageCode: undefined, amount: 500 }],
      ['E-014', { packageCode: '1500003' }],
      ['E-003', { ...VODKA, packageCode: undefined, labels: ['label-1'] }],
    ];
    for (const [code, changes] of became) {
      const document = sale({ items: [item({ price: 500_000, ...changes })], received: { cash: 250_000, card: 0 } });
      expect((await register.sell(document)).body).toMatchObject({ success: false, error: { code } });
      const refund = { ...document, type: 'refund', refundInfo };
      expect((await register.sell(refund)).body).toMatchObject({ success: true });
    }
  }),
  'money: sums and VAT are those of the lines whatever vat the wire says': on(async (register) => {
    // By the letter the wire's vat is that of one unit; the books need that of the line.
    const line = item({ price: 1_000_000, amount: 2000, discount: 500_000, vat: 107_143 });
    await register.sell(sale({ items: [line], received: { cash: 1_500_000, card: 0 } }));
    expect((await register.call('GET', '/fm/info')).body).toMatchObject({ AccumulatedSaleVAT: 160_714 });
    expect((await register.call('GET', '/z-report/current')).body).toMatchObject({ TotalSaleVAT: 160_714 });
  }),
};
