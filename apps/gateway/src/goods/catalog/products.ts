import { Injectable } from '@nestjs/common';
import { Prisma, PrismaService } from '#database';
import { normaliseText } from '#fiscal-domain';
import { Problem } from '#problems';
import { notFound } from '../../http/own-id.js';
import { PRODUCT_COLUMNS, productView, type ProductRow, type ProductView } from './product-view.js';

export const COLUMNS = Prisma.raw(PRODUCT_COLUMNS);

/** Reads products one by one. */
@Injectable()
export class Products {
  constructor(private readonly prisma: PrismaService) {}

  /** Also an archived one. @throws Problem 404 */
  async get(merchantId: string, sku: string): Promise<ProductView> {
    return productView(await this.row(merchantId, sku));
  }

  /** @throws Problem 404 */
  async row(merchantId: string, sku: string): Promise<ProductRow> {
    // PostgreSQL takes no NUL, also not to compare.
    if (sku.includes('\0')) throw notFound('product');
    const [row] = await this.prisma.$queryRaw<ProductRow[]>`
      SELECT ${COLUMNS} FROM products WHERE merchant_id = ${merchantId} AND sku = ${normaliseText(sku)}`;
    if (!row) throw new Problem('not_found', 'There is no product with this sku.');
    return row;
  }
}
