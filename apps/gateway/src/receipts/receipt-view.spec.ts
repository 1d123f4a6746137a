// Promise: a receipt has the fields of the contract, all of them and no others, whatever the caller left out.
import { sampleDocument } from '#database/testing';
import type { ReceiptRow } from '#ledger';
import { acceptedRow } from './accepted-row.js';
import { receiptView } from './receipt-view.js';

const accepted = acceptedRow(
  {
    ...{ id: 'rcp_1', externalId: null, deviceId: 'dev_1', branchId: null, cashierId: null, refundOf: null },
    document: sampleDocument(),
  },
  new Date('2026-01-02T03:04:05Z'),
);
const registered: ReceiptRow = {
  ...accepted,
  ...{ status: 'registered', terminal_id: 'ZZ000000000001', receipt_seq: 7n, fiscal_sign: '1', evidence: 'answer' },
  ...{ registered_at: new Date('2026-01-02T03:04:06Z'), verification_url: 'https://ofd.test', ofd_status: 'pending' },
};
const viewOf = (row: ReceiptRow): Record<string, unknown> => ({ ...receiptView(row, 'https://gateway.test/r/1') });
const fieldsOf = (value: unknown): string => Object.keys(value as object).join(' ');

test('the fields, in the order of the contract', () => {
  const view = viewOf(registered);
  expect(fieldsOf(view)).toBe(
    'id status type external_id device_id branch_id cashier_id created_at items total vat_total payment customer fiscal ofd ' +
      'receipt_url rejection refund_of refunded payment_id callback_url notify metadata sandbox surplus',
  );
  expect(fieldsOf((view['items'] as unknown[])[0])).toBe(
    'line sku name qty price discount total vat_percent vat spic package_code units barcode labels commission',
  );
  expect(fieldsOf(view['payment'])).toBe('method provider cash card');
  expect(fieldsOf(view['fiscal'])).toBe(
    'terminal_id receipt_seq fiscal_sign verification_url registered_at evidence recorded_fields shift_number',
  );
  expect(fieldsOf(view['ofd'])).toBe('status deadline_at sent_at error');
  expect(fieldsOf(view['refunded'])).toBe('total complete');
});

test('what was left out is null; metadata is always a map, a customer always has all four fields', () => {
  expect(viewOf(accepted)).toMatchObject({ customer: null, fiscal: null, ofd: null, rejection: null, metadata: {} });
  const document = { ...accepted.document, customer: { phone: '998901112233' }, metadata: { order: '7' } };
  expect(viewOf({ ...accepted, document })).toMatchObject({
    customer: { phone: '998901112233', email: null, tin: null, pinfl: null },
    metadata: { order: '7' },
  });
});
