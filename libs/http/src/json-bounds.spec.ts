// Promise: a body that costs more to parse than its length says is refused before it is parsed, and no other.
import fc from 'fast-check';
import { MAX_ENTRIES, MAX_FIELDS } from '#shapes';
import { jsonFault, MAX_JSON_DEPTH } from './json-bounds.js';

const faultOf = (json: string): string | null => jsonFault(Buffer.from(json))?.kind ?? null;
const list = (count: number, entry: string): string => `[${Array<string>(count).fill(entry).join(',')}]`;
const fields = (count: number): string =>
  JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, at) => [`f${at}`, at])));
const nested = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`;

test.each<[string, string, string | null]>([
  ['as many entries as there may be', list(MAX_ENTRIES, '"entry"'), null],
  ['one entry more', list(MAX_ENTRIES + 1, '"entry"'), 'too_many_entries'],
  ['as many fields as there may be', fields(MAX_FIELDS), null],
  ['one field more', fields(MAX_FIELDS + 1), 'too_many_fields'],
  ['as deep as it may be', nested(MAX_JSON_DEPTH), null],
  ['one level more', nested(MAX_JSON_DEPTH + 1), 'too_deep'],
  ['many lists one after the other, each small', list(900, '["a","b","c"]'), null],
  ['values without end, each of nothing', list(900, list(20, '[]')), 'too_many_values'],
  ['brackets and commas within a text', JSON.stringify(`${'[,{'.repeat(5_000)}"\\`), null],
  ['a text that does not end', `["${'a,'.repeat(5_000)}`, null],
  ['brackets that were never opened', `${']'.repeat(10_000)}[1]`, null],
  ['an escaped quote at the end of a text', '["a\\\\","b\\"",1]', null],
  ['nothing', '', null],
])('%s', (_what, json, expected) => {
  expect(faultOf(json)).toBe(expected);
});

test('what is small is never refused, whatever it holds', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 8 }), (json) => {
      expect(faultOf(json)).toBeNull();
    }),
  );
});

test.each<[string, string, string]>([
  ['the body itself', list(MAX_ENTRIES + 1, '1'), ''],
  ['a list by its name', `{"a":[{"b":"x,["}],"products":${list(MAX_ENTRIES + 1, '{"sku":"1"}')}}`, '/products'],
  ['a list within a list', `[1,{"deep~er/":[2,[3],${list(MAX_ENTRIES + 1, '1')}]}]`, '/1/deep~0er~1/2'],
  ['an object', `{"items":[{},{"metadata":${fields(MAX_FIELDS + 1)}}]}`, '/items/1/metadata'],
  ['a name without end: the body', `{"${'n'.repeat(300)}":${list(MAX_ENTRIES + 1, '1')}}`, ''],
])('the fault names %s', (_what, json, pointer) => {
  expect(jsonFault(Buffer.from(json))?.pointer).toBe(pointer);
});
