import type { Names } from './product-input.js';

/** A product as the API shows it; nulls where nothing is known. */
export interface ProductView {
  sku: string;
  name: Names;
  aliases: string[];
  barcodes: string[];
  spic: string;
  package_code: string;
  units: number;
  vat_percent: number;
  price: number | null;
  marked: boolean | null;
  cash_allowed: boolean | null;
  owner_type: number | null;
  commission: { tin?: string; pinfl?: string } | null;
  attributes: Record<string, string>;
  archived_at: string | null;
  created_at: string;
  updated_at: string;
  /** For If-Match. */
  etag: string;
}

/** What is shown as it is kept. */
export type ProductFacts = Omit<
  ProductView,
  'name' | 'aliases' | 'barcodes' | 'price' | 'archived_at' | 'created_at' | 'updated_at' | 'etag'
>;

/** As `SELECT ${PRODUCT_COLUMNS}` gives it. */
export interface ProductRow extends ProductFacts {
  name: string;
  names: Names;
  aliases: string[] | null;
  barcodes: string[] | null;
  price_tiyin: bigint | null;
  archived_at: Date | null;
  created_at: Date;
  updated_at: Date;
  change_position: bigint;
}

/** Text of the select list; a constant of ours, no input. */
export const PRODUCT_COLUMNS = `sku, name, names, aliases, barcodes, spic, package_code, units, vat_percent, price_tiyin, marked,
  cash_allowed, owner_type, commission, attributes, archived_at, created_at, updated_at, change_position`;

export function productView(row: ProductRow): ProductView {
  return {
    sku: row.sku,
    name: Object.keys(row.names).length > 0 ? row.names : { ru: row.name },
    aliases: row.aliases ?? [],
    barcodes: row.barcodes ?? [],
    spic: row.spic,
    package_code: row.package_code,
    units: row.units,
    vat_percent: row.vat_percent,
    price: row.price_tiyin === null ? null : Number(row.price_tiyin),
    marked: row.marked,
    cash_allowed: row.cash_allowed,
    owner_type: row.owner_type,
    commission: row.commission,
    attributes: row.attributes,
    archived_at: row.archived_at?.toISOString() ?? null,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
    etag: etagOf(row.change_position),
  };
}

export function etagOf(position: bigint): string {
  return `"${String(position)}"`;
}
