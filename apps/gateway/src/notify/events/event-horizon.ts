import { Inject, Injectable } from '@nestjs/common';
import { Prisma, PrismaService } from '#database';
import { PeriodicProvider, type Logger } from '#runtime';
import { LOGGER } from '../../tokens.js';

/** Until what age a transaction may write its first event: the trigger `events_written_early` says 15 s, clocks may step. */
const CANNOT_WRITE_AFTER_MS = 30_000;
const POLL_MS = 1_000;

/** `xmin:xmax:…`, as pg_snapshot is written. */
const IN_FLIGHT = Prisma.sql`SELECT pg_current_snapshot()::text`;

/** A transaction, and since when it has been seen in flight. */
interface Noted {
  id: bigint;
  sinceMs: number;
}

/** All numbers below `nextId` belonged to transactions that had begun by then. */
interface Mark {
  atMs: number;
  nextId: bigint;
}

/**
 * Before which transaction readers of events stop (docs/adr/0056-age-of-the-feed.md). As a rule before the oldest in flight: what
 * commits later stands behind everything that was read. One that has been in flight for long, and holds no lock with which it
 * could have written an event, cannot write any: it is passed, whatever program it belongs to, so that it does not hold up all readers.
 */
@Injectable()
export class EventHorizon extends PeriodicProvider {
  private marks: Mark[] = [];
  /** Transactions in flight that can write no event any more. */
  private harmless: readonly bigint[] = [];
  /** The oldest transaction in flight; that which readers wait for. Null: none is. */
  private oldest: Noted | null = null;
  private waitedFor: Noted | null = null;
  constructor(
    private readonly prisma: PrismaService,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    super(
      {
        ...{ name: 'reading the oldest transaction', everyMs: POLL_MS, startsAfterMs: POLL_MS, isOnBeat: true },
        run: () => this.poll(),
      },
      logger,
    );
  }

  /** Events below it are read: every transaction below it has ended, or writes none. */
  get limit(): Prisma.Sql {
    if (this.harmless.length === 0) return readableBelow(Prisma.sql`pg_snapshot_xmin(pg_current_snapshot())`);
    return readableBelow(Prisma.sql`coalesce(
      (SELECT x.id FROM pg_snapshot_xip(pg_current_snapshot()) AS x(id)
        WHERE x.id::text <> ALL(${this.harmless.map(String)}::text[]) ORDER BY x.id LIMIT 1),
      pg_snapshot_xmax(pg_current_snapshot()))`);
  }

  get oldestTransactionMs(): number {
    return ageOf(this.oldest);
  }

  /** For how long readers have waited for the same transaction. */
  get heldUpMs(): number {
    return ageOf(this.waitedFor);
  }

  private poll(): Promise<void> {
    return this.read().catch((error: unknown) => {
      // It may be another database when it is back: its numbers are others.
      this.forget();
      this.logger.debug({ err: error }, 'the oldest transaction was not read');
    });
  }

  private async read(): Promise<void> {
    const askedMs = performance.now();
    const [oldest = '', next = ''] = (await this.prisma.ask<string>(IN_FLIGHT)).split(':');
    const now = { oldest: BigInt(oldest), next: BigInt(next) };
    const last = this.marks.at(-1);
    if (last && now.next < last.nextId) this.forget();
    this.oldest = noted(this.oldest, now.oldest, now.next);
    this.marks.push({ atMs: performance.now(), nextId: now.next });
    const old = this.marks.findLast(({ atMs }) => askedMs - atMs > CANNOT_WRITE_AFTER_MS);
    if (old) this.marks = this.marks.filter(({ atMs }) => atMs >= old.atMs);
    if (old && now.oldest < old.nextId) return this.judge(old.nextId);
    this.harmless = [];
    this.waitedFor = this.oldest;
  }

  /** All transactions below `oldId` began long ago: those without a lock with which events are written can write none any more. */
  private async judge(oldId: bigint): Promise<void> {
    const flights = await this.prisma.$queryRaw<{ id: bigint; is_harmless: boolean }[]>`
      SELECT x.id::text::bigint AS id, x.id::text::bigint < ${oldId}::bigint AND NOT EXISTS (
               SELECT FROM pg_locks own JOIN pg_locks held ON held.virtualtransaction = own.virtualtransaction
                WHERE own.locktype = 'transactionid' AND own.transactionid = x.id::xid
                  AND own.mode = 'ExclusiveLock' AND own.granted
                  AND held.locktype = 'relation' AND held.relation = 'events'::regclass
                  AND held.database = (SELECT oid FROM pg_database WHERE datname = current_database())
                  AND held.mode NOT IN ('AccessShareLock', 'RowShareLock', 'ShareUpdateExclusiveLock')) AS is_harmless
        FROM pg_snapshot_xip(pg_current_snapshot()) AS x(id) ORDER BY x.id`;
    const harmless = flights.filter((flight) => flight.is_harmless).map(({ id }) => id);
    const added = harmless.filter((id) => !this.harmless.includes(id));
    if (added.length > 0) {
      const facts = { transactions: added.map(String), oldest_s: Math.round(ageOf(this.oldest) / 1_000) };
      this.logger.warn(
        facts,
        'transactions have been in flight for long and have written no event; events are read past them',
      );
    }
    this.harmless = harmless;
    const waited = flights.find((flight) => !flight.is_harmless);
    this.waitedFor = waited ? noted(this.waitedFor, waited.id, waited.id + 1n) : null;
  }

  private forget(): void {
    this.marks = [];
    this.harmless = [];
    this.oldest = null;
    this.waitedFor = null;
  }
}

/** A copy that was put back may bring numbers that have yet to come here: relays renumber them, until then readers stop before. */
function readableBelow(inFlight: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`(SELECT events_readable_below(${inFlight}))`;
}

function noted(before: Noted | null, id: bigint, nextId: bigint): Noted | null {
  if (id >= nextId) return null;
  return before?.id === id ? before : { id, sinceMs: performance.now() };
}

function ageOf(transaction: Noted | null): number {
  return transaction ? performance.now() - transaction.sinceMs : 0;
}
