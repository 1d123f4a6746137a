import { Injectable } from '@nestjs/common';
import { Prisma, PrismaService } from '#database';
import { nameKey } from '#fiscal-domain';
import type { Page } from '../http/paging.js';
import { isText, readCursor, writeCursor } from './cursors.js';
import { productView, type ProductRow, type ProductView } from './product-view.js';
import { COLUMNS } from './products.js';
import { SimilarWords } from './similar-words.js';
import { wordKey, wordsOf } from './words.js';

export interface ProductFilter {
  spic: string | null;
  marked: boolean | null;
  /** Archived ones, too. */
  withArchived: boolean;
}

/** Where the page before ended: which rank of hits, and the sku in it. */
type Place = readonly [rank: number, sku: string];

const FIRST: Place = [0, ''];
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
    const [rank, sku] = cursor === null ? FIRST : readCursor<Place>(cursor, isPlace);
    const ranks = text === null ? EVERYTHING : this.ranksOf(merchantId, text);
    const hits: { rank: number; row: ProductRow }[] = [];
    const before: Prisma.Sql[] = [];
    for (const [index, conditionOf] of ranks.entries()) {
      const condition = await conditionOf();
      if (condition === null) continue;
      if (index >= rank && hits.length <= limit) {
        const rows = await this.read(merchantId, {
          ...{ condition, before, filter },
          after: index === rank ? sku : '',
          limit: limit + 1 - hits.length,
        });
        hits.push(...rows.map((row) => ({ rank: index, row })));
      }
      if (hits.length > limit) break;
      before.push(condition);
    }
    const page = hits.slice(0, limit);
    const last = hits.length > limit ? page.at(-1) : undefined;
    return {
      data: page.map(({ row }) => productView(row)),
      next_cursor: last ? writeCursor([last.rank, last.row.sku]) : null,
    };
  }

  /** Each is asked for only when it is needed; null = it can have no hits of its own. */
  private ranksOf(merchantId: string, text: string): (() => Promise<Prisma.Sql | null>)[] {
    const words = wordsOf([text]);
    const all = (groups: readonly string[][]): Prisma.Sql | null => {
      if (groups.length === 0 || groups.some((group) => group.length === 0)) return null;
      const conditions = groups.map((group) => {
        const keys = group.map((word) => String(wordKey(merchantId, word)));
        return Prisma.sql`word_keys && ${keys}::text[]::bigint[]`;
      });
      return Prisma.join(conditions, ' AND ', '(', ')');
    };
    return [
      () => this.exact(merchantId, text),
      () => Promise.resolve(all(words.map((word) => [word]))),
      async () => all(await Promise.all(words.map((word) => this.similar.beginningWith(word)))),
      async () => all(await Promise.all(words.map((word) => this.similar.like(word)))),
    ];
  }

  private async exact(merchantId: string, text: string): Promise<Prisma.Sql | null> {
    const typed = text.trim().normalize('NFC');
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
    search: {
      condition: Prisma.Sql;
      before: readonly Prisma.Sql[];
      filter: ProductFilter;
      after: string;
      limit: number;
    },
  ): Promise<ProductRow[]> {
    const { condition, before, filter, after, limit } = search;
    const conditions = [
      Prisma.sql`merchant_id = ${merchantId}`,
      condition,
      ...before.map((earlier) => Prisma.sql`NOT (${earlier})`),
      ...(after === '' ? [] : [Prisma.sql`sku > ${after}`]),
      ...(filter.withArchived ? [] : [Prisma.sql`archived_at IS NULL`]),
      ...(filter.spic === null ? [] : [Prisma.sql`spic = ${filter.spic}`]),
      ...(filter.marked === null ? [] : [Prisma.sql`marked IS NOT DISTINCT FROM ${filter.marked}`]),
    ];
    return this.prisma.$queryRaw<ProductRow[]>`
      SELECT ${COLUMNS} FROM products WHERE ${Prisma.join(conditions, ' AND ')} ORDER BY sku LIMIT ${limit}`;
  }
}

const EVERYTHING: (() => Promise<Prisma.Sql | null>)[] = [() => Promise.resolve(Prisma.sql`TRUE`)];

function isPlace(parts: readonly unknown[]): boolean {
  const [rank, sku] = parts;
  return parts.length === 2 && typeof rank === 'number' && [0, 1, 2, 3].includes(rank) && isText(sku);
}
