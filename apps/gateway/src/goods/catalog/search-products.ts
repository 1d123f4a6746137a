import { Injectable } from '@nestjs/common';
import { Prisma, PrismaService } from '#database';
import { nameKey, normaliseText } from '#fiscal-domain';
import { pageBy, type Page } from '../../http/paging.js';
import { isText, readCursor, writeCursor } from './cursors.js';
import { productView, type ProductRow, type ProductView } from './product-view.js';
import { COLUMNS } from './products.js';
import {
  searchByRank,
  WALKED_ROWS,
  walkThenGather,
  type Rank,
  type RankSearch,
  type RankedPlace,
} from './ranked-search.js';
import { SimilarWords } from './similar-words.js';
import { wordRanks } from './word-conditions.js';

export interface ProductFilter {
  spic: string | null;
  marked: boolean | null;
  /** Archived ones, too. */
  withArchived: boolean;
}

const FIRST: RankedPlace = [0, ''];
const MAX_EXACT = 200;

/**
 * Products by what a person types. Four ranks follow one another: exact sku, barcode or name; all words as typed; all words
 * as beginnings; all words with a slip of the hand. Within a rank hits stand by sku, so that pages are stable, and a
 * rank is only asked for when those before it did not fill the page.
 */
@Injectable()
export class SearchProducts {
  constructor(
    private readonly prisma: PrismaService,
    private readonly similar: SimilarWords,
  ) {}

  /** @throws Problem 422 for a cursor that is none of this list */
  async execute(
    merchantId: string,
    text: string | null,
    filter: ProductFilter,
    { limit, cursor }: { limit: number; cursor: string | null },
  ): Promise<Page<ProductView>> {
    const place = cursor === null ? FIRST : readCursor<RankedPlace>(cursor, isPlace);
    const ranks =
      text === null ? EVERYTHING : [() => this.exact(merchantId, text), ...wordRanks(merchantId, text, this.similar)];
    const hits = await searchByRank(ranks, place, limit, (search) =>
      this.read(merchantId, filter, search, { isExact: text !== null && search.rank === 0 }),
    );
    return pageBy(
      hits,
      limit,
      ({ row }) => productView(row),
      ({ rank, row }) => writeCursor([rank, row.sku]),
    );
  }

  private async exact(merchantId: string, text: string): Promise<Prisma.Sql | null> {
    const typed = normaliseText(text.trim());
    const key = nameKey(text);
    const rows = await this.prisma.$queryRaw<{ sku: string }[]>`
      (SELECT sku FROM products WHERE merchant_id = ${merchantId} AND sku = ${typed})
      UNION (SELECT sku FROM products WHERE merchant_id = ${merchantId} AND barcode = ${typed} AND archived_at IS NULL
             LIMIT ${MAX_EXACT})
      UNION (SELECT sku FROM products WHERE merchant_id = ${merchantId} AND name_key = ${key} AND archived_at IS NULL
             ORDER BY sku LIMIT ${MAX_EXACT})
      UNION (SELECT sku FROM product_keys
              WHERE merchant_id = ${merchantId} AND (kind, key) IN (('name', ${key}), ('barcode', ${typed}))
              ORDER BY sku LIMIT ${MAX_EXACT})`;
    return rows.length === 0 ? null : Prisma.sql`sku = ANY(${rows.map(({ sku }) => sku)}::text[])`;
  }

  private read(
    merchantId: string,
    filter: ProductFilter,
    { condition, before, after, limit }: RankSearch,
    { isExact }: { isExact: boolean },
  ): Promise<ProductRow[]> {
    const conditions = [
      condition,
      ...before.map((earlier) => Prisma.sql`NOT (${earlier})`),
      ...(filter.withArchived ? [] : [Prisma.sql`archived_at IS NULL`]),
      ...(filter.spic === null ? [] : [Prisma.sql`spic = ${filter.spic}`]),
      ...(filter.marked === null ? [] : [Prisma.sql`marked IS NOT DISTINCT FROM ${filter.marked}`]),
    ];
    const [place, hit] = [Prisma.sql`merchant_id = ${merchantId} AND sku > ${after}`, Prisma.join(conditions, ' AND ')];
    // An expression of the key: no index has its order, so the hits are gathered first.
    const gather = (): Promise<ProductRow[]> => this.prisma.$queryRaw<ProductRow[]>`
      SELECT ${COLUMNS} FROM products WHERE ${place} AND ${hit} ORDER BY sku || '' LIMIT ${limit}`;
    if (isExact) return gather();
    const walk = (): Promise<ProductRow[]> => this.prisma.$queryRaw<ProductRow[]>`
      SELECT ${COLUMNS} FROM (SELECT * FROM products WHERE ${place} ORDER BY sku LIMIT ${WALKED_ROWS}) AS products
      WHERE ${hit} ORDER BY sku LIMIT ${limit}`;
    return walkThenGather(limit, walk, gather);
  }
}

const EVERYTHING: Rank[] = [() => Promise.resolve(Prisma.sql`TRUE`)];

function isPlace(parts: readonly unknown[]): boolean {
  const [rank, sku] = parts;
  return parts.length === 2 && typeof rank === 'number' && [0, 1, 2, 3].includes(rank) && isText(sku);
}
