import { Prisma, type PrismaService } from '#database';

export interface DueComparison {
  id: string;
  account_id: string;
}

/** Who is not asked now. */
export interface LeftAlone {
  payments: readonly string[];
  accounts: readonly string[];
}

/** The oldest of one account, before it is the next one's turn. */
const OF_EACH_ACCOUNT = 5;

const ENDED = Prisma.sql`
  compared_at IS NULL AND state IN ('captured', 'voided', 'refunded', 'declined', 'expired', 'cancelled')`;
const HELD = Prisma.sql`state = 'authorized'`;

/**
 * What is to be compared next, by account in turn: an account with a backlog of a million, or one whose provider is away, holds up no other
 * one. Each statement goes on where the one before ended, and reads of each account only its oldest, by an index of its own.
 */
export class DueComparisons {
  /** The last account that had its turn. */
  private endedAfter = '';
  private heldAfter = '';

  constructor(private readonly prisma: Pick<PrismaService, '$queryRaw'>) {}

  /** Payments that ended so long ago and were not compared since. */
  async ended(minutes: number, most: number, leftAlone: LeftAlone): Promise<DueComparison[]> {
    const due = await this.inTurn(this.endedAfter, most, (from, limit) =>
      endedInTurn(minutes, { ...from, limit }, leftAlone),
    );
    this.endedAfter = due.at(-1)?.account_id ?? '';
    return due;
  }

  /** Payments whose money has been held for so long since it was last asked about. */
  async held(minutes: number, most: number, leftAlone: LeftAlone): Promise<DueComparison[]> {
    const due = await this.inTurn(this.heldAfter, most, (from, limit) =>
      heldInTurn(minutes, { ...from, limit }, leftAlone),
    );
    this.heldAfter = due.at(-1)?.account_id ?? '';
    return due;
  }

  /** From the account after the last one to the end, and then from the first one to that. */
  private async inTurn(
    last: string,
    most: number,
    statement: (from: { after: string; upTo: string | null }, limit: number) => Prisma.Sql,
  ): Promise<DueComparison[]> {
    const due = await this.prisma.$queryRaw<DueComparison[]>(statement({ after: last, upTo: null }, most));
    if (due.length >= most || last === '') return due;
    const from = { after: '', upTo: last };
    return [...due, ...(await this.prisma.$queryRaw<DueComparison[]>(statement(from, most - due.length)))];
  }
}

interface Turn {
  after: string;
  /** The last account; null: all. */
  upTo: string | null;
  limit: number;
}

export function endedInTurn(minutes: number, turn: Turn, leftAlone: LeftAlone): Prisma.Sql {
  const oldest = Prisma.sql`
    SELECT p.id FROM payments p
     WHERE p.account_id = a.account_id AND ${ENDED} AND state_since < now() - make_interval(mins => ${minutes}::int4)
       AND (hinted_at IS NULL OR hinted_at <= now()) AND p.id <> ALL(${[...leftAlone.payments]}::text[])
     ORDER BY state_since LIMIT ${OF_EACH_ACCOUNT}::int4`;
  return oldestInTurn(ENDED, oldest, turn, leftAlone);
}

export function heldInTurn(minutes: number, turn: Turn, leftAlone: LeftAlone): Prisma.Sql {
  const since = (column: Prisma.Sql, isIt: Prisma.Sql): Prisma.Sql => Prisma.sql`
    (SELECT p.id, ${column} AS since FROM payments p
      WHERE p.account_id = a.account_id AND ${HELD} AND ${isIt} AND ${column} < now() - make_interval(mins => ${minutes}::int4)
        AND p.id <> ALL(${[...leftAlone.payments]}::text[])
      ORDER BY compared_at, state_since LIMIT ${OF_EACH_ACCOUNT}::int4)`;
  // Each from its own end of the index: those that were asked about before, and those that were not.
  const oldest = Prisma.sql`
    SELECT one.id FROM (${since(Prisma.sql`compared_at`, Prisma.sql`compared_at IS NOT NULL`)}
                        UNION ALL
                        ${since(Prisma.sql`state_since`, Prisma.sql`compared_at IS NULL`)}) AS one
     ORDER BY one.since LIMIT ${OF_EACH_ACCOUNT}::int4`;
  return oldestInTurn(HELD, oldest, turn, leftAlone);
}

/** Accounts are found one after the other in the index, so that one with a million rows costs as much as one with five. */
function oldestInTurn(
  isOne: Prisma.Sql,
  oldest: Prisma.Sql,
  { after, upTo, limit }: Turn,
  { accounts }: LeftAlone,
): Prisma.Sql {
  const end = upTo === null ? Prisma.empty : Prisma.sql`AND account_id <= ${upTo}`;
  return Prisma.sql`
    WITH RECURSIVE accounts AS (
      (SELECT account_id FROM payments WHERE ${isOne} AND account_id > ${after} ${end} ORDER BY account_id LIMIT 1)
      UNION ALL
      SELECT (SELECT account_id FROM payments WHERE ${isOne} AND account_id > found.account_id ${end}
               ORDER BY account_id LIMIT 1)
        FROM accounts AS found WHERE found.account_id IS NOT NULL)
    SELECT due.id, a.account_id FROM accounts AS a CROSS JOIN LATERAL (${oldest}) AS due
     WHERE a.account_id IS NOT NULL AND a.account_id <> ALL(${[...accounts]}::text[])
     LIMIT ${limit}::int4`;
}
