import { setTimeout as delay } from 'node:timers/promises';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ClassifierEntry } from '#fiscal-domain';
import { OperatorFixture } from '../../../operator/testing/operator-fixture.js';
import type { GatewaySettings } from '../../../settings.js';
import type { CatalogChange } from '../catalog-changes.js';
import type { ProductView } from '../product-view.js';

export interface CatalogAnswer {
  status: number;
  headers: Headers;
  body: CatalogBody;
}

/** Whichever of the answers it is; what the test asks for is there. */
export interface CatalogBody extends Record<string, unknown> {
  id: string;
  code: string;
  detail: string;
  state: string;
  result: Record<string, number>;
  results: {
    sku: string | null;
    result: string;
    etag: string | null;
    errors: { pointer: string; code: string; detail: string }[];
    warnings: { pointer: string; code: string }[];
  }[];
  items: { by: string | null; sku: string | null; spic: string | null; errors: { code: string; detail: string }[] }[];
  data: Record<string, unknown>[];
  next_cursor: string | null;
  has_more: boolean;
  errors: { pointer: string; code: string }[];
}

export const BREAD = '01905001001000001';
export const SCOPES = ['catalog:write', 'catalog:read', 'receipts:write', 'receipts:read', 'devices:admin'];

export function sampleEntries(): ClassifierEntry[] {
  const lines = readFileSync(join(process.cwd(), 'data', 'classifier-sample.jsonl'), 'utf8').split('\n');
  return lines.filter((line) => line.trim() !== '').map((line) => JSON.parse(line) as ClassifierEntry);
}

/** The gateway as it runs, with the sample of the classification register. */
export class CatalogFixture {
  private constructor(readonly gateway: OperatorFixture) {}

  static async start(settings: Partial<GatewaySettings> = {}): Promise<CatalogFixture> {
    const gateway = await OperatorFixture.start(settings);
    gateway.token = await gateway.createToken(gateway.merchantId, SCOPES);
    const fixture = new CatalogFixture(gateway);
    await fixture.storeEntries(sampleEntries());
    return fixture;
  }

  stop(): Promise<void> {
    return this.gateway.stop();
  }

  async storeEntries(entries: readonly ClassifierEntry[]): Promise<void> {
    const data = entries.map(({ cash_allowed: cashAllowed, vat_percents: vatPercents, ...rest }) => ({
      ...{ ...rest, cashAllowed, vatPercents },
    }));
    await this.gateway.prisma.classifierEntry.createMany({ data, skipDuplicates: true });
  }

  async stranger(): Promise<{ merchantId: string; token: string }> {
    const merchantId = await this.gateway.createMerchant();
    return { merchantId, token: await this.gateway.createToken(merchantId, SCOPES) };
  }

  async ask(
    method: string,
    path: string,
    body?: unknown,
    more: { token?: string; headers?: Record<string, string>; base?: string } = {},
  ): Promise<CatalogAnswer> {
    const { token = this.gateway.token, base = this.gateway.base } = more;
    const headers: Record<string, string> = { authorization: `Bearer ${token}`, ...more.headers };
    if (body !== undefined) headers['content-type'] = 'application/json';
    const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) };
    const response = await fetch(`${base}${path}`, init);
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      body: (text === '' ? {} : JSON.parse(text)) as CatalogBody,
    };
  }

  put(products: unknown[], token = this.gateway.token): Promise<CatalogAnswer> {
    return this.ask('PUT', '/v1/catalog/products', { products }, { token });
  }

  product(more: Record<string, unknown> = {}): Record<string, unknown> {
    return { sku: 'bread', name: 'Хлеб', spic: BREAD, package_code: '1500001', vat_percent: 12, ...more };
  }

  /**
   * Follows the feed when it shows everything that has been committed: transactions of other tests on the same server put the
   * newest changes off for a moment.
   */
  async followAll(
    copy: Map<string, ProductView>,
    cursor: string | null,
  ): Promise<{ cursor: string | null; seen: CatalogChange[] }> {
    for (const deadline = Date.now() + 180_000; Date.now() < deadline; await delay(10)) {
      const [row] = await this.gateway.prisma.$queryRaw<{ is_shown: boolean }[]>`
        SELECT coalesce(max(change_transaction::text::bigint), 0)
                 < pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS is_shown FROM products`;
      if (row?.is_shown === true) return this.follow(copy, cursor);
    }
    throw new Error('a transaction elsewhere has been open for three minutes');
  }

  /** What a reader has who follows the feed from the cursor until nothing more comes. */
  async follow(
    copy: Map<string, ProductView>,
    cursor: string | null,
    limit = 1_000,
  ): Promise<{ cursor: string | null; seen: CatalogChange[] }> {
    const seen: CatalogChange[] = [];
    for (;;) {
      const query = cursor === null ? '' : `&cursor=${cursor}`;
      const { body } = await this.ask('GET', `/v1/catalog/changes?limit=${limit}${query}`);
      for (const change of body.data as unknown as CatalogChange[]) {
        seen.push(change);
        if (change.product) copy.set(change.sku, change.product);
        else copy.delete(change.sku);
      }
      cursor = body.next_cursor;
      if (!body.has_more) return { cursor, seen };
    }
  }
}
