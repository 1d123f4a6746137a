import type { Prisma } from '#database';
import type { CheckedProduct } from './check-product.js';

export type WriteResult = 'created' | 'updated' | 'unchanged';

export interface WrittenProduct {
  result: WriteResult;
  /** Its place in the feed, which is also its ETag. */
  position: bigint;
}

interface ChangedRow {
  sku: string;
  is_new: boolean;
  change_position: bigint;
}

/**
 * Writes up to a few thousand products of one merchant in the caller's transaction: rows that differ, the keys that they
 * are found by, their place in the feed. What does not differ keeps its place: a synchronisation that changes nothing
 * shows nothing to the feed's readers.
 * @param products each sku once. They are locked in the order of their skus, by every writer: two batches never deadlock.
 */
export async function writeProducts(
  tx: Prisma.TransactionClient,
  merchantId: string,
  products: readonly CheckedProduct[],
): Promise<Map<string, WrittenProduct>> {
  const sorted = [...products].sort((a, b) => (a.sku < b.sku ? -1 : 1));
  const changed = await upsertRows(tx, merchantId, sorted);
  const written = new Map<string, WrittenProduct>();
  for (const { sku, is_new: isNew, change_position: position } of changed)
    written.set(sku, { result: isNew ? 'created' : 'updated', position });
  await writeKeys(
    tx,
    merchantId,
    sorted.filter(({ sku }) => written.has(sku)),
    written,
  );
  const same = sorted.map(({ sku }) => sku).filter((sku) => !written.has(sku));
  for (const [sku, position] of await positionsOf(tx, merchantId, same))
    written.set(sku, { result: 'unchanged', position });
  return written;
}

async function upsertRows(
  tx: Prisma.TransactionClient,
  merchantId: string,
  sorted: readonly CheckedProduct[],
): Promise<ChangedRow[]> {
  if (sorted.length === 0) return [];
  return tx.$queryRaw<ChangedRow[]>`
    INSERT INTO products AS p (merchant_id, sku, name, name_key, names, aliases, barcode, barcodes, spic, package_code, units,
                               vat_percent, price_tiyin, marked, cash_allowed, owner_type, commission, attributes, word_keys)
    SELECT ${merchantId}, n.sku, n.name, n.name_key, n.names, n.aliases, n.barcode, n.barcodes, n.spic, n.package_code,
           n.units, n.vat_percent, n.price_tiyin, n.marked, n.cash_allowed, n.owner_type, nullif(n.commission, 'null'),
           n.attributes, n.word_keys
      FROM jsonb_to_recordset(${JSON.stringify(sorted)}::jsonb)
           AS n(sku text, name text, name_key text, names jsonb, aliases text[], barcode text, barcodes text[], spic text,
                package_code text, units int, vat_percent smallint, price_tiyin bigint, marked boolean,
                cash_allowed boolean, owner_type smallint, commission jsonb, attributes jsonb, word_keys bigint[])
    ON CONFLICT (merchant_id, sku) DO UPDATE SET
      name = excluded.name, name_key = excluded.name_key, names = excluded.names, aliases = excluded.aliases,
      barcode = excluded.barcode, barcodes = excluded.barcodes, spic = excluded.spic, package_code = excluded.package_code,
      units = excluded.units, vat_percent = excluded.vat_percent, price_tiyin = excluded.price_tiyin,
      marked = excluded.marked, cash_allowed = excluded.cash_allowed, owner_type = excluded.owner_type,
      commission = excluded.commission, attributes = excluded.attributes, word_keys = excluded.word_keys,
      change_transaction = excluded.change_transaction, change_position = excluded.change_position,
      archived_at = NULL, updated_at = now()
    WHERE p.archived_at IS NOT NULL
       OR (p.names, p.aliases, p.barcodes, p.spic, p.package_code, p.units, p.vat_percent, p.price_tiyin, p.marked,
           p.cash_allowed, p.owner_type, p.commission, p.attributes, p.word_keys)
          IS DISTINCT FROM
          (excluded.names, excluded.aliases, excluded.barcodes, excluded.spic, excluded.package_code, excluded.units,
           excluded.vat_percent, excluded.price_tiyin, excluded.marked, excluded.cash_allowed, excluded.owner_type,
           excluded.commission, excluded.attributes, excluded.word_keys)
    RETURNING p.sku, (p.xmax = 0) AS is_new, p.change_position`;
}

async function writeKeys(
  tx: Prisma.TransactionClient,
  merchantId: string,
  changed: readonly CheckedProduct[],
  written: ReadonlyMap<string, WrittenProduct>,
): Promise<void> {
  const old = changed.map(({ sku }) => sku).filter((sku) => written.get(sku)?.result === 'updated');
  if (old.length > 0) {
    await tx.$executeRaw`DELETE FROM product_keys WHERE merchant_id = ${merchantId} AND sku = ANY(${old}::text[])`;
  }
  const keys = changed.flatMap(({ sku, more_keys: more }) => more.map(({ kind, key }) => ({ sku, kind, key })));
  if (keys.length === 0) return;
  await tx.$executeRaw`
    INSERT INTO product_keys (merchant_id, kind, key, sku)
    SELECT ${merchantId}, k.kind, k.key, k.sku
      FROM jsonb_to_recordset(${JSON.stringify(keys)}::jsonb) AS k(sku text, kind product_key_kind, key text)`;
}

async function positionsOf(
  tx: Prisma.TransactionClient,
  merchantId: string,
  skus: readonly string[],
): Promise<[string, bigint][]> {
  if (skus.length === 0) return [];
  const rows = await tx.$queryRaw<{ sku: string; change_position: bigint }[]>`
    SELECT sku, change_position FROM products WHERE merchant_id = ${merchantId} AND sku = ANY(${skus}::text[])`;
  return rows.map((row) => [row.sku, row.change_position]);
}

/** Archives products, in the order of their skus; those that are already are left alone. @returns which were not */
export async function archiveProducts(
  tx: Prisma.TransactionClient,
  merchantId: string,
  skus: readonly string[],
): Promise<string[]> {
  const sorted = [...skus].sort();
  const rows = await tx.$queryRaw<{ sku: string }[]>`
    WITH victims AS (
      SELECT sku FROM products
      WHERE merchant_id = ${merchantId} AND sku = ANY(${sorted}::text[]) AND archived_at IS NULL
      ORDER BY sku COLLATE "C" FOR UPDATE)
    UPDATE products p
       SET archived_at = now(), updated_at = now(), change_transaction = pg_current_xact_id(),
           change_position = nextval(pg_get_serial_sequence('products', 'change_position'))
      FROM victims v WHERE p.merchant_id = ${merchantId} AND p.sku = v.sku
    RETURNING p.sku`;
  await tx.$executeRaw`DELETE FROM product_keys WHERE merchant_id = ${merchantId} AND sku = ANY(${sorted}::text[])`;
  return rows.map(({ sku }) => sku);
}
