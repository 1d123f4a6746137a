import type { DifferenceKind } from './judge-payment.js';
import type {
  CountedDay,
  DifferenceCounts,
  DifferenceRow,
  SettlementReport,
  SettlementRow,
} from './settlement.repository.js';

/** Sums of one day in Tashkent, tiyin. */
export interface SettlementDayView extends Omit<CountedDay, 'differences'> {
  /**
   * How many differences of each kind the day has; those that are none are left out. What has no day, or a day outside of the register's,
   * is in the whole alone. Null: the register was compared before this was counted.
   */
  differences: DifferenceCounts | null;
}

/** As the API shows it: tiyin, days in Tashkent. */
export interface SettlementView extends Omit<SettlementReport, 'days'> {
  days: SettlementDayView[];
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
    ...{ rows, left_out, differences },
    days: days.map((day) => ({ ...day, differences: day.differences ?? null })),
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
