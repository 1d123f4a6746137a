import { normaliseText } from '#fiscal-domain';

/** Characters of a line. */
export const PAPER_COLUMNS = [32, 42, 48] as const;
export type PaperColumns = (typeof PAPER_COLUMNS)[number];

/** What is printed below one another, each line as wide as the paper. */
export type PaperLine =
  | { kind: 'text'; text: string; isBold: boolean; /** Leads there where the paper can. */ href: string | null }
  | { kind: 'rule' }
  /** PNG in base64, with its dots. */
  | { kind: 'picture'; png: string; width: number; height: number }
  | { kind: 'qr'; link: string };

/** Receipt paper as it is sold; the picture is as wide as the dots of a printer with 203 dpi. */
export interface PaperSize {
  widthMm: number;
  marginMm: number;
  pictureWidthPx: number;
}

export function paperSize(columns: PaperColumns): PaperSize {
  return columns === 32
    ? { widthMm: 58, marginMm: 4, pictureWidthPx: 384 }
    : { widthMm: 80, marginMm: 4, pictureWidthPx: 576 };
}

/** Text as it can be printed: no control characters, which neither paper nor XML can hold. */
export function printable(text: string): string {
  return (
    normaliseText(text)
      .replace(/\p{Surrogate}/gu, '\ufffd')
      // The separator within marking codes, as a character that no such code has.
      .replaceAll('\u001d', '|')
      .replace(/[\u0000-\u001f\u007f-\u009f\u00a0\u2028\u2029\ufffe\uffff]/g, ' ')
      // Behind such a mark the sum of the same line would be read the other way round.
      .replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '')
  );
}

/** A text in lines of at most `columns` characters, broken between words where it can be. */
export function wrapped(text: string, columns: number): string[] {
  const lines: string[] = [];
  let line: string[] = [];
  for (const word of printable(text).split(' ')) {
    let rest = [...word];
    if (line.length > 0 && line.length + 1 + rest.length <= columns) {
      line.push(' ', ...rest);
      continue;
    }
    if (line.length > 0) lines.push(line.join(''));
    for (; rest.length > columns; rest = rest.slice(columns)) lines.push(rest.slice(0, columns).join(''));
    line = rest;
  }
  if (line.length > 0 || lines.length === 0) lines.push(line.join(''));
  return lines;
}

/** `label      value`; what does not fit beside each other stands below each other, and what takes several lines is read from the left. */
export function twoSided(label: string, value: string, columns: number): string[] {
  const labels = wrapped(label, columns);
  const values = wrapped(value, columns);
  const [last = '', first = ''] = [labels.at(-1), values[0]];
  const gap = columns - lengthOf(last) - lengthOf(first);
  if (values.length === 1 && gap >= 1) return [...labels.slice(0, -1), last + ' '.repeat(gap) + first];
  if (values.length > 1) return [...labels, ...values];
  return [...labels, ' '.repeat(columns - lengthOf(first)) + first];
}

export function centred(text: string, columns: number): string[] {
  return wrapped(text, columns).map((line) => ' '.repeat(Math.floor((columns - lengthOf(line)) / 2)) + line);
}

/** In code points: each is as wide as every other, in the font that is used here. */
function lengthOf(text: string): number {
  return [...text].length;
}
