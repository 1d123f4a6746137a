/** JSON texts of `bytes` bytes at most, each made to cost more than its length says. Names say what is tried. */
export type Body = (bytes: number) => string;

const MARKS = '\u0301\u0316';

/** As many of `unit` between `open` and `close` as go into so many bytes. */
function filled(bytes: number, unit: string, { open, close, most = Infinity }: Frame): string {
  const room = bytes - Buffer.byteLength(open) - Buffer.byteLength(close);
  const count = Math.max(1, Math.min(most, Math.floor(room / (Buffer.byteLength(unit) + 1))));
  return `${open}${Array<string>(count).fill(unit).join(',')}${close}`;
}

interface Frame {
  open: string;
  close: string;
  most?: number;
}

/** A text in a field, as long as there is room for. */
function texted(unit: string): Body {
  const [open, close] = ['{"name":"', '"}'];
  return (bytes) =>
    `${open}${unit.repeat(Math.floor((bytes - open.length - close.length) / Buffer.byteLength(unit)))}${close}`;
}

function fieldsOf(count: number, value: string): string {
  return Array.from({ length: count }, (_, at) => `"f${at}":${value}`).join(',');
}

const LISTS = { open: '{"items":[', close: ']}' };

/** An ordinary body: a thousand lines with texts in Cyrillic. */
export const HARMLESS: Body = (bytes) => {
  const most = 1_000;
  const perLine = Math.max(60, Math.floor((bytes - 100) / most));
  const name = 'Хлеб пшеничный '.repeat(Math.max(1, Math.floor((perLine - 40) / 28))).trim();
  return filled(bytes, `{"name":"${name}","price":112000,"qty":1}`, { ...LISTS, most });
};

export const HOSTILE: Readonly<Record<string, Body>> = {
  'one run of combining marks': texted(MARKS),
  'the same, escaped': texted('\\u0301\\u0316'),
  'runs of thirty marks': (bytes) => filled(bytes, `"a${MARKS.repeat(15)}"`, LISTS),
  'a run in a name': (bytes) => `{"a${MARKS.repeat(Math.floor((bytes - 10) / 4))}":1}`,
  'empty lists': (bytes) => filled(bytes, '[]', LISTS),
  'empty lists, four bytes each': (bytes) => filled(bytes, `[${'[ ],'.repeat(999)}[ ]]`, LISTS),
  'empty objects in lists of a thousand': (bytes) =>
    filled(bytes, `[${'{ },'.repeat(999)}{ }]`, { open: '[', close: ']', most: 1_000 }),
  'lists in lists without end': (bytes) => `${'['.repeat(bytes / 2)}${']'.repeat(bytes / 2)}`,
  'objects in objects without end': (bytes) => `${'{"a":'.repeat(bytes / 6)}1${'}'.repeat(bytes / 6)}`,
  'depth without end, again and again': (bytes) => filled(bytes, `${'['.repeat(60)}${']'.repeat(60)}`, LISTS),
  'short names without end': (bytes) => `{${fieldsOf(bytes / 10, '1')}}`,
  'as many names as an object may have': (bytes) => filled(bytes, `{${fieldsOf(64, '1')}}`, { ...LISTS, most: 1_000 }),
  'one name again and again': (bytes) => filled(bytes, '"a":1', { open: '{', close: '}' }),
  'one-digit numbers': (bytes) => filled(bytes, '1', LISTS),
  'a number of many digits': (bytes) => `{"price":${'9'.repeat(bytes - 12)}}`,
  'escapes alone': texted('\\u0041'),
  'letters outside the first plane': texted('\u{1f9ff}'),
  'digits with spaces, as of many cards': texted('1 '),
  'digits that nearly are cards': texted('1-1-1-1-1-1-1-1-1-1-1-1-1-1-1-1-1-1-1a'),
  'many names of a prototype': (bytes) => filled(bytes, '{"__proto_":1}', LISTS),
  'spaces alone': (bytes) => `{${' '.repeat(bytes - 2)}}`,
  'a text of timestamps': texted('T'),
  'slashes alone': texted('/'),
};

/** Where no byte of a body is parsed its content makes no difference; these have cost most where it did. */
export const UNREAD: Readonly<Record<string, Body>> = Object.fromEntries(
  ['one run of combining marks', 'empty lists', 'lists in lists without end', 'short names without end'].map((what) => [
    what,
    HOSTILE[what] ?? HARMLESS,
  ]),
);

/** The same for a field that a route really has. */
export function hostileIn(field: string): Readonly<Record<string, Body>> {
  const frame = { open: `{"${field}":[`, close: ']}', most: 1_000 };
  const within =
    (unit: string): Body =>
    (bytes) =>
      filled(bytes, unit, frame);
  return {
    [`${field}: empty objects`]: within('{ }'),
    [`${field}: objects of many names`]: within(`{${fieldsOf(64, '1')}}`),
    [`${field}: numbers`]: within('1234'),
    [`${field}: texts of marks`]: within(`"a${MARKS.repeat(15)}"`),
    [`${field}: objects in objects`]: within(`${'{"a":'.repeat(14)}1${'}'.repeat(14)}`),
    [`${field}: an object of many names`]: (bytes) => `{"${field}":{${fieldsOf(64, `"${'x'.repeat(bytes / 70)}"`)}}}`,
    [`${field}: a long text`]: (bytes) => `{"${field}":"${'1 '.repeat((bytes - field.length - 10) / 2)}"}`,
  };
}
