import { isStreamSafe, normaliseText } from '#fiscal-domain';
import { pointerTo, Problem } from '#problems';

/** Longer than any field of this API: what would be refused for its length is not normalised first. */
export const MAX_TEXT_LENGTH = 16_384;

/** Only such a JSON text can hold one that is not in NFC: a character beyond ASCII, as itself or as an escape. */
const BEYOND_ASCII = /[^\u0000-\u007f]|\\u/;

/** @param json the text of which `body` was parsed */
export function mayNeedNfc(json: string): boolean {
  return BEYOND_ASCII.test(json);
}

/**
 * Every text and every name in a parsed JSON body in NFC, the form in which all text is kept: else two spellings of one
 * `external_id`, equal to the eye, would be two sales. Changes the body itself; however deep it is, no stack grows with it.
 * @throws Problem 422 with a pointer: `too_long`, or `invalid_text` for more than 30 combining marks in a row, whose
 *   normalising costs the square of their number
 */
export function inNfc(body: unknown): unknown {
  if (typeof body === 'string') return normalised(body, null);
  const waiting: Holder[] = isHolder(body) ? [{ value: body, place: null }] : [];
  for (let holder = waiting.pop(); holder; holder = waiting.pop()) normaliseIn(holder, waiting);
  return body;
}

type Fields = Record<string, unknown>;

interface Holder {
  value: Fields;
  place: Place | null;
}

/** Where in the body; its pointer is only made for a refusal. */
interface Place {
  name: string;
  within: Place | null;
}

function isHolder(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null;
}

function normaliseIn({ value: holder, place }: Holder, waiting: Holder[]): void {
  for (const [name, value] of Object.entries(holder)) {
    const wanted = normalised(name, place);
    if (wanted !== name) Reflect.deleteProperty(holder, name);
    if (typeof value === 'string') holder[wanted] = normalised(value, { name, within: place });
    else if (wanted !== name) holder[wanted] = value;
    if (isHolder(value)) waiting.push({ value, place: { name, within: place } });
  }
}

function normalised(text: string, place: Place | null): string {
  if (text.length > MAX_TEXT_LENGTH) throw refusal(place, 'too_long', `has more than ${MAX_TEXT_LENGTH} characters`);
  if (!isStreamSafe(text)) throw refusal(place, 'invalid_text', 'has more than 30 combining marks in a row');
  return normaliseText(text);
}

function refusal(place: Place | null, code: 'too_long' | 'invalid_text', fault: string): Problem {
  const path: string[] = [];
  for (let at = place; at; at = at.within) path.unshift(at.name);
  return Problem.at(pointerTo(path), code, `A text ${fault}.`);
}
