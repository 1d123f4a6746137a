import { UnreadableFile, type SheetRow } from '../../goods/sheets/sheet-row.js';

/** What a column of a provider's register means. */
export const REGISTER_FIELDS = [
  'provider_ref',
  'our_ref',
  'amount',
  'commission',
  'refunded',
  'time',
  'kind',
  'status',
  'cancelled',
] as const;
export type RegisterField = (typeof REGISTER_FIELDS)[number];

/**
 * How a register is read. No provider of the country publishes the form of the file that its cabinet hands out, so a merchant may write
 * down its own; the defaults are in default-forms.ts (docs/payments/settlement.md).
 */
export interface RegisterForm {
  /** Headings that a column may have, without regard to case; the first column that has one counts. */
  readonly columns: Readonly<Partial<Record<RegisterField, readonly string[]>>>;
  readonly amount_unit: 'som' | 'tiyin';
  /** What stands in `kind` or `status` where money went back. */
  readonly refund_words: readonly string[];
  /** Rows with another `status` are left out; none: all rows count that have nothing in `cancelled`. */
  readonly paid_words: readonly string[];
}

/** Which column holds what: by the number of the column. */
export type RegisterColumns = ReadonlyMap<RegisterField, number>;

/** A cabinet writes its name and the period above the table. */
const HEADING_WITHIN_ROWS = 30;

/** @throws UnreadableFile where the rows so far were too many for there to be headings yet */
export function findColumns(row: SheetRow, form: RegisterForm, rowsBefore: number): RegisterColumns | null {
  const headings = row.cells.map((cell) => normal(cell ?? ''));
  const found = new Map<RegisterField, number>();
  for (const field of REGISTER_FIELDS) {
    const names = new Set((form.columns[field] ?? []).map(normal));
    const column = headings.findIndex((heading) => heading !== '' && names.has(heading));
    if (column >= 0) found.set(field, column);
  }
  const hasRef = found.has('provider_ref') || found.has('our_ref');
  // Where only some rows count, the column that says which is needed: without it all payments would be missing.
  const hasStatus = form.paid_words.length === 0 || found.has('status');
  if (hasRef && hasStatus && found.has('amount') && found.has('time')) return found;
  if (rowsBefore + 1 < HEADING_WITHIN_ROWS) return null;
  throw new UnreadableFile(headingsMissing());
}

export function headingsMissing(): string {
  const needed = 'a reference (provider_ref or our_ref), amount, time and, where only some words mean paid, status';
  return `None of the first ${HEADING_WITHIN_ROWS} rows has the headings of ${needed}; PUT /v1/settlement-forms/{provider} says what they are called.`;
}

/** As words of a table are compared: line breaks inside a heading, further spaces, case and the dots of ё do not count. */
export function normal(text: string): string {
  return text.trim().replaceAll(/\s+/gu, ' ').toLowerCase().replaceAll('ё', 'е');
}
