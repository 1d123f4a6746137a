import type { Prisma } from '#database';

/** A rank of hits: its condition, asked for only when it is needed; null = it can have no hits of its own. */
export type Rank = () => Promise<Prisma.Sql | null>;

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
  read: (search: {
    condition: Prisma.Sql;
    before: readonly Prisma.Sql[];
    after: string;
    limit: number;
  }) => Promise<Row[]>,
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
      const rows = await read({ condition, before, after, limit: limit + 1 - hits.length });
      hits.push(...rows.map((row) => ({ rank: index, row })));
    }
    if (hits.length > limit) break;
    before.push(condition);
  }
  return hits;
}
