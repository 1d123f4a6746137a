import type { DifferenceKind } from './judge-payment.js';
import type { DifferenceRow, SettlementReport, SettlementRow } from './settlement.repository.js';

/** As the API shows it: tiyin, days in Tashkent. */
export interface SettlementView extends SettlementReport {
  id: string;
  provider_account_id: string;
  provider: string;
  format: 'csv' | 'xlsx';
  from: string;
  to: string;
  created_at: string;
}

export interface DifferenceView {
  number: number;
  kind: DifferenceKind;
  day: string | null;
  payment_id: string | null;
  receipt_id: string | null;
  provider_ref: string | null;
  /** Row of the file. */
  row: number | null;
  ours: number | null;
  theirs: number | null;
  detail: string;
}

export function settlementView(row: SettlementRow): SettlementView {
  const { rows, left_out, differences, days } = row.report;
  return {
    ...{ id: row.id, provider_account_id: row.account_id, provider: row.provider, format: row.format },
    ...{ from: dayOf(row.day_from), to: dayOf(row.day_to) },
    ...{ rows, left_out, differences, days },
    created_at: row.created_at.toISOString(),
  };
}

export function differenceView(row: DifferenceRow): DifferenceView {
  const { number, kind, payment_id, receipt_id, provider_ref, detail } = row;
  return {
    ...{ number, kind, day: row.day && dayOf(row.day), payment_id, receipt_id, provider_ref, row: row.row },
    ours: row.ours_tiyin === null ? null : Number(row.ours_tiyin),
    theirs: row.theirs_tiyin === null ? null : Number(row.theirs_tiyin),
    detail,
  };
}

function dayOf(date: Date): string {
  return date.toISOString().slice(0, 10);
}
