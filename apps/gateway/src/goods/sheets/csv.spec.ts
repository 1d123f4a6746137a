// Promise: no cell breaks a CSV file, and no text of a cell runs as a formula.
import { parse } from 'csv-parse/sync';
import { csvLine } from './csv.js';

test('quotes, separators, line ends, nothing, formulas', () => {
  expect(csvLine(['a', 'b,c', 'say "hi"', 'x\r\ny', 'p;q', null, 7, -7, '=1', '@a'])).toBe(
    'a,"b,c","say ""hi""","x\r\ny","p;q",,7,-7,\'=1,\'@a\r\n',
  );
});

test.each([
  ['Cola;=1+1', "Cola;'=1+1"],
  ['a; -5 %', "a;' -5 %"],
  ['a;;@x;＝1', "a;;'@x;'＝1"],
  ['a\n+1\r\n-2', "a\n'+1\r\n'-2"],
  ['a\t=1, \u00a0=2', "a\t'=1,' \u00a0=2"],
  [';"=1', ';\'"=1'],
  ['=1;=2', "'=1;'=2"],
  ['a-b; c=d, e@f', 'a-b; c=d, e@f'],
])('%j is no formula behind a separator', (text, shown) => {
  expect(parse(csvLine([text])).flat()).toEqual([shown]);
});

test.each([',', ';', '\t'])('no cell is a formula where %j separates them', (delimiter) => {
  const texts = [
    "Cola;=cmd|' /C calc'!A0;",
    'o;=1+1;',
    'p;"=2+2";',
    'q\t=3\t',
    'r, =4',
    's\n=5',
    '=6;+7',
    ';\u00a0@A1',
    ';＝8',
  ];
  const options = { delimiter, relax_quotes: true, relax_column_count: true };
  const cells = parse(texts.map((text) => csvLine(['x', text])).join(''), options).flat();
  expect(cells.filter((cell) => /^[\s"]*[=+\-@＝＋－＠]/u.test(cell))).toEqual([]);
});
