import { isInnerList, parseDictionary, serializeDictionary, type Dictionary } from 'structured-headers';
import { readCanonicalMember } from './canonical-member.js';

/** Longer than any honest field of ours; bounds what parsing costs. */
const MAX_CHARACTERS = 4_096;

/**
 * A dictionary of RFC 8941 in its one canonical form. The parser alone would keep the last of repeated labels and
 * parameters, read `1.0` as an integer and mend base64: two readers of the same text must never see two things, so
 * whatever does not come back out of it exactly (but for optional spaces) counts as unreadable.
 */
export function readCanonicalDictionary(text: string): Dictionary | null {
  if (text.length > MAX_CHARACTERS) return null;
  const usual = readCanonicalMember(text);
  if (usual) return usual;
  try {
    const dictionary = parseDictionary(text);
    const written = serializeDictionary(dictionary);
    return written === text || withoutSpaces(written) === withoutSpaces(text) ? dictionary : null;
  } catch {
    return null; // no dictionary: said by the caller, who knows the field
  }
}

/** The byte sequence of a member without parameters; null when it is anything else. */
export function bytesOf(dictionary: Dictionary, label: string): Buffer | null {
  const member = dictionary.get(label);
  if (!member || isInnerList(member) || member[1].size > 0) return null;
  const value: unknown = member[0];
  return value instanceof ArrayBuffer ? Buffer.from(value) : null;
}

function withoutSpaces(text: string): string {
  return text.replace(/[ \t]/g, '');
}
