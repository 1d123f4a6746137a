import { formatQuantity, type ReceiptLine } from '#fiscal-domain';
import type { ReceiptRow } from '#ledger';
import type { Cell } from '../../goods/sheets/xlsx-writer.js';

interface Column {
  name: string;
  cellOf: (row: ReceiptRow, receiptUrl: string) => Cell;
}

/** One line per receipt. Sums in tiyin, times in RFC 3339 UTC; names are never changed, new columns come at the end. */
export const COLUMNS: readonly Column[] = [
  { name: 'id', cellOf: (row) => row.id },
  { name: 'status', cellOf: (row) => row.status },
  { name: 'type', cellOf: (row) => row.type },
  { name: 'external_id', cellOf: (row) => row.external_id },
  { name: 'created_at', cellOf: (row) => row.created_at.toISOString() },
  { name: 'registered_at', cellOf: (row) => row.registered_at?.toISOString() ?? null },
  { name: 'device_id', cellOf: (row) => row.device_id },
  { name: 'branch_id', cellOf: (row) => row.branch_id },
  { name: 'cashier_id', cellOf: (row) => row.cashier_id },
  { name: 'total', cellOf: (row) => row.document.totalTiyin },
  { name: 'vat_total', cellOf: (row) => row.document.vatTotalTiyin },
  { name: 'cash', cellOf: (row) => row.document.payment.cashTiyin },
  { name: 'card', cellOf: (row) => row.document.payment.cardTiyin },
  { name: 'payment_method', cellOf: (row) => row.document.payment.method },
  { name: 'provider', cellOf: (row) => row.document.payment.provider },
  { name: 'items', cellOf: (row) => row.document.lines.map(lineText).join('; ') },
  { name: 'terminal_id', cellOf: (row) => row.terminal_id },
  { name: 'receipt_seq', cellOf: (row) => (row.receipt_seq === null ? null : Number(row.receipt_seq)) },
  { name: 'fiscal_sign', cellOf: (row) => row.fiscal_sign },
  { name: 'verification_url', cellOf: (row) => row.verification_url },
  { name: 'refund_of', cellOf: (row) => row.refund_of },
  { name: 'rejection_code', cellOf: (row) => row.rejection?.code ?? null },
  { name: 'receipt_url', cellOf: (_row, receiptUrl) => receiptUrl },
  { name: 'surplus', cellOf: (row) => String(row.is_surplus) },
];

/** What Excel keeps in one cell. */
const MAX_CELL_LENGTH = 32_000;

export function cellsOf(row: ReceiptRow, receiptUrl: string): Cell[] {
  return COLUMNS.map(({ cellOf }) => {
    const cell = cellOf(row, receiptUrl);
    return typeof cell === 'string' ? neutralised(cell.slice(0, MAX_CELL_LENGTH)) : cell;
  });
}

/**
 * A text that a spreadsheet would run as a formula (CWE-1236) gets an apostrophe in front, in every format: files travel from
 * one to another. Also the full-width signs, which some programs read as the usual ones.
 */
export function neutralised(text: string): string {
  return /^\s*[=+\-@\t\r\uFF1D\uFF0B\uFF0D\uFF20]/u.test(text) ? `'${text}` : text;
}

function lineText(line: ReceiptLine): string {
  return `${line.name} × ${formatQuantity(line.quantity)}`;
}
