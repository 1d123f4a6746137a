import { acrossMerchants, type Prisma } from '#database';

/** A rank of hits: its condition, asked for only when it is needed; null = it can have no hits of its own. */
export type Rank = () => Promise<Prisma.Sql | null>;

/** Hits of a rank that are wanted. */
export interface RankSearch {
  /** Of the list's ranks, from 0. */
  rank: number;
  condition: Prisma.Sql;
  /** Conditions of the ranks before, whose hits are left out. */
  before: readonly Prisma.Sql[];
  after: string;
  limit: number;
}

/** Where the page before ended: which rank of hits, and the key of the last one in it. */
export type RankedPlace = readonly [rank: number, key: string];

export interface RankedHit<Row> {
  rank: number;
  row: Row;
}

/**
 * Rank after rank until one hit more than fits is there. Within a rank hits stand by their key, so that pages are stable; a
 * rank is only asked for when those before it did not fill the page, and leaves out what they have. The last one is a guess
 * at what was meant: it is only asked for when nothing was found as typed.
 */
export async function searchByRank<Row>(
  ranks: readonly Rank[],
  [rank, key]: RankedPlace,
  limit: number,
  read: (search: RankSearch) => Promise<Row[]>,
): Promise<RankedHit<Row>[]> {
  const hits: RankedHit<Row>[] = [];
  const before: Prisma.Sql[] = [];
  for (const [index, conditionOf] of ranks.entries()) {
    const isGuess = index > 0 && index === ranks.length - 1;
    if (isGuess && rank < index && (key !== '' || hits.length > 0)) break;
    const condition = await conditionOf();
    if (condition === null) continue;
    if (index >= rank) {
      const after = index === rank ? key : '';
      const rows = await read({ rank: index, condition, before, after, limit: limit + 1 - hits.length });
      hits.push(...rows.map((row) => ({ rank: index, row })));
    }
    if (hits.length > limit) break;
    before.push(condition);
  }
  return hits;
}

/** Rows that are read in the order of their keys before hits are gathered by the index of words instead. */
export const WALKED_ROWS = 2_000;

/**
 * Hits in the order of their keys: first among the next rows in that order, which is enough where hits are many, and else by
 * the index of words. PostgreSQL would choose by an estimate of how many hits there are, which for words is a guess: with
 * few hits it walked through a million rows to fill a page.
 */
export async function walkThenGather<Row>(
  limit: number,
  walk: () => Promise<Row[]>,
  gather: () => Promise<Row[]>,
): Promise<Row[]> {
  const rows = await walk();
  if (rows.length >= limit) return rows;
  // PostgreSQL does not use the index of words behind row-level security, because its operator is not leakproof. The words of a
  // merchant's products are keyed by the merchant (words.ts), and its id stands in the statement.
  // `then` within: a statement of Prisma's begins when it is waited for.
  return acrossMerchants(() => gather().then((found) => found));
}
