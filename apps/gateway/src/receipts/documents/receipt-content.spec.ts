// Promise: page, paper and text say what the stored receipt says, to the tiyin, in three languages, and run nothing that stands in it.
import fc from 'fast-check';
import {
  formatQuantity,
  leftOf,
  lineGross,
  partsOf,
  resolvedTotals,
  thousandths,
  tiyin,
  toLocalReceipt,
  type FiscalField,
  type ReceiptLine,
} from '#fiscal-domain';
import { RECEIPT_LANGUAGES, RECEIPT_WORDS, sumText, type ReceiptLanguage } from '#paper';
import { PAPER_COLUMNS } from './paper.js';
import { PAGE_POLICY, PAGE_STYLE } from './page-style.js';
import { PAGE_WORDS } from './page-words.js';
import { missingPage, receiptHtml } from './receipt-html.js';
import { receiptLines, receiptText } from './receipt-lines.js';
import { receiptRows } from './receipt-rows.js';
import { anyDocument, BASKET, documentOf, shown } from './testing/documents.js';
import type { ShownReceipt } from './shown-receipt.js';

const KG = { ru: 'кг', uz: 'kg', en: 'kg' } as const;
const PIECES = { ru: 'шт', uz: 'dona', en: 'pc' } as const;

const plain = (text: string): string => text.replaceAll('\u00a0', ' ');
const pageOf = (receipt: ShownReceipt, language: (typeof RECEIPT_LANGUAGES)[number] = 'en'): string =>
  receiptHtml(receipt, receiptRows(receipt, language), language);
const textOf = (receipt: ShownReceipt, columns: (typeof PAPER_COLUMNS)[number] = 48): string =>
  receiptText(receiptLines(receiptRows(receipt, 'en'), columns), columns);

/** Tiyin of a sum as it is printed, by digits alone. */
const tiyinOf = (sum: string): bigint => BigInt(sum.replace(/[^\d]/g, ''));

test('every sum on the paper is the stored one, on every width', () => {
  fc.assert(
    fc.property(anyDocument, fc.constantFrom(...PAPER_COLUMNS), (document, columns) => {
      const receipt = shown({ document });
      const text = textOf(receipt, columns);
      for (const line of text.split('\n')) expect([...line].length).toBeLessThanOrEqual(columns);
      const after = (label: string): string[] =>
        [...text.matchAll(new RegExp(`^${label}\\s+−?([\\d ]+\\.\\d\\d)(?: UZS)?$`, 'gm'))].map(([, sum]) => sum ?? '');
      expect(after('TOTAL').map(tiyinOf)).toEqual([BigInt(document.totalTiyin)]);
      expect(after('Including VAT').map(tiyinOf)).toEqual([BigInt(document.vatTotalTiyin)]);
      expect(after('Cash').map(tiyinOf)).toEqual([BigInt(document.payment.cashTiyin)]);
      expect(after('Card').map(tiyinOf)).toEqual([BigInt(document.payment.cardTiyin)]);
      const vats = document.lines.map(({ vatTiyin }) => BigInt(vatTiyin));
      expect(after('incl. VAT (?:0|12)%').map(tiyinOf)).toEqual(vats);
      const discounted = document.lines.filter(({ discountTiyin }) => discountTiyin > 0);
      expect(after('Discount').map(tiyinOf)).toEqual(discounted.map((line) => BigInt(line.discountTiyin)));
      expect(after('After discount').map(tiyinOf)).toEqual(discounted.map((line) => BigInt(line.totalTiyin)));
    }),
    { numRuns: 60 },
  );
});

test('the page shows each line as it was sold', () => {
  fc.assert(
    fc.property(anyDocument, (document) => {
      const page = pageOf(shown({ document }));
      const items = page.split('<li>').slice(1);
      expect(items).toHaveLength(document.lines.length);
      document.lines.forEach((line, at) => {
        const item = items[at] ?? '';
        expect(item).toContain(`<dt>${formatQuantity(line.quantity)} pc × ${sumText(line.priceTiyin)}</dt>`);
        expect(item).toContain(`<dd>${sumText(line.totalTiyin + line.discountTiyin)}</dd>`);
        if (line.discountTiyin > 0) expect(item).toContain(`<dd>${sumText(line.totalTiyin)}</dd>`);
        expect(item).toContain(`<dd>${sumText(line.vatTiyin)}</dd>`);
        expect(item).toContain(line.spic);
      });
      expect(page).toContain(`<dt>TOTAL</dt><dd>${sumText(document.totalTiyin)} UZS</dd>`);
    }),
    { numRuns: 60 },
  );
});

test('a part of a line has the price that its register prints: price × quantity is the sum beside it, on every paper', () => {
  const bySum = (sum: number): ReceiptLine[] => {
    const sold = documentOf([
      { quantity: 1_000, priceTiyin: 3_000_000 },
      { quantity: 300, priceTiyin: 104 },
    ]).lines;
    const first = partsOf(sold, leftOf(sold, []), [
      { by: 'sum', line: 1, totalTiyin: tiyin(sum) },
      { by: 'quantity', line: 2, quantity: thousandths(100), labels: null },
    ]);
    if (first.kind === 'refused') throw new Error('refused');
    const second = partsOf(sold, leftOf(sold, first.lines), [
      { by: 'sum', line: 1, totalTiyin: tiyin(sum) },
      { by: 'quantity', line: 2, quantity: thousandths(100), labels: null },
    ]);
    if (second.kind === 'refused') throw new Error('refused');
    return second.lines;
  };
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1_400_000 }), (sum) => {
      const lines = bySum(sum);
      const document = { ...documentOf([], 'refund'), lines, ...resolvedTotals(lines) };
      const { items } = toLocalReceipt(document, 'unit');
      const rows = receiptRows(shown({ type: 'refund', document }), 'en').items;
      lines.forEach((line, at) => {
        const [{ price, discount = 0 } = { price: NaN }, row] = [items[at], rows[at]];
        const quantity = `${formatQuantity(line.quantity)} pc`;
        expect(row?.priced).toEqual({
          label: `${quantity} × ${sumText(price)}`,
          value: sumText(Number(lineGross(tiyin(price), line.quantity))),
        });
        const [off, after] = row?.discounted.map(({ value }) => value) ?? [];
        expect([off, after]).toEqual(discount > 0 ? [`−${sumText(discount)}`, sumText(line.totalTiyin)] : []);
      });
    }),
    { numRuns: 60 },
  );
});

test('the largest sums lose no digit', () => {
  const document = { ...shown().document, totalTiyin: Number.MAX_SAFE_INTEGER as never };
  expect(textOf(shown({ document }), 32)).toContain('90 071 992 547 409.91 UZS');
});

describe.each(RECEIPT_LANGUAGES)('in %s', (language) => {
  const receipt = shown();
  const rows = receiptRows(receipt, language);
  const page = plain(receiptHtml(receipt, rows, language));
  const text = receiptText(receiptLines(rows, 48), 48);

  test.each([
    ['seller', '“Savdo &amp; Co” MChJ', '“Savdo & Co” MChJ'],
    ['TIN', '301234567', '301234567'],
    ['address', 'Bunyodkor ko‘chasi 1', 'Bunyodkor'],
    ['sequence', '<dd>4711</dd>', '4711'],
    ['terminal', 'UZ191211506521', 'UZ191211506521'],
    ['Tashkent time', '<dd>02.01.2026 08:04:05</dd>', ' 02.01.2026 08:04:05'],
    ['shift', `<dt>${RECEIPT_WORDS[language].shift}</dt><dd>17</dd>`, `${RECEIPT_WORDS[language].shift} `],
    ['cashier', `<dt>${PAGE_WORDS[language].cashier}</dt><dd>Anna Karimova</dd>`, ' Anna Karimova'],
    ['sign', '588153719670', '588153719670'],
    ['SPIC', '01905001001000001', '01905001001000001'],
    ['package', '1500001', '1500001'],
    ['barcode', '4780000000001', '4780000000001'],
    ['quantity, unit and price', `0.505 ${KG[language]} × 12 500.00`, `0.505 ${KG[language]} × 12 500.00`],
    ['pieces', `3 ${PIECES[language]} × 4 000.00`, `3 ${PIECES[language]} × 4 000.00`],
    ['discount', '−312.50', '−312.50'],
    ['marking', '215abc&lt;DEF|93abcd', '215abc<DEF|93abcd'],
    ['principal', '301234567', '301234567'],
    ['total', RECEIPT_WORDS[language].total, RECEIPT_WORDS[language].total],
    ['link', 's=588153719670', 's=588153719670'],
  ])('it shows the %s', (_what, onPage, onPaper) => {
    expect(page).toContain(onPage);
    expect(text).toContain(onPaper);
  });

  test('each status says what it is, and only a registered one passes for fiscal', () => {
    const statuses = ['awaiting_payment', 'accepted', 'sending', 'rejected', 'unknown', 'cancelled'] as const;
    for (const status of statuses) {
      const other = shown({ status, registration: null });
      const { title } = PAGE_WORDS[language].statuses[status];
      const its = receiptHtml(other, receiptRows(other, language), language);
      const onPaper = receiptText(receiptLines(receiptRows(other, language), 48), 48);
      for (const shownAs of [its, onPaper]) {
        expect(shownAs).toContain(title);
        expect(shownAs).toContain(PAGE_WORDS[language].notFiscalYet);
        expect(shownAs).not.toContain('588153719670');
      }
      expect(its).not.toContain('<svg');
    }
    expect(page).toContain(PAGE_WORDS[language].statuses.registered.title);
    expect(page + text).not.toContain(PAGE_WORDS[language].notFiscalYet);
  });

  test('a test module’s receipt is called a test throughout, and no link to check it is shown', () => {
    const { statuses, test: tested, testUnchecked, onItsWay, check } = PAGE_WORDS[language];
    const registration = { ...receipt.registration!, terminalId: 'ZZ191211506521', isTest: true };
    const itsRows = receiptRows(shown({ registration, isOnItsWay: true }), language);
    const its = receiptHtml(receipt, itsRows, language);
    const onPaper = receiptText(receiptLines(itsRows, 48), 48).replace(/\s+/g, ' ');
    for (const shownAs of [its, onPaper]) {
      expect(shownAs.split(RECEIPT_WORDS[language].notFiscal)).toHaveLength(3);
      for (const text of [tested.title, tested.detail, testUnchecked]) expect(shownAs).toContain(text);
      for (const unsaid of [statuses.registered.title, statuses.registered.detail, onItsWay, check])
        expect(shownAs).not.toContain(unsaid);
    }
    expect(page).toContain(check);
  });

  test('the page of a missing receipt speaks it, and that of an archived one', () => {
    for (const why of ['missing', 'archived'] as const)
      expect(missingPage(language, why)).toContain(PAGE_WORDS[language][why].title);
  });
});

test('nothing of a receipt becomes code, and nothing is asked of another host', () => {
  const evil = '<img src=x onerror=alert(1)>"\'><script>alert(2)</script>';
  const receipt = shown();
  const page = pageOf({
    ...receipt,
    seller: { name: evil, tin: evil, address: evil, phone: evil },
    document: {
      ...receipt.document,
      lines: receipt.document.lines.map((line) => ({ ...line, name: evil, spic: evil })),
    },
    registration: {
      ...receipt.registration!,
      terminalId: evil,
      fiscalSign: evil,
      verificationUrl: 'javascript:alert(3)',
    },
  });
  expect(page).not.toMatch(/<script|<img|<iframe|javascript:|@import|url\(|\son\w+="/i);
  expect(page.match(/<link[^>]*>/g)).toEqual(['<link rel="icon" href="data:,">']);
  expect(page).toContain('&lt;script&gt;');
  expect(PAGE_POLICY).toMatch(/^default-src 'none'; style-src 'sha256-[^']+';/);
  expect(page).toContain(`<style>${PAGE_STYLE}</style>`);
});

test('what belongs to the buyer, to a private principal or to the caller is not shown', () => {
  const receipt = shown();
  const all = pageOf(receipt) + textOf(receipt);
  for (const secret of [
    '998901112233',
    'buyer@example.com',
    '309999999',
    '31234567890123',
    'secret-note',
    'erp.example',
  ])
    expect(all).not.toContain(secret);
  expect(all).toContain('**********0123');
});

test('a missing sign and a document without one are shown as such', () => {
  const registration = shown().registration!;
  const without = { ...registration, fiscalSign: null, verificationUrl: null };
  expect(textOf(shown({ registration: without }))).toContain('not known yet');
  expect(textOf(shown({ type: 'advance', registration: without }))).toContain('no fiscal sign');
  expect(pageOf(shown({ isOnItsWay: true }))).toContain('48 hours');
});

test('a link that no QR code holds stands there as text, on page and paper', () => {
  const registration = shown().registration!;
  const verificationUrl = `https://ofd.example/check?${'t=1&'.repeat(1_000)}`;
  const receipt = shown({ registration: { ...registration, verificationUrl } });
  expect(pageOf(receipt)).toContain(`href="${verificationUrl.replaceAll('&', '&amp;')}"`);
  expect(pageOf(receipt)).not.toContain('class="qr"');
  const lines = receiptLines(receiptRows(receipt, 'en'), 48);
  expect(lines.filter(({ kind }) => kind === 'qr')).toEqual([]);
  expect(receiptText(lines, 48).replaceAll('\n', '')).toContain(verificationUrl);
});

test('a refunded sale names its refunds and how much they took', () => {
  const refund = { type: 'refund', status: 'registered', url: 'https://gateway.test/r/x', receiptSeq: 4712n } as const;
  const { totalTiyin } = shown().document;
  const part = shown({ refundedTiyin: 100_050, related: [{ ...refund, totalTiyin: 100_050 }] });
  expect(plain(pageOf(part))).toContain('<dt>Refunded</dt><dd>1 000.50</dd>');
  for (const [language, words] of Object.entries({ ru: 'По состоянию на', uz: 'Holat sanasi', en: 'As of' }) as [
    ReceiptLanguage,
    string,
  ][])
    expect(pageOf(part, language)).toContain(`<dt>${words}</dt><dd>05.01.2026 11:07:08</dd>`);
  expect(textOf(part)).toMatch(/^As of +05\.01\.2026 11:07:08$/m);
  expect(pageOf(part)).toContain('<a href="https://gateway.test/r/x">Refund: Receipt No. 4712</a>');
  expect(textOf(part)).toContain('https://gateway.test/r/x');
  expect(pageOf(shown({ refundedTiyin: totalTiyin }))).toContain('Refunded in full');
  const pending = { ...refund, status: 'accepted', receiptSeq: null, totalTiyin: 1 } as const;
  expect(pageOf(shown({ refundedTiyin: 1, related: [pending] }))).toContain('Refund: Being registered');
  expect(pageOf(shown()) + textOf(shown())).not.toContain('As of');
  expect(pageOf(shown({ type: 'refund', related: [{ ...refund, type: 'sale', totalTiyin: 1 }] }))).not.toContain(
    'As of',
  );
});

describe('what the fiscal document does not hold is not passed off as fiscal', () => {
  const payment = { ...BASKET.payment, method: 'wallet', provider: 'payme', cashTiyin: tiyin(0) } as const;
  const document = { ...BASKET, payment: { ...payment, cardTiyin: BASKET.totalTiyin } };
  const recorded = (...recordedFields: FiscalField[]): ShownReceipt =>
    shown({ document, registration: { ...shown().registration!, recordedFields } });
  const apart = (receipt: ShownReceipt, language: ReceiptLanguage): [fiscal: string, aside: string] => {
    const [fiscal = '', aside = ''] = plain(pageOf(receipt, language)).split('<section class="aside">');
    return [fiscal, aside];
  };

  test.each(RECEIPT_LANGUAGES)('in %s', (language) => {
    const { card, wallet, principalTin, principalPinfl } = RECEIPT_WORDS[language];
    const { notInDocument, line } = PAGE_WORDS[language];
    const [whole] = apart(recorded('commission', 'payment_provider'), language);
    expect(whole).toContain(`<dt>${wallet} (payme)</dt><dd>46 000.00</dd>`);
    for (const text of [principalTin, principalPinfl]) expect(whole).toContain(`<dt>${text}</dt>`);
    for (const unsaid of [notInDocument, `<dt>${card}</dt>`]) expect(whole).not.toContain(unsaid);

    const [fiscal, aside] = apart(recorded('customer'), language);
    expect(fiscal).toContain(`<dt>${card}</dt><dd>46 000.00</dd>`);
    for (const unsaid of [wallet, principalTin, principalPinfl, 'payme']) expect(fiscal).not.toContain(unsaid);
    for (const text of [
      ...[notInDocument, `${line} 3: ${principalTin}</dt><dd>301234567`, `${wallet} (payme)</dt><dd>46 000.00`],
      `${line} 4: ${principalPinfl}</dt><dd>**********0123`,
    ])
      expect(aside).toContain(text);
    const text = receiptText(receiptLines(receiptRows(recorded(), language), 42), 42);
    expect(text.replace(/\s+/g, ' ')).toContain(notInDocument);
    expect(text).toContain('payme');
  });

  test('a receipt that is not registered says all of it, and that it is none', () => {
    const page = pageOf(shown({ document, status: 'accepted', registration: null }));
    expect(page).toContain('Wallet (payme)');
    expect(page).not.toContain('<section class="aside">');
    expect(page).toContain('NOT A FISCAL RECEIPT');
  });

  test('a wallet without a name is one all the same', () => {
    const unnamed = { ...document, payment: { ...document.payment, provider: null } };
    expect(pageOf({ ...recorded('payment_provider'), document: unnamed })).toContain('<dt>Wallet</dt>');
    expect(apart({ ...recorded(), document: unnamed }, 'en')[1]).toContain('<dt>Wallet</dt>');
  });
});

test('a unit that has no name is called by its package, and by nothing when that has none', () => {
  const [first] = BASKET.lines;
  const document = { ...BASKET, lines: [{ ...first!, units: 244_272_402 }] };
  const packageNames = new Map([[`${first!.spic}/${first!.packageCode}`, 'пачка 1 л']]);
  expect(textOf(shown({ document, packageNames }))).toContain('3 пачка 1 л × 4 000.00');
  expect(textOf(shown({ document }))).toMatch(/^3 × 4 000\.00/m);
});

test('an uncertain shift and an unknown cashier are left out', () => {
  const registration = { ...shown().registration!, shiftNumber: null };
  const text = textOf(shown({ registration, cashier: null }));
  for (const unsaid of ['Shift', 'Cashier']) expect(text).not.toContain(unsaid);
});
