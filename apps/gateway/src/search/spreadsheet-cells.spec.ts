// Promise: nothing that a buyer or a cashier typed runs as a formula on an accountant's machine, and no cell breaks the file.
import { csvLine, neutralised, sheetRow } from './spreadsheet-cells.js';

test.each(['=1+1', '+7', '-2', '@SUM(A1)', '\t=1', '\r=1', '  =1', '＝1', '＋1', '－1', '＠a'])(
  '%j is no formula',
  (text) => {
    expect(neutralised(text)).toBe(`'${text}`);
  },
);

test.each(['Non', '998901234567', "O'zbek", 'a=b', '', '№ 5'])('%j stays as it is', (text) => {
  expect(neutralised(text)).toBe(text);
});

test('CSV: quotes, separators, line ends, nothing', () => {
  expect(csvLine(['a', 'b,c', 'say "hi"', 'x\r\ny', 'p;q', null, 7])).toBe(
    'a,"b,c","say ""hi""","x\r\ny","p;q",,7\r\n',
  );
});

test('worksheet: numbers are numbers, texts are escaped, what XML cannot hold is left out', () => {
  expect(sheetRow(['<&>', 5, null, 'a\u0000\u001d\ud800b', 9_007_199_254_740_991])).toBe(
    '<row><c t="inlineStr"><is><t xml:space="preserve">&lt;&amp;&gt;</t></is></c><c><v>5</v></c><c/>' +
      '<c t="inlineStr"><is><t xml:space="preserve">ab</t></is></c>' +
      '<c t="inlineStr"><is><t xml:space="preserve">9007199254740991</t></is></c></row>',
  );
});
