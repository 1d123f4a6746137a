const KEY = String.raw`[a-z*][a-z0-9_.*-]*`;
/** Without escapes: none of ours needs one. */
const STRING = String.raw`"[\x20\x21\x23-\x5b\x5d-\x7e]*"`;
const INTEGER = String.raw`(?:0|-?[1-9]\d{0,14})`;

/** `label=:base64:`. */
const BYTES_MEMBER = new RegExp(String.raw`^(${KEY})=:([A-Za-z0-9+/]+={0,2}):$`);
/** `label=("a" "b");key=1;key="text"`. */
const LIST_MEMBER = new RegExp(
  String.raw`^(${KEY})=\((${STRING}(?: ${STRING})*)\)((?:;${KEY}=(?:${INTEGER}|${STRING}))*)$`,
);
const EACH_PARAMETER = new RegExp(String.raw`;(${KEY})=(?:(${INTEGER})|(${STRING}))`, 'g');

/** A member of a dictionary of RFC 8941, as far as signatures and digests ask for it. */
export type Member =
  /** A byte sequence without parameters. */
  | { kind: 'bytes'; bytes: Buffer; parameters: ReadonlyMap<string, unknown> }
  /** An inner list. `text` is it with its parameters in canonical form: what a signature covers of itself. */
  | { kind: 'list'; items: readonly ListItem[]; parameters: ReadonlyMap<string, unknown>; text: string }
  | { kind: 'other'; parameters: ReadonlyMap<string, unknown> };

/** A string without parameters, or else what stands there instead of one: a string with parameters, or (null) no string. */
export type ListItem = string | { name: string | null };

export type Members = ReadonlyMap<string, Member>;

export const NO_PARAMETERS: ReadonlyMap<string, unknown> = new Map();

/**
 * Dictionaries as nearly every signer writes them: one member, a byte sequence or a list of strings with integers and
 * strings as parameters, letter for letter in the canonical form of RFC 8941. They are read ten times faster than by the
 * parser, and mean the same; null says only that the parser has to decide (docs/adr/0034-cost-of-locks.md).
 */
export function readCanonicalMember(text: string): Members | null {
  const bytes = BYTES_MEMBER.exec(text);
  if (bytes) return readBytes(bytes[1] ?? '', bytes[2] ?? '');
  const list = LIST_MEMBER.exec(text);
  return list ? readList(text, list) : null;
}

function readBytes(label: string, base64: string): Members | null {
  const bytes = Buffer.from(base64, 'base64');
  // Anything but the one spelling of these bytes is not canonical.
  if (bytes.toString('base64') !== base64) return null;
  return new Map([[label, { kind: 'bytes', bytes, parameters: NO_PARAMETERS }]]);
}

function readList(text: string, [, label = '', strings = '', parameters = '']: RegExpExecArray): Members | null {
  // No string holds a quote, so that this stands between two of them alone.
  const items = unquoted(strings).split('" "');
  const read = new Map<string, string | number>();
  for (const [, key = '', integer, quoted = ''] of parameters.matchAll(EACH_PARAMETER)) {
    if (read.has(key)) return null; // repeated
    read.set(key, integer === undefined ? unquoted(quoted) : Number(integer));
  }
  return new Map([[label, { kind: 'list', items, parameters: read, text: text.slice(label.length + 1) }]]);
}

function unquoted(text: string): string {
  return text.slice(1, -1);
}
