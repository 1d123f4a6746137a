// Breaks if the register and an OFD would compute different digests of the same document.
import { canonicalJson } from '#runtime';
import { documentOf } from '../testing/fiscal-module.contract.js';
import { documentPayload, zReportPayload } from '#fiscal-module';

const place = { terminalId: 'ZZ000000000001', seq: 7, time: '20261120163138', prevDigest: '0'.repeat(64) };
const sums = { cash: 1, card: 2, vat: 3 };

test('payloads are written in canonical form', () => {
  const refundInfo = { terminalId: 'ZZ1', receiptSeq: 1, dateTime: '20260101T000000', fiscalSign: '1' };
  const shift = {
    ...{ number: 7, openedMs: 0, closedMs: 1, documents: 2, saleCount: 1, sale: sums, refundCount: 1, refund: sums },
  };
  const payloads = [
    documentPayload(documentOf(), place, 3),
    documentPayload(documentOf({ type: 'refund', refundInfo }), place, 3),
    documentPayload(documentOf({ extraInfo: { rrn: '1', paymentId: 'p', cardType: 1 } }), place, 3),
    documentPayload(
      documentOf({
        ...{ customer: { tin: '301234567' }, paymentProvider: 'payme', extraInfo: { rrn: '1' } },
        items: documentOf().items.map((each) => ({ ...each, commission: { pinfl: '31234567890123', tin: null } })),
      }),
      ...([place, 3] as const),
    ),
    zReportPayload(shift, '20261120100000', place),
  ];
  for (const payload of payloads) expect(payload).toBe(canonicalJson(JSON.parse(payload)));
});

test('the payment method is sent where it is known, and changes no document where it is not', () => {
  const payload = documentPayload(documentOf({ extraInfo: { paymentId: 'p-1', paymentProvider: 141 } }), place, 3);
  expect(JSON.parse(payload)).toMatchObject({
    extra_info: { card_type: null, payment_id: 'p-1', payment_provider: 141, phone: null, rrn: null },
  });
  const silent = documentPayload(documentOf({ extraInfo: null }), place, 3);
  expect(silent).toBe(documentPayload(documentOf(), place, 3));
  expect(silent).not.toContain('extra_info');
});
