import { IsIn, IsOptional } from 'class-validator';
import { preferredLanguage } from '#http';
import { checkQuery } from '#shapes';
import { Problem } from '#problems';
import { RECEIPT_LANGUAGES, type ReceiptLanguage } from '#paper';
import { PAPER_COLUMNS, type PaperColumns } from './paper.js';

export const DOCUMENT_FORMATS = ['html', 'pdf', 'png', 'text', 'escpos'] as const;
export type DocumentFormat = (typeof DOCUMENT_FORMATS)[number];

export const MEDIA_TYPES: Readonly<Record<DocumentFormat, string>> = {
  html: 'text/html; charset=utf-8',
  pdf: 'application/pdf',
  png: 'image/png',
  text: 'text/plain; charset=utf-8',
  escpos: 'application/octet-stream',
};

const COLUMNS = PAPER_COLUMNS.map(String);

export class DocumentQuery {
  /** Comes before the Accept header. */
  @IsOptional()
  @IsIn(DOCUMENT_FORMATS)
  format?: DocumentFormat;

  /** Comes before the Accept-Language header. */
  @IsOptional()
  @IsIn(RECEIPT_LANGUAGES)
  lang?: ReceiptLanguage;

  /** Characters of a line of the PDF, picture, text or bytes for a printer: 32 for paper of 58 mm, 42 or 48 (default) for 80 mm. */
  @IsOptional()
  @IsIn(COLUMNS)
  columns?: '32' | '42' | '48';
}

/** How a reader wants a receipt. */
export interface DocumentWish {
  format: DocumentFormat;
  language: ReceiptLanguage;
  columns: PaperColumns;
}

export interface WishHeaders {
  accept?: string | undefined;
  'accept-language'?: string | undefined;
}

/** @throws Problem 406 when none of our formats is acceptable */
export function documentWish(query: DocumentQuery, headers: WishHeaders): DocumentWish {
  const format = query.format ?? acceptedFormat(headers.accept);
  if (format === null) {
    throw new Problem(
      'not_acceptable',
      'A receipt is there as text/html, application/pdf, image/png, text/plain and, for printers, application/octet-stream.',
    );
  }
  return {
    format,
    // Most buyers here read Uzbek; the browser of another reader sends another language.
    language: query.lang ?? preferredLanguage(headers['accept-language'], 'uz'),
    columns: PAPER_COLUMNS.find((columns) => String(columns) === query.columns) ?? 48,
  };
}

/**
 * The parameters of ours among those of a shared link, to which others add their own (`utm_source`, `fbclid`): these are
 * ignored, ours are judged as everywhere.
 * @throws Problem 422
 */
export function publicQuery(query: Readonly<Record<string, unknown>>): DocumentQuery {
  const { format, lang, columns } = query;
  const given = Object.entries({ format, lang, columns }).filter(([, value]) => value !== undefined);
  const shaped = checkQuery(DocumentQuery, Object.fromEntries(given));
  if (shaped.kind === 'refused') throw shaped.problem;
  return shaped.value;
}

/** The format that an Accept header (RFC 9110) likes best; the earlier of {@link DOCUMENT_FORMATS} among equals. */
export function acceptedFormat(accept: string | undefined): DocumentFormat | null {
  if (accept === undefined || accept.trim() === '') return 'html';
  const ranges = accept.toLowerCase().split(',').map(rangeOf);
  let best: { format: DocumentFormat; weight: number } | null = null;
  for (const format of DOCUMENT_FORMATS) {
    const weight = weightOf(format, ranges);
    if (weight > (best?.weight ?? 0)) best = { format, weight };
  }
  return best?.format ?? null;
}

/** Whether pages are what is asked for by name: a browser, and not a program that takes anything. */
export function isBrowser(accept: string | undefined): boolean {
  return accept !== undefined && accept.toLowerCase().includes('text/html') && acceptedFormat(accept) === 'html';
}

interface Range {
  type: string;
  weight: number;
}

function rangeOf(text: string): Range {
  const [type = '', ...parameters] = text.split(';').map((part) => part.trim());
  const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? '1';
  return { type, weight: /^(0(\.\d{0,3})?|1(\.0{0,3})?)$/.test(weight) ? Number(weight) : 0 };
}

/** The most exact range decides, whatever the others say. */
function weightOf(format: DocumentFormat, ranges: readonly Range[]): number {
  const [type = ''] = MEDIA_TYPES[format].split(';');
  const [group = ''] = type.split('/');
  for (const name of [type, `${group}/*`, '*/*']) {
    const range = ranges.find((one) => one.type === name);
    if (range) return range.weight;
  }
  return 0;
}
