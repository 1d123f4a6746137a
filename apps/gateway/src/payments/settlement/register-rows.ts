import type { SheetRow } from '../../goods/sheets/sheet-row.js';
import { readDay, readSum } from './register-cells.js';
import { normal, type RegisterColumns, type RegisterField, type RegisterForm } from './register-form.js';

/** One row of a register: money that was taken, and money that went back. */
export interface RegisterRow {
  number: number;
  providerRef: string | null;
  ourRef: string | null;
  paidTiyin: number;
  refundedTiyin: number;
  /** Null: the register does not say. */
  commissionTiyin: number | null;
  /** In Tashkent. */
  day: string;
}

/** `left_out`: not about money that moved. `unreadable`: for a person. */
export type RowReading =
  | { kind: 'row'; row: RegisterRow }
  | { kind: 'left_out' }
  | { kind: 'unreadable'; number: number; reason: string };

/** What PostgreSQL cannot hold, and what no reference has. */
const UNSTORABLE = /[\u0000-\u001f\ud800-\udfff]/u;
const MAX_REF_LENGTH = 100;
/** What cabinets write into a cell that has nothing. */
const EMPTY = /^(?:n\/a|[-–—])$/i;

export function readRow(sheet: SheetRow, columns: RegisterColumns, form: RegisterForm): RowReading {
  const cellOf = (field: RegisterField): string => {
    const column = columns.get(field);
    const text = column === undefined ? '' : (sheet.cells[column]?.trim() ?? '');
    return EMPTY.test(text) ? '' : text;
  };
  const [providerRef, ourRef] = [cellOf('provider_ref'), cellOf('our_ref')];
  // The sums at the foot of the table name no payment.
  if (providerRef === '' && ourRef === '') return { kind: 'left_out' };
  const unreadable = (reason: string): RowReading => ({ kind: 'unreadable', number: sheet.number, reason });
  const fault = sheet.faults[0];
  if (fault !== undefined) return unreadable(fault);
  if (providerRef.length > MAX_REF_LENGTH || ourRef.length > MAX_REF_LENGTH)
    return unreadable(`a reference is longer than ${MAX_REF_LENGTH} characters`);
  if (UNSTORABLE.test(providerRef) || UNSTORABLE.test(ourRef))
    return unreadable('a reference has characters that are none');
  const words = [normal(cellOf('kind')), normal(cellOf('status'))];
  const isRefund = form.refund_words.some((word) => words.includes(normal(word)));
  const hasPaidWord = form.paid_words.length === 0 || form.paid_words.some((word) => normal(word) === words[1]);
  const isPaid = hasPaidWord && cellOf('cancelled') === '';
  if (!isRefund && !isPaid) return { kind: 'left_out' };
  const sums = sumsOf(cellOf, form, isRefund);
  if (typeof sums === 'string') return unreadable(sums);
  const day = readDay(cellOf('time'));
  if (day === null) return unreadable('its time cannot be read');
  return {
    kind: 'row',
    row: { number: sheet.number, providerRef: providerRef || null, ourRef: ourRef || null, ...sums, day },
  };
}

type Sums = Pick<RegisterRow, 'paidTiyin' | 'refundedTiyin' | 'commissionTiyin'>;

/** @returns what cannot be read, as a sentence */
function sumsOf(cellOf: (field: RegisterField) => string, form: RegisterForm, isRefund: boolean): Sums | string {
  const amount = readSum(cellOf('amount'), form.amount_unit);
  if (amount === null) return 'its sum cannot be read for sure';
  const back = cellOf('refunded');
  const refunded = back === '' ? 0 : readSum(back, form.amount_unit);
  if (refunded === null) return 'what went back cannot be read for sure';
  const kept = cellOf('commission');
  const commission = kept === '' ? null : readSum(kept, form.amount_unit);
  if (kept !== '' && commission === null) return 'its commission cannot be read for sure';
  const commissionTiyin = commission === null ? null : Math.abs(commission);
  // A sum below nothing is money that went back, whatever the row calls itself.
  return isRefund || amount < 0
    ? { paidTiyin: 0, refundedTiyin: Math.abs(amount), commissionTiyin: null }
    : { paidTiyin: amount, refundedTiyin: Math.abs(refunded), commissionTiyin };
}

/** All rows under one id of the provider's together; where it has none, under one of ours. */
export interface RegisterEntry {
  providerRef: string | null;
  ourRef: string | null;
  paidTiyin: number;
  refundedTiyin: number;
  commissionTiyin: number | null;
  /** Rows that say that it was paid. */
  payments: number;
  rows: RegisterRow[];
}

/** Adds a row to those under the same id. */
export function addRow(entries: Map<string, RegisterEntry>, row: RegisterRow): void {
  const key = row.providerRef ?? `our:${row.ourRef ?? ''}`;
  const { providerRef, ourRef } = row;
  const none = { paidTiyin: 0, refundedTiyin: 0, commissionTiyin: null, payments: 0 };
  const known = entries.get(key) ?? { providerRef, ourRef, ...none, rows: [] };
  entries.set(key, known);
  known.rows.push(row);
  known.payments += row.paidTiyin > 0 ? 1 : 0;
  known.paidTiyin += row.paidTiyin;
  known.refundedTiyin += row.refundedTiyin;
  known.ourRef ??= row.ourRef;
  if (row.commissionTiyin !== null) known.commissionTiyin = (known.commissionTiyin ?? 0) + row.commissionTiyin;
}
