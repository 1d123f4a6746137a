/** Deeper than any body of this API; where a body's own rules are reached, they refuse from 16 levels on, with a pointer. */
export const MAX_JSON_DEPTH = 64;
/** A value of a real body takes more bytes than this, with its name and its comma. */
const BYTES_PER_VALUE = 4;
/** So many values may stand in a small body, however short they are. */
const MIN_VALUES = 4_096;

export type JsonFault = 'too_deep' | 'too_many';

/**
 * Whether a JSON text costs more to parse than its length says: nested too deep, or made of too many values (`[],[],…`). Reads
 * the bytes once and keeps nothing of them; what is no JSON at all is the parser's to refuse.
 */
export function jsonFault(json: Uint8Array): JsonFault | null {
  const maxValues = Math.max(MIN_VALUES, json.length / BYTES_PER_VALUE);
  let depth = 0;
  let values = 1;
  for (let at = 0; at < json.length; at += 1) {
    switch (json[at] ?? 0) {
      case QUOTE:
        at = endOfText(json, at + 1);
        break;
      case OPENING_BRACKET:
      case OPENING_BRACE:
        depth += 1;
        values += 1;
        if (depth > MAX_JSON_DEPTH) return 'too_deep';
        break;
      case CLOSING_BRACKET:
      case CLOSING_BRACE:
        depth -= 1;
        break;
      case COMMA:
        values += 1;
    }
    if (values > maxValues) return 'too_many';
  }
  return null;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPENING_BRACKET = 0x5b;
const CLOSING_BRACKET = 0x5d;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;

/** @returns where the closing quote stands, or the end of the bytes */
function endOfText(json: Uint8Array, start: number): number {
  for (let at = start; at < json.length; at += 1) {
    if (json[at] === BACKSLASH) at += 1;
    else if (json[at] === QUOTE) return at;
  }
  return json.length;
}
