// Promise: the quick reading of signature fields never reads anything else than the parser of RFC 8941, and nothing that is not canonical.
import fc from 'fast-check';
import { readCanonicalMember, type Members } from './canonical-member.js';
import { readByParser } from './structured-dictionary.js';

const INPUT =
  'fgw=("@method" "@authority" "content-digest");created=1790000000;expires=1790000300;nonce="0123456789abcdefghijkl"' +
  ';keyid="key_01";alg="ed25519";tag="fgw-v1"';

test.each([INPUT, 'sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:', 'a=("x")', 'a=("x");n=0;m=-7', '*=:AA==:'])(
  'reads %s as the parser does',
  (text) => {
    expect(readCanonicalMember(text)).toEqual(readByParser(text));
  },
);

test.each([
  ['two members', 'a=("x"), b=("y")'],
  ['a repeated parameter', 'a=("x");created=1;created=2'],
  ['a decimal', 'a=("x");created=1.0'],
  ['a leading zero', 'a=("x");created=01'],
  ['minus nothing', 'a=("x");created=-0'],
  ['sixteen digits', 'a=("x");created=1234567890123456'],
  ['an escape', String.raw`a=("x\"y")`],
  ['an open quote', 'a=("x);created=1'],
  ['two spaces', 'a=("x"  "y")'],
  ['a space before', ' a=("x")'],
  ['a line after', 'a=("x")\n'],
  ['a parameter of a component', 'a=("x";sf)'],
  ['a flag', 'a=("x");req'],
  ['base64 with rest bits', 'a=:AB==:'],
  ['base64 without its end', 'a=:AAA:'],
  ['base64 for URLs', 'a=:-_8=:'],
  ['no bytes', 'a=::'],
  ['no components', 'a=()'],
  ['a name in capitals', 'A=("x")'],
  ['beyond ASCII', 'a=("ü")'],
])('leaves to the parser: %s', (_what, text) => {
  expect(readCanonicalMember(text)).toBeNull();
});

/** A dictionary of one member as it came. */
function written(members: Members): string {
  return (
    [...members].map(([label, member]) => {
      if (member.kind === 'bytes') return `${label}=:${member.bytes.toString('base64')}:`;
      return member.kind === 'list' ? `${label}=${member.text}` : label;
    })[0] ?? ''
  );
}

test('whatever it reads, the parser reads the same, and writes it back letter for letter', () => {
  const pieces = fc.constantFrom(
    'a',
    '=',
    '(',
    ')',
    '"',
    ' ',
    ';',
    ':',
    ',',
    '\\',
    '1',
    '0',
    '-',
    '.',
    'AA==',
    '"x"',
    ';n=1',
    '\t',
  );
  const madeUp = fc.array(pieces, { maxLength: 14 }).map((parts) => parts.join(''));
  const mutated = fc.tuple(fc.nat(INPUT.length), fc.nat(4), pieces).map(([at, cut, piece]) => {
    return INPUT.slice(0, at) + piece + INPUT.slice(at + cut);
  });
  let read = 0;
  fc.assert(
    fc.property(
      fc.oneof(
        madeUp,
        mutated,
        fc.string({ maxLength: 20 }).map((text) => `a=("x");k=${text}`),
      ),
      (text) => {
        const quick = readCanonicalMember(text);
        if (quick === null) return;
        read += 1;
        expect(quick).toEqual(readByParser(text));
        expect(written(quick)).toBe(text);
      },
    ),
    { numRuns: 5_000 },
  );
  expect(read).toBeGreaterThan(100);
});
