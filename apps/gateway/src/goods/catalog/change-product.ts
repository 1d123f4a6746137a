import { Injectable } from '@nestjs/common';
import type { Prisma } from '#database';
import { Problem } from '#problems';
import { isObject } from '#fiscal-domain';
import { AuditedChange } from '../../audit/audited-change.js';
import type { Caller } from '../../audit/caller.js';
import { CatalogNotices } from './catalog-notices.js';
import { CatalogWords } from './catalog-words.js';
import { CheckProducts } from './check-products.js';
import type { CheckedProduct } from './check-product.js';
import { COLUMNS, Products } from './products.js';
import { etagOf, productView, type ProductRow, type ProductView } from './product-view.js';
import { lockForBatch } from './store-products.js';
import { archiveProducts, writeProducts } from './write-products.js';

/** Tries of a change without If-Match against others who write the same product. */
const MAX_TRIES = 4;

/**
 * Changes or archives one product. It is read and checked first and written only if it still is what was read: with
 * If-Match the caller states what it has read, without it the product is read again.
 */
@Injectable()
export class ChangeProduct {
  constructor(
    private readonly products: Products,
    private readonly check: CheckProducts,
    private readonly words: CatalogWords,
    private readonly changes: AuditedChange,
    private readonly notices: CatalogNotices,
  ) {}

  /**
   * Fields that are absent stay, null takes away (RFC 7396).
   * @param ifMatch the header; null = not given
   * @throws Problem 404; 409 archived; 412; 422 with pointers into the patch
   */
  async patch(
    caller: Caller,
    sku: string,
    patch: Record<string, unknown>,
    ifMatch: string | null,
  ): Promise<ProductView> {
    return this.attempt(async () => {
      const row = await this.products.row(caller.merchantId, sku);
      refuseOther(row, ifMatch);
      if (row.archived_at !== null) throw new Problem('archived', 'It is archived; a PUT with its sku brings it back.');
      const product = await this.checked(
        caller.merchantId,
        mergePatch(inputOf(row), withoutSku(patch, row.sku)) as object,
      );
      await this.words.add(product.words);
      return this.write(caller, row, async (tx) => {
        await writeProducts(tx, caller.merchantId, [product]);
        return 'product.change';
      });
    });
  }

  /** Archives it; archiving it again changes nothing. @throws Problem 404; 412 */
  async archive(caller: Caller, sku: string, ifMatch: string | null): Promise<ProductView> {
    return this.attempt(async () => {
      const row = await this.products.row(caller.merchantId, sku);
      refuseOther(row, ifMatch);
      if (row.archived_at !== null) return productView(row);
      return this.write(caller, row, async (tx) => {
        await archiveProducts(tx, caller.merchantId, [row.sku]);
        return 'product.archive';
      });
    });
  }

  private async attempt(change: () => Promise<ProductView | null>): Promise<ProductView> {
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const view = await change();
      if (view) return view;
    }
    throw new Problem('service_unavailable', 'Others write this product all the time; nothing was changed.');
  }

  private async checked(merchantId: string, input: object): Promise<CheckedProduct> {
    const [item] = await this.check.execute(merchantId, [input]);
    if (item?.kind === 'ok') return item.product;
    throw Problem.fromErrors(item?.errors ?? []);
  }

  /** @returns null when another request has written it since it was read */
  private async write(
    caller: Caller,
    before: ProductRow,
    change: (tx: Prisma.TransactionClient) => Promise<string>,
  ): Promise<ProductView | null> {
    const { merchantId } = caller;
    const isWritten = await this.changes.execute<boolean>(caller, async (tx) => {
      await lockForBatch(tx, merchantId);
      const [now] = await tx.$queryRaw<{ change_position: bigint }[]>`
        SELECT change_position FROM products WHERE merchant_id = ${merchantId} AND sku = ${before.sku} FOR UPDATE`;
      if (now?.change_position !== before.change_position) return { result: false, action: null };
      const action = await change(tx);
      const after = await this.rowIn(tx, merchantId, before.sku);
      if (after.etag === etagOf(before.change_position)) return { result: true, action: null };
      return { result: true, action, targetId: before.sku, before: productView(before), after };
    });
    if (!isWritten) return null;
    await this.notices.publish(merchantId);
    return this.products.get(merchantId, before.sku);
  }

  private async rowIn(tx: Prisma.TransactionClient, merchantId: string, sku: string): Promise<ProductView> {
    const [row] = await tx.$queryRaw<ProductRow[]>`
      SELECT ${COLUMNS} FROM products WHERE merchant_id = ${merchantId} AND sku = ${sku}`;
    if (!row) throw new Error('a locked product is gone');
    return productView(row);
  }
}

/** `If-Match: *` asks only that it exists. Weak tags never match (RFC 9110). */
function refuseOther(row: ProductRow, ifMatch: string | null): void {
  if (ifMatch === null || ifMatch.trim() === '*') return;
  const tags = ifMatch.split(',').map((tag) => tag.trim());
  if (tags.includes(etagOf(row.change_position))) return;
  throw new Problem(
    'precondition_failed',
    `The product has changed since; its ETag is ${etagOf(row.change_position)}.`,
  );
}

function withoutSku(given: Record<string, unknown>, sku: string): Record<string, unknown> {
  if (given['sku'] === undefined || given['sku'] === sku) return given;
  throw Problem.at('/sku', 'invalid_value', 'A sku cannot be changed; archive the product and add another.');
}

function inputOf(row: ProductRow): Record<string, unknown> {
  const { name, aliases, barcodes, spic, package_code, units, vat_percent, price } = productView(row);
  const { marked, cash_allowed, owner_type, commission, attributes } = row;
  return {
    ...{ sku: row.sku, name, aliases, barcodes, spic, package_code, units, vat_percent, price },
    ...{ marked, cash_allowed, owner_type, commission, attributes },
  };
}

/** RFC 7396. */
function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const merged: Record<string, unknown> = isObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key];
    else merged[key] = mergePatch(merged[key], value);
  }
  return merged;
}
