// Breaks if a client written against the specification would notice a difference in the main calls.
import {
  MAX_BARCODE_BYTES,
  MAX_CODE_BYTES,
  MAX_ITEMS,
  MAX_LABEL_BYTES,
  MAX_LABELS,
  MAX_LOCAL_ANSWER_BYTES,
  MAX_LOCAL_REQUEST_BYTES,
  parseVerificationLink,
} from '#fiscal-domain';
import { startTestRegister, type TestRegister } from '../testing/register-fixture.js';
import { item, sale } from '../testing/samples.js';

describe('the local API', () => {
  let register: TestRegister;
  beforeEach(async () => {
    register = await startTestRegister();
  });
  afterEach(() => register.close());

  test('405 names the methods of the path, those of the extensions only where they are served', async () => {
    const allowed = async (method: string, path: string): Promise<unknown> => {
      const { status, headers, body } = await register.call(method, path);
      return [status, headers.get('allow'), body.error.code];
    };
    expect(await allowed('DELETE', '/receipts')).toEqual([405, 'GET, POST', 'S-002']);
    expect(await allowed('PUT', '/receipts/1')).toEqual([405, 'GET', 'S-002']);
    expect(await allowed('GET', '/receipts/send-unsent')).toEqual([405, 'POST', 'S-002']);
    await register.restart({ REGISTER_EXTENSIONS: 'off' });
    expect(await allowed('DELETE', '/receipts')).toEqual([405, 'POST', 'S-002']);
    expect(await allowed('GET', '/receipts')).toEqual([405, 'POST', 'S-002']);
    expect(await allowed('PUT', '/receipts/1')).toEqual([404, null, 'S-002']);
    expect(await allowed('GET', '/receipts/send-unsent')).toEqual([405, 'POST', 'S-002']);
  });

  test('a sale is registered, signed, delivered and answered with a link that carries t, r, c and s', async () => {
    const { status, body } = await register.sell(sale());
    expect(status).toBe(200);
    expect(body).toMatchObject({ success: true, ofdSent: true, receipt: { receiptSeq: 1 } });
    expect(body.receipt.fiscalSign).toMatch(/^\d{12}$/);
    expect(body.receipt.terminalId).toMatch(/^ZZ\d{12}$/);
    expect(parseVerificationLink(body.receipt.qrUrl)).toMatchObject({
      terminalId: body.receipt.terminalId,
      receiptSeq: 1,
      fiscalSign: body.receipt.fiscalSign,
    });
    expect(body).not.toHaveProperty('ofdError');
    const { data } = await register.ofd('/documents');
    expect(data).toMatchObject([{ seq: 1, type: 'sale', cash: 2_000_000, vat: 214_286, deliveries: 1 }]);
    const info = await register.call('GET', '/fm/info');
    expect(info.body).toMatchObject({
      currentReceiptSeq: 1,
      receiptCount: 0,
      AccumulatedSaleCash: 2_000_000,
      AccumulatedSaleCard: 0,
      AccumulatedSaleVAT: 214_286,
    });
  });

  test('the largest request that it takes has an answer that is read, also when it is asked for again', async () => {
    // Texts that grow most on paper, in as many lines as there may be.
    const widest = (bytes: number): string => '"'.repeat(bytes);
    const items = Array.from({ length: MAX_ITEMS }, (_, index) =>
      item({
        ...{
          name: widest(63),
          barcode: widest(MAX_BARCODE_BYTES),
          price: 10_000,
          amount: MAX_LABELS * 1000,
          discount: 1,
        },
        commission: { tin: '301234567', pinfl: '31234567890123' },
        labels: Array.from({ length: MAX_LABELS }, () => (index < 2 ? widest(MAX_LABEL_BYTES) : 'x')),
      }),
    );
    const request = { ...sale({ items, received: { cash: 0, card: MAX_ITEMS * (MAX_LABELS * 10_000 - 1) } }), pad: '' };
    request.pad = 'x'.repeat(MAX_LOCAL_REQUEST_BYTES - JSON.stringify(request).length);
    const answer = await register.sell(request, 'largest');
    expect(answer.status).toBe(200);
    const bytes = Buffer.byteLength(JSON.stringify(answer.body));
    expect(bytes).toBeLessThan(0.75 * MAX_LOCAL_ANSWER_BYTES);
    expect((await register.call('GET', '/receipts?key=largest')).body).toEqual(answer.body);
    // A refund takes texts that a sale does not: a package code that is none, a terminal and a sign of others.
    const widestCode = '&'.repeat(MAX_CODE_BYTES);
    const refund = await register.sell({
      ...{ ...request, type: 'refund', pad: '', items: items.map((one) => ({ ...one, packageCode: widestCode })) },
      ...{ refundInfo: { terminalId: widestCode, receiptSeq: 1, dateTime: '20260101T000000', fiscalSign: widestCode } },
    });
    expect(refund.status).toBe(200);
    expect(Buffer.byteLength(JSON.stringify(refund.body))).toBeLessThan(0.75 * MAX_LOCAL_ANSWER_BYTES);
    const sent = (await register.ofd('/documents')) as { data: { items: { labels: string[] }[] }[] };
    expect(sent.data[0]?.items.map(({ labels }) => labels.length)).toEqual(items.map(() => MAX_LABELS));
  });

  test.each(['refundInfo.terminalId', 'refundInfo.fiscalSign', 'packageCode'])(
    'a refund whose %s would make an answer that no caller reads is refused, and registers nothing',
    async (field) => {
      await register.sell(sale());
      const endless = '&'.repeat(900_000);
      const info = { terminalId: 'UZ000000000001', receiptSeq: 1, dateTime: '20260101T000000', fiscalSign: '1' };
      const [, inInfo] = field.split('.');
      const refundInfo = inInfo === undefined ? info : { ...info, [inInfo]: endless };
      const items = [inInfo === undefined ? item({ packageCode: endless }) : item()];
      const answer = await register.sell(sale({ type: 'refund', items, refundInfo }), `endless ${field}`);
      expect(answer).toMatchObject({ status: 400, body: { error: { code: 'S-003', details: { field } } } });
      expect((await register.call('GET', '/fm/info')).body.currentReceiptSeq).toBe(1);
    },
  );

  test('a payment that does not add up is F-005 where the module compares, else registered as sent', async () => {
    const unpaid = sale({ received: { cash: 0, card: 0 } });
    expect((await register.sell(unpaid)).status).toBe(200);
    await register.restart({ FM_PAYMENT_TOLERANCE_TIYIN: '10000' });
    const refused = await register.sell(unpaid, 'unpaid');
    expect(refused).toMatchObject({
      status: 409,
      body: { success: false, error: { code: 'F-005', details: { reason: 'payment_mismatch', paidTiyin: 0 } } },
    });
    // Within 10 000 tiyin below, and 100 above: E-009 is the narrower bound.
    const sold = await register.sell(sale({ received: { cash: 1_990_000, card: 0 } }), 'unpaid');
    expect(sold).toMatchObject({ status: 200, body: { receipt: { receiptSeq: 2 } } });
  });

  test('a sale without an open shift is F-002 and registers nothing; the same key works after opening', async () => {
    await register.sell(sale());
    await register.call('POST', '/z-report/close', {});
    const refused = await register.sell(sale(), 'key-1');
    expect(refused).toMatchObject({ status: 409, body: { success: false, error: { code: 'F-002' } } });
    await register.call('POST', '/z-report/open', {});
    expect((await register.sell(sale(), 'key-1')).body.receipt.receiptSeq).toBe(2);
  });

  test('the same key answers with the stored registration, another body under it is S-005', async () => {
    const first = await register.sell(sale(), 'key-1');
    const again = await register.sell(sale(), 'key-1');
    expect(again.body).toEqual(first.body);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    const other = await register.sell(sale({ items: [item({ name: 'Suv' })] }), 'key-1');
    expect(other).toMatchObject({
      status: 409,
      body: { error: { code: 'S-005', details: { reason: 'idempotency_conflict' } } },
    });
    expect((await register.call('GET', '/fm/info')).body.currentReceiptSeq).toBe(1);
  });

  test('the same key from 50 connections at once registers once', async () => {
    const answers = await Promise.all(Array.from({ length: 50 }, () => register.sell(sale(), 'key-1')));
    expect(new Set(answers.map(({ body }) => JSON.stringify(body)))).toHaveProperty('size', 1);
    expect((await register.ofd('/documents')).data).toHaveLength(1);
  });

  test('the journal finds a receipt by number and by key, and says 404 for what it does not hold', async () => {
    const sold = await register.sell(sale(), 'key 1/ü'.replace('ü', 'u'));
    expect((await register.call('GET', '/receipts/1')).body).toEqual(sold.body);
    expect((await register.call('GET', '/receipts?key=key%201%2Fu')).body).toEqual(sold.body);
    for (const path of ['/receipts/2', '/receipts/x', '/receipts?key=other']) {
      expect(await register.call('GET', path)).toMatchObject({ status: 404, body: { error: { code: 'S-002' } } });
    }
  });

  test('status answers without a key and announces capabilities; everything else wants the key', async () => {
    const status = await fetch(`${register.url}/status`);
    expect(await status.json()).toMatchObject({
      fmInitialized: true,
      activated: true,
      subscriptionState: 'active',
      capabilities: ['idempotency', 'journal', 'commission', 'customer', 'payment_provider'],
      port: Number(new URL(register.url).port),
    });
    expect(status.headers.get('x-subscription-state')).toBeNull();
    expect((await register.call('GET', '/fm/info')).headers.get('x-classifier-version')).toBe('1');
    const denied = await register.call('GET', '/fm/info', undefined, { 'x-api-key': 'wrong' });
    expect(denied).toMatchObject({ status: 401, body: { error: { code: 'S-001' } } });
    expect(denied.headers.get('x-subscription-state')).toBe('active');
  });

  test('after a restart sequence, journal, sums and journalId go on', async () => {
    await register.sell(sale(), 'key-1');
    const before = [await register.call('GET', '/fm/info'), await register.call('GET', '/status')];
    await register.restart();
    expect((await register.call('GET', '/fm/info')).body).toEqual(before[0]?.body);
    expect((await register.call('GET', '/status')).body.journalId).toBe(before[1]?.body.journalId);
    expect((await register.sell(sale(), 'key-1')).body.receipt.receiptSeq).toBe(1);
    expect((await register.sell(sale(), 'key-2')).body.receipt.receiptSeq).toBe(2);
  });
});
