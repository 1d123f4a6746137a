import { Inject, Injectable } from '@nestjs/common';
import type { Prisma } from '#database';
import type { Logger } from '#runtime';
import type { AuditedChange } from '../../audit/audited-change.js';
import type { Caller } from '../../audit/caller.js';
import { LOGGER } from '../../tokens.js';
import { CatalogNotices } from './catalog-notices.js';
import type { CheckedProduct } from './check-product.js';
import { lockForSync } from './store-products.js';
import { writeProducts, type WriteResult } from './write-products.js';

export type SyncCounts = Record<WriteResult | 'archived', number>;

/** Prisma's client keeps the parameters of its last hundred log lines: smaller statements, less memory. */
const PRODUCTS_PER_STATEMENT = 500;
/** A million products take minutes. */
const TIMEOUT_MS = 30 * 60_000;
/** An {@link AuditedChange} on connections whose statements may take as long. */
export const LONG_CHANGE = Symbol('audited change of many minutes');

/**
 * Makes a synchronisation the catalogue: one transaction, whatever its size. Readers see the catalogue before or after, and
 * never between; a gateway that dies in it leaves the catalogue before, and the commit can be asked for again.
 */
@Injectable()
export class CommitSync {
  /** Those of this process, so that asking twice waits for the same. */
  private readonly running = new Map<string, Promise<void>>();

  constructor(
    @Inject(LONG_CHANGE) private readonly changes: AuditedChange,
    private readonly notices: CatalogNotices,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** @returns when it is done, or after `waitMs` while it goes on @throws what made it fail, within the wait */
  async execute(caller: Caller, id: string, waitMs: number): Promise<void> {
    const running = this.running.get(id) ?? this.start(caller, id);
    let timer: NodeJS.Timeout | undefined;
    const waited = new Promise<void>((resolve) => (timer = setTimeout(resolve, waitMs)));
    try {
      await Promise.race([running, waited]);
    } finally {
      clearTimeout(timer);
    }
  }

  private start(caller: Caller, id: string): Promise<void> {
    const running = this.run(caller, id).finally(() => this.running.delete(id));
    // A waiting caller gets the error, too; there may be none any more.
    running.catch((error: unknown) => this.logger.error({ err: error, sync_id: id }, 'a catalogue commit failed'));
    this.running.set(id, running);
    return running;
  }

  private async run(caller: Caller, id: string): Promise<void> {
    const { merchantId } = caller;
    const commit = async (tx: Prisma.TransactionClient): Promise<SyncCounts | null> => {
      await tx.$executeRaw`SET LOCAL statement_timeout = 0`;
      await lockForSync(tx, merchantId);
      const rows = await tx.$queryRaw<unknown[]>`
        SELECT 1 FROM catalog_syncs WHERE id = ${id} AND state = 'open' FOR UPDATE`;
      // Another gateway was asked as well, and was faster.
      if (rows.length === 0) return null;
      const counts = { ...(await writeItems(tx, merchantId, id)), archived: await archiveUnseen(tx, merchantId, id) };
      await tx.$executeRaw`
        UPDATE catalog_syncs SET state = 'committed', finished_at = now(), result = ${JSON.stringify(counts)}::jsonb
        WHERE id = ${id}`;
      await tx.$executeRaw`DELETE FROM catalog_sync_items WHERE sync_id = ${id}`;
      return counts;
    };
    await this.changes.execute(
      caller,
      async (tx) => {
        const counts = await commit(tx);
        if (counts === null) return { result: undefined, action: null };
        return { result: undefined, action: 'catalog_sync.commit', targetId: id, before: null, after: counts };
      },
      { timeoutMs: TIMEOUT_MS },
    );
    await this.notices.publish(merchantId);
  }
}

async function writeItems(
  tx: Prisma.TransactionClient,
  merchantId: string,
  id: string,
): Promise<Record<WriteResult, number>> {
  const counts = { created: 0, updated: 0, unchanged: 0 };
  for (let after = ''; ;) {
    const rows = await tx.$queryRaw<{ sku: string; product: CheckedProduct | null }[]>`
      SELECT sku, product FROM catalog_sync_items WHERE sync_id = ${id} AND sku > ${after}
      ORDER BY sku LIMIT ${PRODUCTS_PER_STATEMENT}`;
    const last = rows.at(-1);
    if (!last) return counts;
    after = last.sku;
    const products = rows.flatMap(({ product }) => (product === null ? [] : [product]));
    for (const { result } of (await writeProducts(tx, merchantId, products)).values()) counts[result] += 1;
  }
}

/** What was changed by others since the synchronisation began is newer than what it saw, and stays. */
async function archiveUnseen(tx: Prisma.TransactionClient, merchantId: string, id: string): Promise<number> {
  const [row] = await tx.$queryRaw<{ archived: number }[]>`
    WITH unseen AS (
      UPDATE products p
         SET archived_at = now(), updated_at = now(), change_transaction = pg_current_xact_id(),
             change_position = nextval(pg_get_serial_sequence('products', 'change_position'))
       WHERE p.merchant_id = ${merchantId} AND p.archived_at IS NULL
         AND p.updated_at < (SELECT s.created_at FROM catalog_syncs s WHERE s.id = ${id})
         AND NOT EXISTS (SELECT FROM catalog_sync_items i WHERE i.sync_id = ${id} AND i.sku = p.sku)
      RETURNING p.sku),
    keys AS (DELETE FROM product_keys k USING unseen u WHERE k.merchant_id = ${merchantId} AND k.sku = u.sku)
    SELECT count(*)::int AS archived FROM unseen`;
  return row?.archived ?? 0;
}
