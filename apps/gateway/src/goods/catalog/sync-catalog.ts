import { Injectable } from '@nestjs/common';
import { Prisma, PrismaService } from '#database';
import { Problem } from '#problems';
import { newId } from '#runtime';
import { AuditedChange } from '../../audit/audited-change.js';
import type { Caller } from '../../audit/caller.js';
import { notFound } from '../../http/own-id.js';
import { viewOfColumns } from '../../http/view-of-columns.js';
import { CatalogWords } from './catalog-words.js';
import { CheckProducts } from './check-products.js';
import type { CheckedProduct } from './check-product.js';
import { CommitSync, type SyncCounts } from './commit-sync.js';

export interface SyncView {
  id: string;
  state: 'open' | 'committing' | 'committed' | 'aborted';
  /** Of the commit. */
  result: SyncCounts | null;
  created_at: string;
  finished_at: string | null;
}

export interface SyncPageResult {
  sku: string | null;
  result: 'kept' | 'rejected';
  errors: { pointer: string; code: string; detail: string }[];
  warnings: { pointer: string; code: string; detail: string }[];
}

interface SyncRow {
  id: string;
  state: 'open' | 'committed' | 'aborted';
  commit_requested_at: Date | null;
  result: SyncCounts | null;
  created_at: Date;
  finished_at: Date | null;
}

/**
 * A full synchronisation: what the caller sends in pages is kept aside; the commit makes it the catalogue and archives
 * what was not among it. Until then, and after an abort, nothing has changed.
 */
@Injectable()
export class SyncCatalog {
  constructor(
    private readonly prisma: PrismaService,
    private readonly check: CheckProducts,
    private readonly words: CatalogWords,
    private readonly changes: AuditedChange,
    private readonly commitSync: CommitSync,
  ) {}

  async start(caller: Caller): Promise<SyncView> {
    const { merchantId } = caller;
    const id = newId('syn');
    return this.changes.execute(caller, async (tx) => {
      const [row] = await tx.$queryRaw<SyncRow[]>`
        INSERT INTO catalog_syncs (id, merchant_id) VALUES (${id}, ${merchantId}) RETURNING *`;
      if (!row) throw new Error('an INSERT without a row');
      return { result: viewOf(row), action: 'catalog_sync.start', targetId: id, before: null, after: null };
    });
  }

  /** @throws Problem 404 */
  async get(merchantId: string, id: string): Promise<SyncView> {
    return viewOf(await rowOf(this.prisma, merchantId, id));
  }

  /**
   * Keeps a page. A sku that was there before is replaced; a product that is rejected counts as seen: the one that the
   * catalogue has stays as it is.
   * @throws Problem 404; 409 sync_closed
   */
  async addPage(merchantId: string, id: string, values: readonly unknown[]): Promise<SyncPageResult[]> {
    const items = await this.check.execute(merchantId, values);
    await this.words.add(items.flatMap((item) => (item.kind === 'ok' ? item.product.words : [])));
    const kept = items.flatMap((item) => (item.kind === 'ok' ? [item.product] : []));
    const seen = items.flatMap((item) => (item.kind === 'rejected' && item.sku ? [item.sku] : []));
    await this.prisma.$transaction(async (tx) => {
      await refuseClosed(tx, merchantId, id);
      await keep(tx, id, kept, seen);
    });
    return items.map((item) => {
      const { sku, warnings } = item;
      return item.kind === 'ok'
        ? { sku, result: 'kept', errors: [], warnings }
        : { sku, result: 'rejected', errors: item.errors, warnings };
    });
  }

  /**
   * Asks for the commit. Asking again joins one that goes on, or starts one anew that died with its gateway.
   * @returns after the commit, or after `waitMs` as it then stands: it goes on
   * @throws Problem 404; 409 sync_closed when it was aborted
   */
  async commit(caller: Caller, id: string, waitMs: number): Promise<SyncView> {
    const { merchantId } = caller;
    const [row] = await this.prisma.$queryRaw<SyncRow[]>`
      UPDATE catalog_syncs SET commit_requested_at = coalesce(commit_requested_at, now())
      WHERE id = ${id} AND merchant_id = ${merchantId} AND state <> 'aborted' RETURNING *`;
    if (!row) {
      await rowOf(this.prisma, merchantId, id);
      throw closed();
    }
    if (row.state === 'open') await this.commitSync.execute(caller, id, waitMs);
    return this.get(merchantId, id);
  }

  /** Aborting again changes nothing. @throws Problem 404; 409 sync_closed once the commit was asked for */
  async abort(caller: Caller, id: string): Promise<SyncView> {
    const { merchantId } = caller;
    return this.changes.execute(caller, async (tx) => {
      const before = await rowOf(tx, merchantId, id);
      if (before.state === 'aborted') return { result: viewOf(before), action: null };
      const [row] = await tx.$queryRaw<SyncRow[]>`
        UPDATE catalog_syncs SET state = 'aborted', finished_at = now()
        WHERE id = ${id} AND state = 'open' AND commit_requested_at IS NULL RETURNING *`;
      if (!row) throw closed();
      await tx.$executeRaw`DELETE FROM catalog_sync_items WHERE sync_id = ${id}`;
      return { result: viewOf(row), action: 'catalog_sync.abort', targetId: id, before: null, after: null };
    });
  }
}

async function rowOf(database: Pick<PrismaService, '$queryRaw'>, merchantId: string, id: string): Promise<SyncRow> {
  const [row] = await database.$queryRaw<SyncRow[]>`
    SELECT * FROM catalog_syncs WHERE id = ${id} AND merchant_id = ${merchantId}`;
  if (!row) throw notFound('synchronisation');
  return row;
}

/** Holds the row until the page is kept: a commit that is asked for meanwhile waits, and then has it. */
async function refuseClosed(tx: Prisma.TransactionClient, merchantId: string, id: string): Promise<void> {
  const [row] = await tx.$queryRaw<SyncRow[]>`
    SELECT * FROM catalog_syncs WHERE id = ${id} AND merchant_id = ${merchantId} FOR SHARE`;
  if (!row) throw notFound('synchronisation');
  if (row.state !== 'open' || row.commit_requested_at !== null) throw closed();
}

async function keep(
  tx: Prisma.TransactionClient,
  syncId: string,
  products: readonly CheckedProduct[],
  seen: readonly string[],
): Promise<void> {
  const rows = products.map((product) => ({ sku: product.sku, product })).sort((a, b) => (a.sku < b.sku ? -1 : 1));
  await tx.$executeRaw`
    INSERT INTO catalog_sync_items (sync_id, sku, product)
    SELECT ${syncId}, n.sku, n.product
      FROM jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) AS n(sku text, product jsonb)
    ON CONFLICT (sync_id, sku) DO UPDATE SET product = excluded.product`;
  const others = [...new Set(seen.filter((sku) => !/[\0\p{Cs}]/u.test(sku)))].sort();
  if (others.length === 0) return;
  await tx.$executeRaw`
    INSERT INTO catalog_sync_items (sync_id, sku, product)
    SELECT ${syncId}, unnest(${others}::text[]), 'null' ON CONFLICT DO NOTHING`;
}

function closed(): Problem {
  return new Problem('sync_closed', 'The synchronisation is committed, being committed or aborted; start another one.');
}

function viewOf(row: SyncRow): SyncView {
  return {
    ...viewOfColumns(row, 'id', 'result', 'created_at', 'finished_at'),
    state: row.state === 'open' && row.commit_requested_at !== null ? 'committing' : row.state,
  };
}
