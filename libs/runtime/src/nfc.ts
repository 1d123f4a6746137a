/** Only such a JSON text can hold one that is not in NFC: a character beyond ASCII, as itself or as an escape. */
const BEYOND_ASCII = /[^\u0000-\u007f]|\\u/;

/** @param json the text of which `body` was parsed */
export function mayNeedNfc(json: string): boolean {
  return BEYOND_ASCII.test(json);
}

/**
 * Every text and every name in a parsed JSON body in NFC, the form in which all text is kept: else two spellings of one
 * `external_id`, equal to the eye, would be two sales. Changes the body itself; however deep it is, no stack grows with it.
 */
export function inNfc(body: unknown): unknown {
  if (typeof body === 'string') return body.normalize('NFC');
  const waiting: object[] = typeof body === 'object' && body !== null ? [body] : [];
  for (let holder = waiting.pop(); holder; holder = waiting.pop()) normaliseIn(holder as Holder, waiting);
  return body;
}

type Holder = Record<string, unknown>;

function normaliseIn(holder: Holder, waiting: object[]): void {
  for (const [name, value] of Object.entries(holder)) {
    const wanted = name.normalize('NFC');
    if (wanted !== name) Reflect.deleteProperty(holder, name);
    holder[wanted] = typeof value === 'string' ? value.normalize('NFC') : value;
    if (typeof value === 'object' && value !== null) waiting.push(value);
  }
}
