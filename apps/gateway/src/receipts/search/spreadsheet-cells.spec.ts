// Promise: nothing that a buyer or a cashier typed runs as a formula on an accountant's machine.
import { neutralised } from './spreadsheet-cells.js';

test.each(['=1+1', '+7', '-2', '@SUM(A1)', '\t=1', '\r=1', '  =1', '＝1', '＋1', '－1', '＠a'])(
  '%j is no formula',
  (text) => {
    expect(neutralised(text)).toBe(`'${text}`);
  },
);

test.each(['Non', '998901234567', "O'zbek", 'a=b', '', '№ 5'])('%j stays as it is', (text) => {
  expect(neutralised(text)).toBe(text);
});
