import { Injectable } from '@nestjs/common';
import { PrismaService } from '#database';
import { isCount, readCursor, writeCursor } from './cursors.js';
import { productView, type ProductRow, type ProductView } from './product-view.js';
import { COLUMNS } from './products.js';

export interface CatalogChange {
  sku: string;
  /** It was archived: the reader's copy drops it. `product` is then null. */
  deleted: boolean;
  product: ProductView | null;
}

export interface CatalogChangesPage {
  data: CatalogChange[];
  /** Never null: where the next read begins, also when there is nothing more at this moment. */
  next_cursor: string;
  /** Whether the page is full, so that asking again at once is worth while. */
  has_more: boolean;
}

interface ChangeRow extends ProductRow {
  change_transaction: string;
}

const START: readonly [string, string] = ['0', '0'];

/**
 * The catalogue in the order of its last changes: who follows the cursor from the beginning ends with a copy. Each product
 * stands once, at its last change; archived ones stay as tombstones.
 *
 * Nothing is missed: a row's place is its transaction's id and a position. Ids are drawn at the first write and not in the
 * order of commits, so the reader stops before the oldest transaction still in flight: everything below it is decided, and
 * a row that is changed again moves behind every place that was ever shown.
 */
@Injectable()
export class CatalogChanges {
  constructor(private readonly prisma: PrismaService) {}

  /** @throws Problem 422 for a cursor that is none of this feed */
  async read(merchantId: string, cursor: string | null, limit: number): Promise<CatalogChangesPage> {
    const [transaction, position] =
      cursor === null
        ? START
        : readCursor<readonly [string, string]>(cursor, (parts) => parts.length === 2 && parts.every(isCount));
    const rows = await this.prisma.$queryRaw<ChangeRow[]>`
      SELECT ${COLUMNS}, change_transaction::text AS change_transaction FROM products
      WHERE merchant_id = ${merchantId}
        AND change_transaction < pg_snapshot_xmin(pg_current_snapshot())
        AND (change_transaction, change_position) > (${transaction}::text::xid8, ${position}::text::bigint)
      ORDER BY products.change_transaction, change_position LIMIT ${limit + 1}`;
    const page = rows.slice(0, limit);
    const last = page.at(-1);
    return {
      data: page.map(changeOf),
      next_cursor: writeCursor(
        last ? [last.change_transaction, String(last.change_position)] : [transaction, position],
      ),
      has_more: rows.length > limit,
    };
  }
}

function changeOf(row: ChangeRow): CatalogChange {
  const deleted = row.archived_at !== null;
  return { sku: row.sku, deleted, product: deleted ? null : productView(row) };
}
