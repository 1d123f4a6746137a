import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { PrismaService } from '#database';
import { nameKey, type GoodsEntry } from '#fiscal-domain';

/** A product as receipts need it. */
export interface Product {
  sku: string;
  name: string;
  spic: string;
  packageCode: string;
  units: number;
  vatPercent: number;
  barcode: string | null;
}

/** What the caller knows of an item; the first that is given decides: sku, barcode, name. */
export interface ProductQuery {
  sku: string | null;
  barcode: string | null;
  name: string;
}

export type ProductAnswer =
  { kind: 'found'; product: Product } | { kind: 'unknown' } | { kind: 'ambiguous'; skus: string[] };

/** A national classification code: what the register's rules ask of it, and what completes a line. */
export interface ClassifiedGoods extends GoodsEntry {
  units: number;
  vatPercents: readonly number[];
}

interface ProductRow {
  sku: string;
  name: string;
  name_key: string;
  spic: string;
  package_code: string;
  units: number;
  vat_percent: number;
  barcode: string | null;
}

interface ClassifierRow {
  spic: string;
  packages: { code: string }[];
  units: number;
  marked: boolean;
  cash_allowed: boolean;
  vat_percents: number[];
  active: boolean;
}

/** An edit of the catalogue shows within this time on every instance. */
const PRODUCT_TTL_MS = 1_000;
/** The classification register changes by import, at most daily. */
const CLASSIFIER_TTL_MS = 30_000;
const MAX_CACHED = 50_000;

/**
 * Goods by sku, barcode or name, and their classification codes. Found entries are cached for a moment, missing ones
 * never: a product that was just added is found by the next receipt.
 */
@Injectable()
export class GoodsCatalog {
  private readonly products = new LRUCache<string, ProductAnswer>({ max: MAX_CACHED, ttl: PRODUCT_TTL_MS });
  private readonly goods = new LRUCache<string, ClassifiedGoods>({ max: MAX_CACHED, ttl: CLASSIFIER_TTL_MS });

  constructor(private readonly prisma: PrismaService) {}

  /** Answers in the order of the queries. */
  async findProducts(merchantId: string, queries: readonly ProductQuery[]): Promise<ProductAnswer[]> {
    const lookups = queries.map((query) => lookupOf(query));
    const missing = lookups.filter((lookup) => !this.products.has(cacheKey(merchantId, lookup)));
    const fresh = missing.length > 0 ? await this.readProducts(merchantId, missing) : new Map<string, ProductAnswer>();
    return lookups.map((lookup) => {
      const key = cacheKey(merchantId, lookup);
      return fresh.get(key) ?? this.products.get(key) ?? { kind: 'unknown' };
    });
  }

  async findGoods(spics: readonly string[]): Promise<Map<string, ClassifiedGoods>> {
    const wanted = [...new Set(spics)];
    const found = new Map<string, ClassifiedGoods>();
    const missing: string[] = [];
    for (const spic of wanted) {
      const cached = this.goods.get(spic);
      if (cached) found.set(spic, cached);
      else missing.push(spic);
    }
    if (missing.length === 0) return found;
    const rows = await this.prisma.$queryRaw<ClassifierRow[]>`
      SELECT spic, packages, units, marked, cash_allowed, vat_percents, active
      FROM classifier_entries WHERE spic = ANY(${missing}::text[])`;
    for (const row of rows) {
      const goods: ClassifiedGoods = {
        packages: row.packages.map((each) => each.code),
        marked: row.marked,
        cashAllowed: row.cash_allowed,
        active: row.active,
        units: row.units,
        vatPercents: row.vat_percents,
      };
      this.goods.set(row.spic, goods);
      found.set(row.spic, goods);
    }
    return found;
  }

  private async readProducts(merchantId: string, lookups: readonly Lookup[]): Promise<Map<string, ProductAnswer>> {
    const values = (by: Lookup['by']): string[] => lookups.filter((each) => each.by === by).map((each) => each.value);
    const rows = await this.prisma.$queryRaw<ProductRow[]>`
      SELECT sku, name, name_key, spic, package_code, units, vat_percent, barcode FROM products
      WHERE merchant_id = ${merchantId} AND archived_at IS NULL
        AND (sku = ANY(${values('sku')}::text[]) OR barcode = ANY(${values('barcode')}::text[])
             OR name_key = ANY(${values('name')}::text[]))
      ORDER BY sku LIMIT 5000`;
    const answers = new Map<string, ProductAnswer>();
    for (const lookup of lookups) {
      const answer = judge(rows.filter((row) => matches(row, lookup)));
      const key = cacheKey(merchantId, lookup);
      answers.set(key, answer);
      if (answer.kind === 'found') this.products.set(key, answer);
    }
    return answers;
  }
}

interface Lookup {
  by: 'sku' | 'barcode' | 'name';
  value: string;
}

/** Keys of names that were asked for: folding a name costs more than all the rest of a cached look-up. */
const nameKeys = new LRUCache<string, string>({ max: MAX_CACHED });

function keyOfName(name: string): string {
  const known = nameKeys.get(name);
  if (known !== undefined) return known;
  const key = nameKey(name);
  nameKeys.set(name, key);
  return key;
}

function lookupOf(query: ProductQuery): Lookup {
  if (query.sku !== null) return { by: 'sku', value: query.sku };
  if (query.barcode !== null) return { by: 'barcode', value: query.barcode };
  return { by: 'name', value: keyOfName(query.name) };
}

function cacheKey(merchantId: string, { by, value }: Lookup): string {
  return `${merchantId}\n${by}\n${value}`;
}

function matches(row: ProductRow, { by, value }: Lookup): boolean {
  return { sku: row.sku, barcode: row.barcode, name: row.name_key }[by] === value;
}

function judge(rows: readonly ProductRow[]): ProductAnswer {
  const [row, ...others] = rows;
  if (!row) return { kind: 'unknown' };
  if (others.length > 0) return { kind: 'ambiguous', skus: rows.map((each) => each.sku) };
  return {
    kind: 'found',
    product: {
      sku: row.sku,
      name: row.name,
      spic: row.spic,
      packageCode: row.package_code,
      units: row.units,
      vatPercent: row.vat_percent,
      barcode: row.barcode,
    },
  };
}
