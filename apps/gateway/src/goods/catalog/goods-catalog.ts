import { Inject, Injectable } from '@nestjs/common';
import {
  CATALOG_CHANGED_CHANNEL,
  Freshness,
  NotifiedCache,
  Prisma,
  SalesDatabase,
  StatementGroup,
  type DatabaseAddresses,
} from '#database';
import { nameKey, type GoodsEntry } from '#fiscal-domain';
import { growingCache, type Logger } from '#runtime';
import { NoticeReceiver } from '../../notice-receiver.js';
import { LOGGER, SETTINGS_TOKEN } from '../../tokens.js';
import { ALL_MERCHANTS } from './catalog-notices.js';

/** Goods as receipts need them. */
export interface Product {
  /** Null: the merchant's default goods. */
  sku: string | null;
  name: string;
  spic: string;
  packageCode: string;
  units: number;
  vatPercent: number;
  barcode: string | null;
  commission: { tin?: string; pinfl?: string } | null;
}

/** What the caller knows of an item; asked in this order, the first that is known decides. */
export interface ProductQuery {
  sku: string | null;
  barcode: string | null;
  name: string;
}

export type FoundBy = 'sku' | 'barcode' | 'name';

export type ProductAnswer =
  | { kind: 'found'; product: Product; by: FoundBy | 'default_goods' }
  | { kind: 'unknown' }
  /** `skus`: at most MAX_CANDIDATES of them. */
  | { kind: 'ambiguous'; by: FoundBy; skus: string[] };

/** A national classification code: what the register's rules ask of it, and what completes a line. */
export interface ClassifiedGoods extends GoodsEntry {
  units: number;
  vatPercents: readonly number[];
}

interface MatchRow {
  /** Of the lookup in its group, from 1. */
  number: number;
  sku: string;
  name: string;
  spic: string;
  package_code: string;
  units: number;
  vat_percent: number;
  barcode: string | null;
  commission: { tin?: string; pinfl?: string } | null;
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

interface Kept<T> {
  value: T;
  tick: number;
  /** performance.now() */
  readAtMs: number;
}

/** How long a cached entry is used while notices of changes arrive: bounds what a lost notice can do. */
const CACHED_MS = 5_000;
/** The same while no notices arrive. */
const CACHED_UNNOTIFIED_MS = 1_000;
const MAX_CACHED = 50_000;
const MAX_CANDIDATES = 10;

/**
 * Goods by sku, barcode or name, and their classification codes. Found entries are cached until a notice says that the
 * merchant's catalogue has changed; missing ones never: a product that was just added is found by the next receipt.
 * What is asked at the same time, by however many receipts, is read by one statement.
 */
@Injectable()
export class GoodsCatalog extends NoticeReceiver {
  private readonly products = growingCache<string, Kept<ProductAnswer>>(MAX_CACHED);
  private readonly goods: NotifiedCache<string, ClassifiedGoods>;
  private readonly freshness = new Freshness();
  private readonly matches = new StatementGroup((lookups: readonly Lookup[]) => this.readMatches(lookups));

  constructor(
    private readonly prisma: SalesDatabase,
    @Inject(SETTINGS_TOKEN) settings: DatabaseAddresses,
    @Inject(LOGGER) logger: Logger,
  ) {
    super(
      settings,
      {
        channel: CATALOG_CHANGED_CHANNEL,
        onNotice: (scope) => this.forget(scope),
        onListening: () => this.forget(ALL_MERCHANTS),
      },
      logger,
    );
    this.goods = new NotifiedCache({
      max: MAX_CACHED,
      keyOf: (spic) => spic,
      scopeOf: () => ALL_MERCHANTS,
      maxAgeMs: () => this.maxAgeMs(),
      read: (spics) => this.readGoods(spics),
    });
  }

  /** Answers in the order of the queries. */
  async findProducts(merchantId: string, queries: readonly ProductQuery[]): Promise<ProductAnswer[]> {
    const answers = queries.map((query) =>
      this.stillCached(this.products.get(cacheKey(merchantId, query)), merchantId),
    );
    const missing = queries.filter((_, index) => answers[index] === undefined);
    if (missing.length === 0) return answers.map((answer) => answer ?? UNKNOWN);
    const fresh = await this.readProducts(merchantId, missing);
    return queries.map((query, index) => answers[index] ?? fresh.get(cacheKey(merchantId, query)) ?? UNKNOWN);
  }

  async findGoods(spics: readonly string[]): Promise<Map<string, ClassifiedGoods>> {
    const asked = [...new Set(spics)];
    const goods = await Promise.all(asked.map((spic) => this.goods.get(spic)));
    return new Map(
      asked.flatMap((spic, index): [string, ClassifiedGoods][] => {
        const found = goods[index];
        return found ? [[spic, found]] : [];
      }),
    );
  }

  private forget(scope: string): void {
    if (scope !== ALL_MERCHANTS) return this.freshness.changed(scope);
    this.freshness.allChanged();
    this.goods.allChanged();
  }

  private stillCached<T>(kept: Kept<T> | undefined, scope: string): T | undefined {
    if (!kept || !this.freshness.isFresh(scope, kept.tick)) return undefined;
    return performance.now() - kept.readAtMs < this.maxAgeMs() ? kept.value : undefined;
  }

  private maxAgeMs(): number {
    return this.channel.isListening ? CACHED_MS : CACHED_UNNOTIFIED_MS;
  }

  private async readProducts(
    merchantId: string,
    queries: readonly ProductQuery[],
  ): Promise<Map<string, ProductAnswer>> {
    const tick = this.freshness.now();
    // Each once, however many lines ask for it.
    const lookups = new Map(
      queries.flatMap((query) => lookupsOf(merchantId, query)).map((lookup) => [matchKey(lookup), lookup]),
    );
    const found = await Promise.all([...lookups.values()].map((lookup) => this.matches.one(lookup)));
    const matches = new Map([...lookups.keys()].map((key, index) => [key, found[index] ?? []]));
    const readAtMs = performance.now();
    const answers = new Map<string, ProductAnswer>();
    for (const query of queries) {
      const answer = judge(lookupsOf(merchantId, query), matches);
      const key = cacheKey(merchantId, query);
      answers.set(key, answer);
      if (answer.kind === 'found') this.products.set(key, { value: answer, tick, readAtMs });
    }
    return answers;
  }

  /** In the order of the lookups; of each at most one more than are named as candidates. */
  private async readMatches(lookups: readonly Lookup[]): Promise<MatchRow[][]> {
    const rows = await this.prisma.queryHot<MatchRow>(Prisma.sql`
      SELECT q.number::int AS number, m.sku, m.name, m.spic, m.package_code, m.units, m.vat_percent, m.barcode, m.commission
      FROM unnest(${lookups.map(({ merchantId }) => merchantId)}::text[], ${lookups.map(({ by }) => by)}::text[],
                  ${lookups.map(({ key }) => key)}::text[]) WITH ORDINALITY AS q(merchant_id, by, key, number)
      CROSS JOIN LATERAL (
        SELECT p.* FROM products p
         WHERE q.by = 'sku' AND p.merchant_id = q.merchant_id AND p.sku = q.key AND p.archived_at IS NULL
        UNION ALL
        SELECT p.* FROM products p
         WHERE q.by = 'barcode' AND p.merchant_id = q.merchant_id AND p.barcode = q.key AND p.archived_at IS NULL
        UNION ALL
        SELECT p.* FROM products p
         WHERE q.by = 'name' AND p.merchant_id = q.merchant_id AND p.name_key = q.key AND p.archived_at IS NULL
        UNION ALL
        SELECT p.* FROM product_keys k JOIN products p ON p.merchant_id = k.merchant_id AND p.sku = k.sku
         WHERE q.by <> 'sku' AND k.merchant_id = q.merchant_id AND k.kind = nullif(q.by, 'sku')::product_key_kind
           AND k.key = q.key AND p.archived_at IS NULL
        LIMIT ${MAX_CANDIDATES + 1}) AS m`);
    const matches = lookups.map((): MatchRow[] => []);
    for (const row of rows) {
      const others = matches[row.number - 1];
      // The same goods found twice (an alias like the name) are no ambiguity.
      if (others?.every(({ sku }) => sku !== row.sku)) others.push(row);
    }
    return matches;
  }

  /** In the order of the codes; null = the register does not know it. */
  private async readGoods(spics: readonly string[]): Promise<(ClassifiedGoods | null)[]> {
    const rows = await this.prisma.queryHot<ClassifierRow>(Prisma.sql`
      SELECT spic, packages, units, marked, cash_allowed, vat_percents, active
      FROM classifier_entries WHERE spic = ANY(${[...spics]}::text[])`);
    const found = new Map(rows.map((row) => [row.spic, goodsOf(row)]));
    return spics.map((spic) => found.get(spic) ?? null);
  }
}

const UNKNOWN: ProductAnswer = { kind: 'unknown' };

interface Lookup {
  merchantId: string;
  by: FoundBy;
  key: string;
}

/** Keys of names that were asked for: folding a name costs more than all the rest of a lookup. */
const nameKeys = growingCache<string, string>(MAX_CACHED);

function keyOfName(name: string): string {
  const known = nameKeys.get(name);
  if (known !== undefined) return known;
  const key = nameKey(name);
  nameKeys.set(name, key);
  return key;
}

function lookupsOf(merchantId: string, { sku, barcode, name }: ProductQuery): Lookup[] {
  const lookups: Lookup[] = [];
  if (sku !== null) lookups.push({ merchantId, by: 'sku', key: sku });
  if (barcode !== null) lookups.push({ merchantId, by: 'barcode', key: barcode });
  const key = keyOfName(name);
  if (key !== '') lookups.push({ merchantId, by: 'name', key });
  return lookups;
}

/** By what was asked and not by its key: no name needs to be folded to find it here. Clean texts have no line breaks. */
function cacheKey(merchantId: string, { sku, barcode, name }: ProductQuery): string {
  return `${merchantId}\n${sku ?? ''}\n${barcode ?? ''}\n${name}`;
}

function matchKey({ by, key }: Pick<Lookup, 'by' | 'key'>): string {
  return `${by}\n${key}`;
}

/** The first way that finds anything decides, also when it finds too much: a later one would be a guess. */
function judge(lookups: readonly Lookup[], matches: ReadonlyMap<string, MatchRow[]>): ProductAnswer {
  for (const lookup of lookups) {
    const [row, ...others] = matches.get(matchKey(lookup)) ?? [];
    if (!row) continue;
    const { by } = lookup;
    if (others.length > 0) {
      const skus = [row, ...others].map(({ sku }) => sku).sort();
      return { kind: 'ambiguous', by, skus: skus.slice(0, MAX_CANDIDATES) };
    }
    return { kind: 'found', product: productOf(row), by };
  }
  return UNKNOWN;
}

function productOf(row: MatchRow): Product {
  return {
    sku: row.sku,
    name: row.name,
    spic: row.spic,
    packageCode: row.package_code,
    units: row.units,
    vatPercent: row.vat_percent,
    barcode: row.barcode,
    commission: row.commission,
  };
}

function goodsOf(row: ClassifierRow): ClassifiedGoods {
  return {
    packages: row.packages.map((each) => each.code),
    marked: row.marked,
    cashAllowed: row.cash_allowed,
    active: row.active,
    units: row.units,
    vatPercents: row.vat_percents,
  };
}
