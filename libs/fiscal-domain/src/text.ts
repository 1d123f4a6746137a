export type TextProblem = 'nul' | 'control' | 'lone_surrogate' | 'marks';

/**
 * The first thing in a text that no receipt may carry: NUL and lone surrogates fail in PostgreSQL, control characters
 * (C0 with tab and newline, DEL, C1) break printed receipts. Marking codes have their own rule: {@link labelProblem}.
 */
export function textProblem(text: string): TextProblem | null {
  return firstProblem(text, false);
}

/** As {@link textProblem}, but a GS1 DataMatrix code may carry its group separator U+001D. */
export function labelProblem(text: string): TextProblem | null {
  return firstProblem(text, true);
}

/** Every code unit that may be a problem; most texts have none. */
const SUSPECT = /[\u0000-\u001f\u007f-\u009f\ud800-\udfff]/;

function firstProblem(text: string, groupSeparatorAllowed: boolean): TextProblem | null {
  return characterProblem(text, groupSeparatorAllowed) ?? (isStreamSafe(text) ? null : 'marks');
}

function characterProblem(text: string, groupSeparatorAllowed: boolean): TextProblem | null {
  if (!SUSPECT.test(text)) return null;
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    if (code === 0) return 'nul';
    if (code >= 0xd800 && code <= 0xdfff) return 'lone_surrogate';
    if (code === 0x1d && groupSeparatorAllowed) continue;
    if (code < 0x20 || (code >= 0x7f && code <= 0x9f)) return 'control';
  }
  return null;
}

/** Of the Stream-Safe Text Format (UAX #15 §13): no language needs more combining marks on one letter. */
const MAX_MARKS_IN_ROW = 30;
/** Beyond Latin, Greek, Cyrillic, Armenian and punctuation, none of which has a mark: a quick check that most texts pass. */
const MAY_BE_MARK = /[^\u0000-\u02ff\u0370-\u0482\u048a-\u058f\u2000-\u20cf\u2100-\u2bff]/;
const MARKS = /\p{M}+/gu;

/**
 * Whether a text has no more than 30 combining marks in a row. Normalising sorts each run of marks, at a cost that grows with the
 * square of its length: seconds for a few hundred kilobytes.
 */
export function isStreamSafe(text: string): boolean {
  if (text.length <= MAX_MARKS_IN_ROW || !MAY_BE_MARK.test(text)) return true;
  for (const [marks] of text.matchAll(MARKS)) {
    // One mark has two code units at most.
    if (marks.length > 2 * MAX_MARKS_IN_ROW) return false;
    if (marks.length > MAX_MARKS_IN_ROW && Array.from(marks).length > MAX_MARKS_IN_ROW) return false;
  }
  return true;
}

/** NFC, the form in which all text is stored. A text that is not stream-safe, which is never stored, stays as it is. */
export function normaliseText(text: string): string {
  return isStreamSafe(text) ? text.normalize('NFC') : text;
}

/**
 * A name as a fiscal document has it: its control characters (tab, newline …) would break the printed line and are spaces. NUL is
 * refused before.
 */
export function printedName(name: string): string {
  return normaliseText(name)
    .replace(/[\u0001-\u001f\u007f-\u009f]+/gu, ' ')
    .trim();
}

/** Cyrillic letters with the shape of a Latin one in lower or upper case (В/B, М/M, Н/H, Т/T only in upper case). */
const CYRILLIC_HOMOGLYPHS = 'авеікмнорсѕтухјһԁԛԝ';
const LATIN_HOMOGLYPHS = 'abeikmhopcstyxjhdqw';
const HOMOGLYPHS: ReadonlyMap<string, string> = new Map(
  Array.from(CYRILLIC_HOMOGLYPHS, (letter, index) => [letter, LATIN_HOMOGLYPHS.charAt(index)]),
);

const INVISIBLE = /[\u00ad\u200b-\u200d\u2060\ufeff]/gu;
const APOSTROPHES = /[\u0060\u00b4\u02b9\u02bb-\u02bd\u2018-\u201b\u2032\u2035\uff07]/gu;
const QUOTES = /[\u00ab\u00bb\u201c-\u201f\u2033\u2036\uff02]/gu;
const CYRILLIC_LETTER = new RegExp(`[${CYRILLIC_HOMOGLYPHS}]`, 'gu');

/**
 * Key under which a product's name is found however it was typed: case, Uzbek apostrophes, spaces and letters of the wrong
 * script do not matter. Only for comparing, never for showing. Applying it twice changes nothing.
 */
export function nameKey(text: string): string {
  const visible = text.replace(INVISIBLE, '');
  // No name that is kept is like this; without its invisible characters a run of marks may have become longer.
  if (!isStreamSafe(visible)) return visible;
  return (
    visible
      .normalize('NFC')
      .toLowerCase()
      // Decomposed, so that ё meets ë by the homoglyph of its base letter.
      .normalize('NFD')
      .replace(CYRILLIC_LETTER, (letter) => HOMOGLYPHS.get(letter) ?? letter)
      .normalize('NFC')
      .replace(APOSTROPHES, "'")
      .replace(QUOTES, '"')
      .replace(/\s+/gu, ' ')
      .trim()
  );
}

/** Bytes of a text in UTF-8; a lone surrogate counts as the replacement character it would be encoded to. */
export function utf8Length(text: string): number {
  let bytes = 0;
  for (const character of text) bytes += utf8LengthOf(character);
  return bytes;
}

function utf8LengthOf(character: string): number {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x80) return 1;
  if (code < 0x800) return 2;
  return code < 0x10000 ? 3 : 4;
}

/** The longest beginning of the text that fits into `maxBytes` of UTF-8 without cutting a character. */
export function truncateUtf8(text: string, maxBytes: number): string {
  // No code unit needs more than three bytes.
  if (text.length * 3 <= maxBytes) return text;
  let bytes = 0;
  let end = 0;
  for (const character of text) {
    bytes += utf8LengthOf(character);
    if (bytes > maxBytes) return text.slice(0, end);
    end += character.length;
  }
  return text;
}

/** A beginning of at most so many UTF-16 code units that ends with a whole character: half of one fails in PostgreSQL's JSON. */
export function truncateText(text: string, maxLength: number): string {
  const cut = text.slice(0, maxLength);
  return cut.length < text.length && /[\ud800-\udbff]$/.test(cut) ? cut.slice(0, -1) : cut;
}

const UNSTORABLE_ESCAPE = /\\u(?:0000|d[89a-f][0-9a-f]{2})/i;
const ESCAPE = /\\(?:u(d[89ab][0-9a-f]{2})\\ud[c-f][0-9a-f]{2}|u[0-9a-f]{4}|[^u])/gi;

/**
 * A foreign JSON text as it can be stored: NUL and halves of characters, which well-formed UTF-8 holds as escapes only, become
 * U+FFFD. Otherwise one word of a register or provider keeps the statement that records its answer from ever succeeding, and with it
 * those of all others in its group.
 */
export function storableJson(json: string): string {
  if (!UNSTORABLE_ESCAPE.test(json)) return json;
  return json.replaceAll(ESCAPE, (escape, pair?: string) =>
    pair === undefined && UNSTORABLE_ESCAPE.test(escape) ? '\\ufffd' : escape,
  );
}
