import type { Receipt, Schema } from '../../api/api.js';
import { parseSom } from '../../format/money.js';

export type Left = Schema<'LeftView'>;
type Body = Schema<'RefundBody'>;
export type RefundMode = 'whole' | 'qty' | 'sum';

/** What a person has typed; a line that is empty stays. */
export interface RefundDraft {
  mode: RefundMode;
  method: '' | 'cash' | 'card' | 'wallet';
  externalId: string;
  /** By number of the line: a quantity, or a sum in so‘m. */
  parts: Record<string, string>;
  /** By number of the line: marking codes that come back. */
  labels: Record<string, string[]>;
}

export const EMPTY_REFUND: RefundDraft = { mode: 'whole', method: '', externalId: '', parts: {}, labels: {} };

export type LineFault = 'badQty' | 'badSum';

export interface JudgedRefund {
  body: Body | null;
  faults: Record<string, LineFault>;
}

/** The body of the call, or what is wrong with it line by line. The gateway judges once more. */
export function refundBody(draft: RefundDraft, left: Left): JudgedRefund {
  const shared: Body = {
    ...(draft.method !== '' && { payment: { method: draft.method } }),
    ...(draft.externalId.trim() !== '' && { external_id: draft.externalId.trim() }),
  };
  if (draft.mode === 'whole') return { body: shared, faults: {} };
  const faults: Record<string, LineFault> = {};
  const lines: NonNullable<Body['lines']> = [];
  for (const line of left.lines) {
    const typed = (draft.parts[line.line] ?? '').trim();
    if (typed === '') continue;
    if (draft.mode === 'qty') {
      const qty = quantityOf(typed, line.qty);
      const labels = draft.labels[line.line] ?? [];
      if (qty === null) faults[line.line] = 'badQty';
      else lines.push({ line: line.line, qty, ...(labels.length > 0 && { labels }) });
    } else {
      const sum = parseSom(typed);
      if (sum === null || sum <= 0 || sum > line.total) faults[line.line] = 'badSum';
      else lines.push({ line: line.line, sum });
    }
  }
  return { body: lines.length > 0 && Object.keys(faults).length === 0 ? { ...shared, lines } : null, faults };
}

/** As text: quantities never pass through floating point on their way to the gateway. */
function quantityOf(typed: string, left: number): string | null {
  const text = typed.replace(',', '.');
  if (!/^\d{1,9}(\.\d{1,3})?$/.test(text)) return null;
  return thousandths(text) > 0 && thousandths(text) <= thousandths(String(left)) ? text : null;
}

function thousandths(text: string): number {
  const [whole = '0', part = ''] = text.split('.');
  return Number(whole) * 1_000 + Number(part.padEnd(3, '0').slice(0, 3));
}

/** Lines of which nothing is left are not offered. */
export function refundableLines(
  receipt: Receipt,
  left: Left,
): { item: Receipt['items'][number]; left: Left['lines'][number] }[] {
  return left.lines.flatMap((line) => {
    const item = receipt.items.find((one) => one.line === line.line);
    return item && line.total > 0 ? [{ item, left: line }] : [];
  });
}
