import { Prisma } from '#database';

/** Of so many places one in ten is for merchants that have none. */
const PLACES_FOR_EACH_KEPT = 10;

export interface DueShares {
  free: number;
  /** Of the free ones, those that only a merchant without one is given. */
  kept: number;
  /** By merchant: what this relay has in hand. */
  held: ReadonlyMap<string, number>;
}

/** How many of so many places only a merchant without one is given. Those of lanes (places.ts) keep fewer: there a silent register holds none. */
export function keptForNewcomers(places: number): number {
  return Math.floor(places / PLACES_FOR_EACH_KEPT);
}

/** Work that this relay has in hand, by merchant, and what of it may still be begun. */
export class WorkInHand {
  private readonly running = new Map<Promise<unknown>, string>();

  constructor(private readonly places: number) {}

  begin(merchantId: string, work: Promise<unknown>): void {
    const ended = work.finally(() => this.running.delete(ended));
    this.running.set(ended, merchantId);
  }

  /** All that was begun has ended. */
  async settle(): Promise<void> {
    while (this.running.size > 0) await Promise.allSettled(this.running.keys());
  }

  shares(): DueShares {
    const held = new Map<string, number>();
    for (const merchantId of this.running.values()) held.set(merchantId, (held.get(merchantId) ?? 0) + 1);
    return { free: this.places - this.running.size, kept: keptForNewcomers(this.places), held };
  }
}

/**
 * Locks the devices `d` whose work is due and may begin here: each merchant's longest due first, the merchant with the least in
 * hand next, and the last places one to each merchant that has none.
 *
 * @param due the column of the due time
 * @param isDue condition on `d`
 */
export function dueByMerchant(due: Prisma.Sql, isDue: Prisma.Sql, shares: DueShares): Prisma.Sql {
  const devices = Prisma.sql`SELECT d.id, d.merchant_id, ${due} AS due_at FROM devices d WHERE ${isDue}`;
  return Prisma.sql`
    SELECT d.id FROM devices d WHERE d.id IN (${inTurn(devices, shares)})
       AND ${isDue} FOR NO KEY UPDATE OF d SKIP LOCKED`;
}

/**
 * Of the devices that are due, those that may begin here, in the order of {@link dueByMerchant}; locks nothing.
 *
 * @param devices a query of `id`, `merchant_id`, `due_at`
 */
export function inTurn(devices: Prisma.Sql, { free, kept, held }: DueShares): Prisma.Sql {
  return Prisma.sql`
    WITH held AS (
      SELECT * FROM unnest(${[...held.keys()]}::text[], ${[...held.values()]}::int[]) AS h(merchant_id, places)
    ), placed AS (
      SELECT d.id, d.due_at,
             coalesce(h.places, 0) + row_number() OVER (PARTITION BY d.merchant_id ORDER BY d.due_at) AS place
        FROM (${devices}) d LEFT JOIN held h USING (merchant_id)
    ), ranked AS (
      SELECT id, place, row_number() OVER (ORDER BY place, due_at) AS rank FROM placed
    )
    SELECT id FROM ranked WHERE rank <= ${free} AND (place = 1 OR rank <= ${free - kept})`;
}
