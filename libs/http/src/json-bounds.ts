import { MAX_ENTRIES, MAX_FIELDS } from '#shapes';
import {
  CLOSING_BRACE,
  CLOSING_BRACKET,
  COMMA,
  endOfText,
  OPENING_BRACE,
  OPENING_BRACKET,
  pointerToContainer,
  QUOTE,
} from './json-container.js';

/** Deeper than any body of this API; where a body's own rules are reached, they refuse from 16 levels on, with a pointer. */
export const MAX_JSON_DEPTH = 64;
/** A value of a real body takes more bytes than this, with its name and its comma. */
const BYTES_PER_VALUE = 4;
/** So many values may stand in a small body, however short they are. */
const MIN_VALUES = 4_096;

export interface JsonFault {
  kind: 'too_deep' | 'too_many_entries' | 'too_many_fields' | 'too_many_values';
  /** JSON pointer of the list or object that has too many; '' for the body as a whole. */
  pointer: string;
}

/**
 * Whether a JSON text costs more to parse and check than its length says: nested too deep, or made of too many values (`[],[],…`).
 * Reads the bytes once and keeps nothing of them; what is no JSON at all is the parser's to refuse.
 */
export function jsonFault(json: Uint8Array): JsonFault | null {
  const maxValues = Math.max(MIN_VALUES, json.length / BYTES_PER_VALUE);
  /** Of the list or object that is open at each depth: what it may have, and the commas in it so far. */
  const limits = new Uint16Array(MAX_JSON_DEPTH + 1);
  const commas = new Uint16Array(MAX_JSON_DEPTH + 1);
  let depth = 0;
  let values = 1;
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at] ?? 0;
    if (byte === QUOTE) at = endOfText(json, at + 1);
    else if (byte === OPENING_BRACKET || byte === OPENING_BRACE) {
      depth += 1;
      values += 1;
      if (depth > MAX_JSON_DEPTH) return { kind: 'too_deep', pointer: '' };
      limits[depth] = byte === OPENING_BRACKET ? MAX_ENTRIES : MAX_FIELDS;
      commas[depth] = 0;
    } else if (byte === CLOSING_BRACKET || byte === CLOSING_BRACE) depth = Math.max(0, depth - 1);
    else if (byte === COMMA && depth > 0) {
      values += 1;
      const count = (commas[depth] ?? 0) + 1;
      commas[depth] = count;
      if (count === limits[depth]) {
        const kind = count === MAX_ENTRIES ? 'too_many_entries' : 'too_many_fields';
        return { kind, pointer: pointerToContainer(json, at) };
      }
    }
    if (values > maxValues) return { kind: 'too_many_values', pointer: '' };
  }
  return null;
}
