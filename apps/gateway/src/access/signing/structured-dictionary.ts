import { isInnerList, parseDictionary, serializeDictionary, serializeInnerList } from 'structured-headers';
import type { Dictionary, InnerList, Item } from 'structured-headers';
import { NO_PARAMETERS, readCanonicalMember, type ListItem, type Member, type Members } from './canonical-member.js';

/** Longer than any honest field of ours; bounds what parsing costs. */
const MAX_CHARACTERS = 4_096;

/**
 * A dictionary of RFC 8941 in its one canonical form. The parser alone would keep the last of repeated labels and
 * parameters, read `1.0` as an integer and mend base64: two readers of the same text must never see two things, so
 * whatever does not come back out of it exactly (but for optional spaces) counts as unreadable.
 */
export function readCanonicalDictionary(text: string): Members | null {
  if (text.length > MAX_CHARACTERS) return null;
  return readCanonicalMember(text) ?? readByParser(text);
}

/** The byte sequence of a member without parameters; null when it is anything else. */
export function bytesOf(dictionary: Members, label: string): Buffer | null {
  const member = dictionary.get(label);
  return member?.kind === 'bytes' ? member.bytes : null;
}

/** Any canonical dictionary, at leisure. */
export function readByParser(text: string): Members | null {
  try {
    const dictionary = parseDictionary(text);
    const written = serializeDictionary(dictionary);
    return written === text || withoutSpaces(written) === withoutSpaces(text) ? membersOf(dictionary) : null;
  } catch {
    return null; // no dictionary: said by the caller, who knows the field
  }
}

function membersOf(dictionary: Dictionary): Members {
  return new Map(
    [...dictionary].map(([label, member]) => [label, isInnerList(member) ? listOf(member) : itemOf(member)]),
  );
}

function listOf(list: InnerList): Member {
  const [items, parameters] = list;
  return { kind: 'list', items: items.map(listItemOf), parameters, text: serializeInnerList(list) };
}

function listItemOf([value, parameters]: Item): ListItem {
  if (typeof value !== 'string') return { name: null };
  return parameters.size > 0 ? { name: value } : value;
}

function itemOf([value, parameters]: Item): Member {
  const isBytes = (value as unknown) instanceof ArrayBuffer && parameters.size === 0;
  return isBytes
    ? { kind: 'bytes', bytes: Buffer.from(value as ArrayBuffer), parameters: NO_PARAMETERS }
    : { kind: 'other', parameters };
}

function withoutSpaces(text: string): string {
  return text.replace(/[ \t]/g, '');
}
