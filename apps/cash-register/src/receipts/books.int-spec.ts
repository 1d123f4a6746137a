// Breaks if totals, VAT, lifetime sums or the Z-report differ by one tiyin from an independent computation.
import fc from 'fast-check';
import { withRegister, type TestRegister } from '../testing/register-fixture.js';
import { BREAD } from '../testing/samples.js';

interface Line {
  readonly price: bigint;
  readonly amount: bigint;
  readonly discountShare: number;
  readonly vatPercent: 0 | 12;
}

interface Document {
  readonly type: 'sale' | 'refund' | 'advance' | 'credit';
  readonly lines: readonly Line[];
  readonly cashShare: number;
}

const line: fc.Arbitrary<Line> = fc.record({
  price: fc.bigInt({ min: 1n, max: 10n ** 10n }),
  amount: fc.oneof(fc.constant(1000n), fc.bigInt({ min: 1n, max: 200_000n })),
  discountShare: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 1000 })),
  vatPercent: fc.constantFrom(0, 12),
});

const document: fc.Arbitrary<Document> = fc.record({
  type: fc.constantFrom('sale', 'sale', 'sale', 'refund', 'advance', 'credit'),
  lines: fc.array(line, { minLength: 1, maxLength: 6 }),
  cashShare: fc.integer({ min: 0, max: 1000 }),
});

/** Written anew from the contract, on purpose without the library that the register uses. */
function halfUp(numerator: bigint, denominator: bigint): bigint {
  return (numerator + denominator / 2n) / denominator;
}

function amountsOf(one: Line): { discount: bigint; net: bigint; vat: bigint; wireVat: bigint } {
  const gross = halfUp(one.price * one.amount, 1000n);
  const discount = (gross * BigInt(one.discountShare)) / 1000n;
  const net = gross - discount;
  const percent = BigInt(one.vatPercent);
  // Denominators 112 and 100 are even: half-up needs no doubling.
  const vat = halfUp(net * percent, 100n + percent);
  return { discount, net, vat, wireVat: halfUp(one.price * percent, 100n + percent) };
}

interface Books {
  seq: number;
  saleCount: number;
  refundCount: number;
  sale: { cash: bigint; card: bigint; vat: bigint };
  refund: { cash: bigint; card: bigint; vat: bigint };
}

async function enter(register: TestRegister, books: Books, one: Document): Promise<void> {
  const amounts = one.lines.map(amountsOf);
  const total = amounts.reduce((sum, { net }) => sum + net, 0n);
  const vat = amounts.reduce((sum, amount) => sum + amount.vat, 0n);
  const cash = (total * BigInt(one.cashShare)) / 1000n;
  const card = total - cash;
  const body = {
    type: one.type,
    items: one.lines.map((each, index) => ({
      ...{ name: `Line ${String(index)}`, spic: BREAD.spic, units: 796 },
      ...{ price: Number(each.price), amount: Number(each.amount), vatPercent: each.vatPercent },
      ...{ vat: Number(amounts[index]?.wireVat), discount: Number(amounts[index]?.discount) },
    })),
    received: { cash: Number(cash), card: Number(card) },
    ...(one.type === 'refund' && {
      refundInfo: { terminalId: 'ZZ999999999999', receiptSeq: 1, dateTime: '20260101T000000', fiscalSign: '1' },
    }),
  };
  const { status, body: answer } = await register.sell(body);
  if (total === 0n) {
    expect([status, answer.error?.code]).toEqual([400, 'S-003']);
    return;
  }
  const isCovered =
    books.refund.cash + cash <= books.sale.cash &&
    books.refund.card + card <= books.sale.card &&
    books.refund.vat + vat <= books.sale.vat;
  if (one.type === 'refund' && !isCovered) {
    expect([status, answer.error?.details?.reason]).toEqual([409, 'refund_exceeds_sales']);
    return;
  }
  expect([status, answer.receipt?.receiptSeq]).toEqual([200, books.seq + 1]);
  books.seq += 1;
  if (one.type === 'sale') books.saleCount += 1;
  if (one.type === 'refund') books.refundCount += 1;
  if (one.type !== 'sale' && one.type !== 'refund') return;
  const sums = books[one.type];
  books[one.type] = { cash: sums.cash + cash, card: sums.card + card, vat: sums.vat + vat };
}

async function expectBooks(register: TestRegister, books: Books): Promise<void> {
  const sums = (kind: 'sale' | 'refund'): number[] => [books[kind].cash, books[kind].card, books[kind].vat].map(Number);
  const info = (await register.call('GET', '/fm/info')).body;
  expect([
    [info.AccumulatedSaleCash, info.AccumulatedSaleCard, info.AccumulatedSaleVAT],
    [info.AccumulatedRefundCash, info.AccumulatedRefundCard, info.AccumulatedRefundVAT],
    info.currentReceiptSeq,
  ]).toEqual([sums('sale'), sums('refund'), books.seq]);
  const report = (await register.call('GET', '/z-report/current')).body;
  expect([
    [report.TotalSaleCash, report.TotalSaleCard, report.TotalSaleVAT, report.TotalSaleCount],
    [report.TotalRefundCash, report.TotalRefundCard, report.TotalRefundVAT, report.TotalRefundCount],
  ]).toEqual([
    [...sums('sale'), books.saleCount],
    [...sums('refund'), books.refundCount],
  ]);
  const { data } = await register.ofd('/documents');
  const documents = data as ({ type: string } & Record<'cash' | 'card' | 'vat', number>)[];
  const held = documents.filter(({ type }) => type === 'sale');
  const heldSums = (['cash', 'card', 'vat'] as const).map((name) => held.reduce((sum, entry) => sum + entry[name], 0));
  expect([documents.length, heldSums]).toEqual([books.seq, sums('sale')]);
}

test('random receipts: answers, lifetime sums, Z-report and OFD agree with the books kept beside them', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(document, { minLength: 1, maxLength: 8 }), (documents) =>
      withRegister({}, async (register) => {
        const none = { cash: 0n, card: 0n, vat: 0n };
        const books: Books = { seq: 0, saleCount: 0, refundCount: 0, sale: none, refund: none };
        for (const one of documents) await enter(register, books, one);
        await expectBooks(register, books);
        await register.restart();
        await expectBooks(register, books);
        expect((await register.call('GET', '/status')).body.fmInitialized).toBe(true);
      }),
    ),
    { numRuns: 25 },
  );
});
