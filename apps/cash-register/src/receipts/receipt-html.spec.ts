// Breaks if the printed receipt misses what the law wants on it, or lets a name run as code.
import type { LocalReceipt } from '#fiscal-domain';
import { RECEIPT_LANGUAGES, RECEIPT_WORDS } from '#paper';
import type { OfdDocument } from '#fiscal-module';
import { receiptHtml, type ReceiptIssuer } from './receipt-html.js';

const issuer: ReceiptIssuer = {
  businessName: 'Savdo & Co <b>',
  tin: '301234567',
  branchAddress: 'Toshkent, "Chorsu" 1',
  verificationUrl: 'https://ofd.soliq.uz/check',
  language: 'en',
};

const document: OfdDocument = {
  ...{ card: 500_000, cash: 1_000_000, prev_digest: '0', refund_info: null, seq: 17, shift: 3, vat: 160_714 },
  ...{ terminal_id: 'ZZ000000000001', time: '20261120163138', type: 'sale' },
  items: [
    {
      ...{ amount: 1500, barcode: '4780000000001', discount: 250_000, labels: ['<01>046\u001d93', "a'b"] },
      ...{
        name: '<script>alert(1)</script> "Non"',
        package_code: '1500001',
        price: 1_166_667,
        spic: '01905001001000001',
      },
      ...{ total: 1_500_000, units: 796, vat: 160_714, vat_percent: 12 },
    },
  ],
};

const receipt: LocalReceipt = {
  ...{ terminalId: 'ZZ000000000001', receiptSeq: 17, fiscalSign: '588153719670' },
  ...{ transactionTime: Date.UTC(2026, 10, 20, 11, 31, 38) },
  qrUrl: 'https://ofd.soliq.uz/check?t=ZZ000000000001&r=17&c=20261120163138&s=588153719670',
};

describe('the printed receipt', () => {
  const html = receiptHtml(document, receipt, issuer);
  const text = html.replace(/<style>.*?<\/style>/su, '').replaceAll('\u00a0', ' ');

  test.each([
    ['business', 'Savdo &amp; Co &lt;b&gt;'],
    ['TIN', '301234567'],
    ['address', 'Toshkent, &quot;Chorsu&quot; 1'],
    ['item name', '&lt;script&gt;alert(1)&lt;/script&gt; &quot;Non&quot;'],
    ['quantity, unit and price', '1.5 pc × 11 666.67'],
    ['shift', '<td>Shift No.</td><td>3</td>'],
    ['what is left after the discount', '<td>After discount</td><td>15 000.00</td>'],
    ['line before discount', '17 500.00'],
    ['discount', '−2 500.00'],
    ['line VAT', '1 607.14'],
    ['SPIC and package', '01905001001000001 / 1500001'],
    ['barcode', '4780000000001'],
    ['marking codes', '&lt;01&gt;046␝93'],
    ['second marking code', 'a&#39;b'],
    ['total', '<td>TOTAL</td><td>15 000.00</td>'],
    ['cash', '<td>Cash</td><td>10 000.00</td>'],
    ['card', '<td>Card</td><td>5 000.00</td>'],
    ['Tashkent time', '20.11.2026 16:31:38'],
    ['terminal', 'ZZ000000000001'],
    ['sequence', '<td>Receipt No.</td><td>17</td>'],
    ['sign', '588153719670'],
    ['link', 'r=17&amp;c=20261120163138&amp;s=588153719670'],
    ['QR as inline SVG', '<svg class="qr"'],
    ['the mark of a test module', 'NOT FISCAL'],
  ])('shows the %s', (_what, expected) => {
    expect(text).toContain(expected);
  });

  test('shows the first 500 marking codes, and of each line how many more there are', () => {
    const [item] = document.items;
    const items = ['a', 'b', 'c'].map((line) => ({
      ...item!,
      labels: Array.from({ length: 300 }, (_, index) => `code-${line}-${index}`),
    }));
    const printed = receiptHtml({ ...document, items }, receipt, issuer);
    expect(printed.match(/code-[abc]-\d+/gu)).toHaveLength(500);
    expect(printed).toContain('code-b-199');
    expect(printed.match(/Marking codes not printed: \d+/gu)).toEqual([
      'Marking codes not printed: 100',
      'Marking codes not printed: 300',
    ]);
    expect(html).not.toContain('not printed');
  });

  test('has no scripts and asks for nothing from outside', () => {
    expect(html).not.toMatch(/<script|<link|<img|@import|url\(|javascript:/i);
  });

  test('is printable on 80 mm paper', () => {
    expect(html).toContain('@page{size:80mm auto');
  });

  test('a real terminal is not marked as a test', () => {
    expect(receiptHtml({ ...document, terminal_id: 'UZ000000000001' }, receipt, issuer)).not.toContain('NOT FISCAL');
  });

  test.each(RECEIPT_LANGUAGES)('speaks %s', (language) => {
    expect(receiptHtml(document, receipt, { ...issuer, language })).toContain(RECEIPT_WORDS[language].total);
  });
});
