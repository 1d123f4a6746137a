// Breaks if the parts of a sale do not come back one after another until nothing is left, or hold more VAT than the sale did.
import fc from 'fast-check';
import {
  leftOf,
  lineTotal,
  partsOf,
  resolvedTotals,
  thousandths,
  tiyin,
  toLocalReceipt,
  vatContained,
  type ReceiptDocument,
  type ReceiptLine,
  type RefundInfo,
} from '#fiscal-domain';
import { startTestRegister, withRegister, type TestRegister } from '../testing/register-fixture.js';
import { BREAD } from '../testing/samples.js';

function sold(line: number, price: number, quantity: number): ReceiptLine {
  const amounts = { priceTiyin: tiyin(price), quantity: thousandths(quantity), discountTiyin: tiyin(0) };
  const total = lineTotal(amounts);
  const totalTiyin = tiyin(total.kind === 'ok' ? total.totalTiyin : NaN);
  return {
    ...{ line, sku: null, name: `Non ${String(line)}`, ...amounts, totalTiyin, vatPercent: 12 },
    vatTiyin: vatContained(totalTiyin, 12),
    ...{ ...BREAD, barcode: null, labels: [], commission: null },
  };
}

function wire(type: 'sale' | 'refund', lines: ReceiptLine[], refundInfo: RefundInfo | null): object {
  const totals = resolvedTotals(lines);
  const payment = { method: 'cash' as const, provider: null, cashTiyin: totals.totalTiyin, cardTiyin: tiyin(0) };
  const document: ReceiptDocument = { type, lines, payment, ...totals, customer: null, refundInfo };
  return toLocalReceipt(document, 'unit');
}

async function sell(register: TestRegister, lines: ReceiptLine[]): Promise<RefundInfo> {
  const { body } = await register.sell(wire('sale', lines, null));
  const { terminalId, receiptSeq, fiscalSign, qrUrl } = body.receipt as RefundInfo & { qrUrl: string };
  const time = new URL(qrUrl).searchParams.get('c') ?? '';
  return { terminalId, receiptSeq, fiscalSign, dateTime: `${time.slice(0, 8)}T${time.slice(8)}` };
}

/** Takes shares of the sale's lines as the gateway does, each in a refund of its own, and then what is left of each line. */
async function refundAll(
  register: TestRegister,
  lines: ReceiptLine[],
  shares: readonly { at: number; share: number }[],
): Promise<void> {
  const refundInfo = await sell(register, lines);
  const back: ReceiptLine[] = [];
  const rest = lines.map((_, at) => ({ at, share: 1 }));
  for (const { at, share } of [...shares, ...rest]) {
    const left = leftOf(lines, back);
    const { totalTiyin = 0 } = left[at % lines.length] ?? {};
    if (totalTiyin === 0) continue;
    const asked = tiyin(Math.max(1, Math.round(totalTiyin * share)));
    const parts = partsOf(lines, left, [{ by: 'sum', line: (at % lines.length) + 1, totalTiyin: asked }]);
    // What no quantity in steps of 0.001 says stays for the last part.
    if (parts.kind === 'refused') continue;
    const before = await sums(register);
    expect((await register.sell(wire('refund', parts.lines, refundInfo))).body).toMatchObject({ success: true });
    const own = parts.lines.reduce((sum, part) => sum + vatContained(part.totalTiyin, 12), 0);
    const after = await sums(register);
    expect(after.refundVat - before.refundVat).toBe(Math.min(own, before.saleVat - before.refundVat));
    back.push(...parts.lines);
  }
  const { refundCash, saleCash } = await sums(register);
  expect(refundCash).toBe(saleCash);
}

async function sums(
  register: TestRegister,
): Promise<Record<'saleCash' | 'saleVat' | 'refundCash' | 'refundVat', number>> {
  const info = (await register.call('GET', '/fm/info')).body as Record<string, number>;
  return {
    ...{ saleCash: info['AccumulatedSaleCash'] ?? NaN, saleVat: info['AccumulatedSaleVAT'] ?? NaN },
    ...{ refundCash: info['AccumulatedRefundCash'] ?? NaN, refundVat: info['AccumulatedRefundVAT'] ?? NaN },
  };
}

test('a sale that is alone at its register comes back in ten parts, the last five without VAT', async () => {
  const register = await startTestRegister();
  const [line] = [sold(1, 5, 10_000)];
  const refundInfo = await sell(register, [line]);
  const vats: unknown[] = [];
  for (let count = 0; count < 10; count += 1) {
    // 5 tiyin hold 0.54 tiyin of VAT, 50 hold 5.36: by themselves ten parts would hold twice the sale's.
    const part = { ...sold(1, 5, 1000), originalLine: 1 };
    const { body } = await register.sell(wire('refund', [part], refundInfo));
    expect(body).toMatchObject({ success: true });
    // What was counted stands in the journal, also of a folder of before, which had no index of refunds.
    if (count === 4) await register.tamper('DROP INDEX documents_refunds');
  }
  const { data } = await register.ofd('/documents');
  for (const { type, vat, items } of data as { type: string; vat: number; items: { vat: number }[] }[]) {
    if (type === 'refund') vats.push(vat);
    expect(items.map((item) => item.vat)).toEqual([vat]);
  }
  expect(vats).toEqual([1, 1, 1, 1, 1, 0, 0, 0, 0, 0]);
  expect((await register.call('GET', '/status')).body.fmInitialized).toBe(true);
  await register.close();
});

test('parts of one line that were rounded up leave the other one, and other sales, without their VAT, and they come back all the same', async () => {
  await withRegister({}, async (register) => {
    const lines = [sold(1, 10, 1000), sold(2, 10, 1000)];
    const [first, second] = [await sell(register, lines), await sell(register, [sold(3, 10, 1000)])];
    const parts: [ReceiptLine, RefundInfo][] = [
      ...[1, 2].map((): [ReceiptLine, RefundInfo] => [{ ...sold(1, 5, 1000), originalLine: 1 }, first]),
      [{ ...sold(2, 10, 1000), originalLine: 2 }, first],
      [{ ...sold(3, 10, 1000), originalLine: 1 }, second],
    ];
    const vats: number[] = [];
    for (const [line, refundInfo] of parts) {
      const before = await sums(register);
      expect((await register.sell(wire('refund', [line], refundInfo))).body).toMatchObject({ success: true });
      vats.push((await sums(register)).refundVat - before.refundVat);
    }
    expect(vats).toEqual([1, 1, 1, 0]);
    const again = await register.sell(wire('refund', [sold(3, 10, 1000)], second));
    expect([again.status, again.body.error.details.reason]).toEqual([409, 'refund_exceeds_sales']);
  });
});

test('a part beyond what was sold, or of other goods, has the VAT of its own net and is refused as before', async () => {
  await withRegister({}, async (register) => {
    const refundInfo = await sell(register, [sold(1, 1000, 1000)]);
    const other = { ...sold(2, 1000, 1000), originalLine: 1 };
    for (const lines of [[sold(1, 1001, 1000)], [sold(1, 1000, 1000), other]]) {
      const { status, body } = await register.sell(wire('refund', lines, refundInfo));
      expect([status, body.error.details.reason]).toEqual([409, 'refund_exceeds_sales']);
    }
    expect((await register.sell(wire('refund', [other], refundInfo))).body).toMatchObject({ success: true });
    expect((await register.call('GET', '/fm/info')).body).toMatchObject({ AccumulatedRefundVAT: 107 });
  });
});

test('whatever the parts, a register without other sales takes them all, and never more VAT than was sold', async () => {
  const line = fc.record({ price: fc.integer({ min: 1, max: 3_000 }), quantity: fc.integer({ min: 1, max: 9_000 }) });
  const shares = fc.array(fc.record({ at: fc.nat(3), share: fc.double({ min: 0, max: 0.6, noNaN: true }) }), {
    maxLength: 12,
  });
  await fc.assert(
    fc.asyncProperty(fc.array(line, { minLength: 1, maxLength: 4 }), shares, async (lines, asked) => {
      const goods = lines.map(({ price, quantity }, index) => sold(index + 1, price, quantity));
      if (goods.every(({ totalTiyin }) => totalTiyin === 0)) return;
      await withRegister({}, (register) => refundAll(register, goods, asked));
    }),
    { numRuns: 25 },
  );
});
