import { Injectable } from '@nestjs/common';
import type { Prisma } from '#database';
import { AuditedChange } from '../../audit/audited-change.js';
import type { Caller } from '../../audit/caller.js';
import { CatalogNotices } from './catalog-notices.js';
import { CatalogWords } from './catalog-words.js';
import type { CheckedProduct } from './check-product.js';
import { writeProducts, type WrittenProduct } from './write-products.js';

/** First key of the advisory locks between writers of a merchant's catalogue; the second is a hash of the merchant's id. */
const CATALOG_LOCK_SPACE = 0x4347; // "CG"

/** Any number of batches at a time, but none while a full synchronisation becomes the catalogue. */
export async function lockForBatch(tx: Prisma.TransactionClient, merchantId: string): Promise<void> {
  await tx.$executeRaw`SELECT pg_advisory_xact_lock_shared(${CATALOG_LOCK_SPACE}::int4, hashtext(${merchantId}))`;
}

/** Alone. */
export async function lockForSync(tx: Prisma.TransactionClient, merchantId: string): Promise<void> {
  await tx.$executeRaw`SELECT pg_advisory_xact_lock(${CATALOG_LOCK_SPACE}::int4, hashtext(${merchantId}))`;
}

/** Writes a batch of checked products: rows, trail and then the notice. */
@Injectable()
export class StoreProducts {
  constructor(
    private readonly changes: AuditedChange,
    private readonly words: CatalogWords,
    private readonly notices: CatalogNotices,
  ) {}

  /** @throws Problem `service_unavailable` when a synchronisation of the same merchant takes long */
  async execute(caller: Caller, products: readonly CheckedProduct[]): Promise<Map<string, WrittenProduct>> {
    if (products.length === 0) return new Map();
    const { merchantId } = caller;
    await this.words.add(products.flatMap(({ words }) => words));
    let hasChanged = false;
    const written = await this.changes.execute(caller, async (tx) => {
      await lockForBatch(tx, merchantId);
      const result = await writeProducts(tx, merchantId, products);
      const after = { created: skusWith(result, 'created'), updated: skusWith(result, 'updated') };
      hasChanged = after.created.length + after.updated.length > 0;
      if (!hasChanged) return { result, action: null };
      return { result, action: 'product.upsert', targetId: merchantId, before: null, after };
    });
    if (hasChanged) await this.notices.publish(merchantId);
    return written;
  }
}

function skusWith(written: ReadonlyMap<string, WrittenProduct>, result: WrittenProduct['result']): string[] {
  return [...written].filter(([, each]) => each.result === result).map(([sku]) => sku);
}
