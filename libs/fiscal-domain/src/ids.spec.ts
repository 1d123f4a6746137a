// Promise: only the product's own ids pass as ids; anything else is read as a merchant's code or refused.
import { ID_PREFIXES, isId } from './ids.js';

const ULID = '01jd3k5v8mzq4x7y9w2abcdefg';

test.each(ID_PREFIXES.map((prefix) => [prefix]))('%s_ + ULID is an id of that prefix only', (prefix) => {
  expect(ID_PREFIXES.filter((other) => isId(other, `${prefix}_${ULID}`))).toEqual([prefix]);
});

test.each([
  '',
  'rcp_',
  `rcp${ULID}`,
  `rcp_${ULID.toUpperCase()}`,
  `rcp_${ULID}0`,
  `rcp_${ULID.slice(1)}`,
  `rcp_8${ULID.slice(1)}`,
  `rcp_${ULID.slice(0, -1)}u`,
  `rcp_${ULID.slice(0, -1)}i`,
  `rcp_${ULID.slice(0, -1)}l`,
  `rcp_${ULID.slice(0, -1)}o`,
  `rcp_${ULID}\n`,
  ` rcp_${ULID}`,
])('%p is none', (text) => {
  expect(isId('rcp', text)).toBe(false);
});
