import type pg from 'pg';
import { Prisma, type PrismaService } from '#database';
import { renumberEvents } from '#ledger';
import type { Logger } from '#runtime';

/** Positions of one transaction: it holds none of them for long. */
const POSITIONS_AT_ONCE = 5_000;

/**
 * A dump carries transaction numbers of its old cluster, which in the new one have yet to come: readers of events, who stop before
 * what is under way, would wait for them. They get the number of the caller's transaction, and to give it to them is left to
 * {@link RenumberEvents}: with years of events it takes hours, and no lane waits for it. Until it is done readers stop before that number.
 *
 * In the caller's transaction, before it writes any event.
 */
export async function planRenumbering(client: pg.ClientBase): Promise<void> {
  await client.query(`
    INSERT INTO event_renumberings (below, last)
    SELECT pg_current_xact_id(), position FROM events ORDER BY position DESC LIMIT 1
    ON CONFLICT (id) DO UPDATE SET below = excluded.below, next = 0, last = excluded.last`);
}

interface Planned {
  below: string;
  next: bigint;
  last: bigint;
}

/** Works off what {@link planRenumbering} has left, some positions at a time; one relay of several, and the next one goes on. */
export class RenumberEvents {
  constructor(
    private readonly prisma: PrismaService,
    private readonly logger: Logger,
    private readonly positionsAtOnce = POSITIONS_AT_ONCE,
  ) {}

  /** @returns whether there is more */
  async run(): Promise<boolean> {
    const isPlanned = await this.prisma.ask<boolean>(Prisma.sql`SELECT EXISTS (SELECT FROM event_renumberings)`);
    if (!isPlanned) return false;
    return this.prisma.$transaction(async (tx) => {
      const [planned] = await tx.$queryRaw<Planned[]>`
        SELECT below::text AS below, next, last FROM event_renumberings FOR UPDATE SKIP LOCKED`;
      if (!planned) return false;
      const { below, last } = planned;
      const next = await this.nextEvent(tx, planned);
      const upTo = next + BigInt(this.positionsAtOnce);
      await renumberEvents(tx, { below, after: next, upTo: upTo < last ? upTo : last });
      if (upTo < last) {
        await tx.$executeRaw`UPDATE event_renumberings SET next = ${upTo}::bigint`;
        return true;
      }
      await tx.$executeRaw`DELETE FROM event_renumberings`;
      this.logger.info({ events: String(last) }, 'the events of the copy can be read');
      return false;
    });
  }

  /** Right before the next event that there is: of years of positions only those of some months may have not left for an archive. */
  private async nextEvent(tx: Prisma.TransactionClient, { next, last }: Planned): Promise<bigint> {
    const [event] = await tx.$queryRaw<{ position: bigint }[]>`
      SELECT position FROM events WHERE position > ${next}::bigint ORDER BY position LIMIT 1`;
    return event ? event.position - 1n : last;
  }
}
