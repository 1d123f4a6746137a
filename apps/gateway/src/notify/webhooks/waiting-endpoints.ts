import { Prisma, type PrismaService } from '#database';
import type { FairSlots, ReleaseSlot } from '#runtime';
import { MAY_BE_CLAIMED } from '../may-be-claimed.js';

/** Endpoints that are read in the order of their waiting. */
const READ = 128;
/** Merchants that are read in turn, and endpoints of each. */
const MERCHANTS = 200;
const OF_EACH = 4;

/** An endpoint for which something is due. */
export interface WaitingEndpoint {
  id: string;
  merchant_id: string;
}

/** Null: the merchant has none of this kind that may be claimed. */
interface InTurn {
  id: string | null;
  merchant_id: string;
}

/** Slots for endpoints, by the endpoint's id. */
export type Taken = Map<string, ReleaseSlot>;

/**
 * Which endpoints get the free places of this process: those that have waited longest, as long as their merchants have not got their
 * share. Where the first that wait are all of merchants that have it, the other merchants are asked in turn, from the one after the
 * last: however many endpoints one merchant has, they are not read.
 */
export class WaitingEndpoints {
  private lastMerchant = '';

  constructor(
    private readonly prisma: Pick<PrismaService, '$queryRaw'>,
    private readonly slots: FairSlots,
    private readonly isFailing: boolean,
  ) {}

  /** Takes slots of those that may be claimed now. @returns whether others wait, for a place or for one of their merchant */
  async take(): Promise<{ taken: Taken; othersWait: boolean }> {
    const taken: Taken = new Map();
    if (this.slots.free === 0) return { taken, othersWait: true };
    const first = await this.prisma.$queryRaw<WaitingEndpoint[]>(longestWaiting(this.isFailing));
    this.takeSlots(first, taken);
    const othersWait = taken.size < first.length;
    if (first.length === READ && this.slots.free > 0) await this.takeInTurn(taken);
    return { taken, othersWait };
  }

  private async takeInTurn(taken: Taken): Promise<void> {
    const found = await this.prisma.$queryRaw<InTurn[]>(waitingInTurn(this.lastMerchant, this.isFailing));
    const last = found.at(-1)?.merchant_id ?? '';
    // Behind the last merchant the first one follows.
    this.lastMerchant = new Set(found.map(({ merchant_id: id }) => id)).size === MERCHANTS ? last : '';
    this.takeSlots(
      found.flatMap(({ id, merchant_id }) => (id === null ? [] : [{ id, merchant_id }])),
      taken,
    );
  }

  private takeSlots(endpoints: readonly WaitingEndpoint[], taken: Taken): void {
    for (const { id, merchant_id: merchantId } of endpoints) {
      if (this.slots.free === 0) return;
      const release = taken.has(id) ? null : this.slots.tryTake(merchantId);
      if (release) taken.set(id, release);
    }
  }
}

function claimable(isFailing: boolean): Prisma.Sql {
  return Prisma.sql`${MAY_BE_CLAIMED} AND (failing_since IS NOT NULL) = ${isFailing}`;
}

export function longestWaiting(isFailing: boolean): Prisma.Sql {
  return Prisma.sql`
    SELECT id, merchant_id FROM webhook_endpoints WHERE ${claimable(isFailing)} ORDER BY due_at LIMIT ${READ}`;
}

/** The index is read once for each merchant. */
export function waitingInTurn(after: string, isFailing: boolean): Prisma.Sql {
  return Prisma.sql`
    WITH RECURSIVE waiting AS (
      (SELECT merchant_id, 1 AS nr FROM webhook_endpoints
        WHERE due_at IS NOT NULL AND merchant_id > ${after} ORDER BY merchant_id LIMIT 1)
      UNION ALL
      SELECT next.merchant_id, w.nr + 1 FROM waiting w CROSS JOIN LATERAL (
        SELECT merchant_id FROM webhook_endpoints
         WHERE due_at IS NOT NULL AND merchant_id > w.merchant_id ORDER BY merchant_id LIMIT 1) AS next
       WHERE w.nr < ${MERCHANTS}::int4
    )
    SELECT e.id, w.merchant_id FROM waiting w LEFT JOIN LATERAL (
      SELECT id, due_at FROM webhook_endpoints
       WHERE merchant_id = w.merchant_id AND ${claimable(isFailing)} ORDER BY due_at LIMIT ${OF_EACH}) AS e ON true
     ORDER BY w.nr, e.due_at`;
}
