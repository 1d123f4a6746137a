// Promise: whether a receipt says more than a register takes is answered by one rule, and what is sent is what was received.
import fc from 'fast-check';
import { FISCAL_FIELDS, fieldsNotToBeLost, fiscalFieldsOf, knownFiscalFields } from './fiscal-fields.js';
import { extensionProblem } from './local-extensions.js';
import { tiyin } from './money.js';
import { thousandths } from './quantity.js';
import type { PaymentMethod, ReceiptCustomer, ReceiptDocument, ReceiptLine } from './receipt.js';
import { toLocalReceipt } from './to-local-receipt.js';

type Party = { tin?: string; pinfl?: string } | null;

function document(
  commissions: Party[],
  customer: ReceiptCustomer | null,
  wallet: [PaymentMethod, string | null],
): ReceiptDocument {
  const lines = commissions.map((commission, index): ReceiptLine => ({
    ...{ line: index + 1, sku: null, name: 'Non', quantity: thousandths(1_000), priceTiyin: tiyin(1_000) },
    ...{ discountTiyin: tiyin(0), totalTiyin: tiyin(1_000), vatPercent: 0, vatTiyin: tiyin(0) },
    ...{ spic: '01905001001000001', packageCode: '', units: 796, barcode: null, labels: [], commission },
  }));
  const total = tiyin(1_000 * lines.length);
  const payment = { method: wallet[0], provider: wallet[1], cashTiyin: tiyin(0), cardTiyin: total };
  return { type: 'sale', lines, payment, totalTiyin: total, vatTotalTiyin: tiyin(0), customer, refundInfo: null };
}

interface Case {
  commissions?: Party[];
  customer?: ReceiptCustomer;
  wallet?: [PaymentMethod, string | null];
  fields?: string[];
  notToBeLost?: string[];
}

test.each<[string, Case]>([
  ['nothing', { wallet: ['card', 'humo'] }],
  ['a buyer’s phone alone', { customer: { phone: '998901234567' } }],
  ['a buyer', { customer: { pinfl: '31234567890123' }, fields: ['customer'] }],
  ['a seller of one line', { commissions: [null, { tin: '301234567' }], fields: ['commission'] }],
  ['a seller without a number', { commissions: [{}] }],
  ['a wallet', { wallet: ['wallet', 'payme'], fields: ['payment_provider'] }],
  ['a wallet without a name', { wallet: ['wallet', null], fields: ['payment_provider'], notToBeLost: [] }],
  ['an online payment', { wallet: ['online', 'payme'] }],
])(
  '%s',
  (_name, { commissions = [null], customer = null, wallet = ['cash', null], fields = [], notToBeLost = fields }) => {
    const receipt = document(commissions, customer, wallet);
    expect([fiscalFieldsOf(receipt), fieldsNotToBeLost(receipt)]).toEqual([fields, notToBeLost]);
  },
);

test('only what a register takes is sent, the rest leaves no trace', () => {
  const receipt = document(
    [{ tin: '301234567' }, null, { pinfl: '31234567890123' }],
    { phone: '998901234567', tin: '309999999' },
    ['wallet', 'payme'],
  );
  const plain = JSON.stringify(toLocalReceipt(receipt, 'unit'));
  expect(plain).not.toMatch(/commission|customer|paymentProvider|30\d{7}|payme/);
  const all = toLocalReceipt(receipt, 'unit', { fields: FISCAL_FIELDS });
  expect(all).toMatchObject({ customer: { tin: '309999999' }, paymentProvider: 'payme' });
  expect(all.customer).not.toHaveProperty('phone');
  expect(all.items.map(({ commission }) => commission)).toEqual([
    { tin: '301234567' },
    undefined,
    { pinfl: '31234567890123' },
  ]);
  for (const field of FISCAL_FIELDS) {
    const { items, customer, paymentProvider } = toLocalReceipt(receipt, 'unit', { fields: [field] });
    expect([items[0]?.commission !== undefined, customer !== undefined, paymentProvider !== undefined]).toEqual(
      FISCAL_FIELDS.map((each) => each === field),
    );
  }
  expect(extensionProblem({ ...all })).toBeNull();
  const unnamed = { ...receipt, payment: { ...receipt.payment, provider: null } };
  expect(toLocalReceipt(unnamed, 'unit', { fields: FISCAL_FIELDS }).paymentProvider).toBe('wallet');
});

test('names of other capabilities are none of ours', () => {
  expect(knownFiscalFields(['payment_provider', 'journal', 'commission', 'commission', 7, null])).toEqual([
    ...['commission', 'payment_provider'],
  ]);
});

test('whatever was parsed is judged without an exception', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), fc.jsonValue(), (commission, customer, paymentProvider) => {
      for (const items of [[{ commission }], [commission], commission])
        expect(() => extensionProblem({ items, customer, paymentProvider })).not.toThrow();
    }),
  );
});
