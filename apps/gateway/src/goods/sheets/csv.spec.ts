// Promise: no cell breaks a CSV file, and no text of a cell runs as a formula.
import { csvLine } from './csv.js';

test('quotes, separators, line ends, nothing, formulas', () => {
  expect(csvLine(['a', 'b,c', 'say "hi"', 'x\r\ny', 'p;q', null, 7, -7, '=1', '@a'])).toBe(
    'a,"b,c","say ""hi""","x\r\ny","p;q",,7,-7,\'=1,\'@a\r\n',
  );
});
