import type { Difference, Period } from './judge-payment.js';
import type { RegisterRow } from './register-rows.js';
import type { CountedDay, TakenPayment } from './settlement.repository.js';

const MS_PER_DAY = 86_400_000;

/** Sums of each day of a register, theirs beside ours, and how many differences. */
export class SettlementDays {
  private readonly days = new Map<string, CountedDay>();

  constructor({ from, to }: Period) {
    for (let ms = Date.parse(from); ms <= Date.parse(to); ms += MS_PER_DAY) {
      const day = new Date(ms).toISOString().slice(0, 10);
      const theirs = { payments: 0, paid: 0, refunded: 0, commission: 0 };
      this.days.set(day, { day, theirs, ours: { payments: 0, paid: 0, refunded: 0 }, differences: {} });
    }
  }

  /** Rows of other days are differences of their own. */
  theirs({ day, paidTiyin, refundedTiyin, commissionTiyin }: RegisterRow): void {
    const sums = this.days.get(day)?.theirs;
    if (!sums) return;
    sums.payments += paidTiyin > 0 ? 1 : 0;
    sums.paid += paidTiyin;
    sums.refunded += refundedTiyin;
    sums.commission += commissionTiyin ?? 0;
  }

  ours({ day, amount_tiyin: amount, refunded_tiyin: refunded }: TakenPayment): void {
    const sums = this.days.get(day)?.ours;
    if (!sums) return;
    sums.payments += 1;
    sums.paid += Number(amount);
    sums.refunded += Number(refunded);
  }

  /** One of no day, or of a day that the register is not about, is in the whole alone. */
  differ({ day, kind }: Pick<Difference, 'day' | 'kind'>): void {
    const counts = day === null ? undefined : this.days.get(day)?.differences;
    if (counts) counts[kind] = (counts[kind] ?? 0) + 1;
  }

  list(): CountedDay[] {
    return [...this.days.values()];
  }
}
