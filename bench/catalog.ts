import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { spawn } from 'node:child_process';
import { pipeline } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { GoodsCatalog, type ProductQuery } from '../apps/gateway/src/goods/catalog/goods-catalog.js';
import { xlsxStream, type Cell } from '../apps/gateway/src/goods/sheets/xlsx-writer.js';
import { PrismaService } from '../libs/database/src/index.js';
import { createLogger } from '../libs/runtime/src/index.js';
import { sql } from '../test/system/database.js';
import { startSystem, type TestSystem } from '../test/system/system.js';
import { benchAcceptBeside } from './catalog-accept.js';
import { kindOf, nameOf, productOf } from './catalog-goods.js';
import { residentMebibytes } from './memory.js';
import type { Figure } from './report.js';
import { growth, median, percentile } from './statistics.js';

const SCOPES = ['receipts:write', 'receipts:read', 'catalog:write', 'catalog:read'];
const BATCH = 1_000;

/** The catalogue at its size: bulk upsert, lookups, invalidation, search; and a load of the classification register. */
export async function benchCatalog(load: {
  products: number;
  samples: number;
  entries: number;
  accept: { rounds: number; seconds: number };
}): Promise<Figure[]> {
  const system = await startSystem({ registers: 1, relays: 0, scopes: SCOPES });
  try {
    const figures = [...(await benchUpsert(system, load.products))];
    await sql(system.database, 'ANALYZE');
    figures.push(...(await benchLookUp(system, load)));
    figures.push(...(await benchSearch(system, load)));
    figures.push(...(await benchAcceptBeside(system, { products: load.products, ...load.accept })));
    figures.push(...(await benchFiles(system, load)));
    return figures;
  } finally {
    await system.stop();
  }
}

async function benchUpsert(system: TestSystem, products: number): Promise<Figure[]> {
  const headers = { authorization: await system.client.authorization(), 'content-type': 'application/json' };
  const url = `${system.gatewayUrls[0]}/v1/catalog/products`;
  const rates: number[] = [];
  for (let start = 0; start < products; start += BATCH) {
    const body = JSON.stringify({ products: Array.from({ length: BATCH }, (_, index) => productOf(start + index)) });
    const startedAtMs = performance.now();
    const response = await fetch(url, { method: 'PUT', headers, body });
    const { summary } = (await response.json()) as { summary: { created: number } };
    if (summary.created !== BATCH) throw new Error(`upsert: ${JSON.stringify(summary)}`);
    rates.push((BATCH * 1_000) / (performance.now() - startedAtMs));
  }
  const last = rates.slice(-Math.ceil(rates.length / 10));
  return [
    {
      name: 'catalog: upsert in batches of 1 000, one caller',
      value: median(rates),
      unit: 'products/s',
      target: '≥ 5000',
    },
    { name: `catalog: upsert, last tenth of ${products}`, value: median(last), unit: 'products/s' },
  ];
}

async function benchLookUp(
  system: TestSystem,
  { products, samples }: { products: number; samples: number },
): Promise<Figure[]> {
  const { url } = system.database;
  const prisma = new PrismaService({ url, poolSize: 2, applicationName: 'bench', lockTimeoutMs: 1_000 });
  const catalog = new GoodsCatalog(prisma, { DATABASE_URL: url }, createLogger('bench', 'error'));
  catalog.onApplicationBootstrap();
  const { merchantId } = system.merchant;
  try {
    while (!catalog.isListening) await delay(10);
    const fresh: number[] = [];
    const cached: number[] = [];
    for (let sample = 0; sample < samples; sample += 1) {
      const queries = Array.from({ length: 10 }, (): ProductQuery => {
        const name = nameOf(Math.floor(Math.random() * products));
        return { sku: null, barcode: null, name };
      });
      for (const times of [fresh, cached]) {
        const startedAtMs = performance.now();
        const answers = await catalog.findProducts(merchantId, queries);
        times.push(performance.now() - startedAtMs);
        if (answers.some(({ kind }) => kind !== 'found')) throw new Error('a product was not found by its name');
      }
    }
    const known = 'catalog: ten lines by name';
    return [
      { name: `${known} out of ${products}, p99`, value: percentile(fresh, 99), unit: 'ms', target: '≤ 5' },
      { name: `${known} from the cache, p99`, value: percentile(cached, 99), unit: 'ms', target: '≤ 0.3' },
      {
        name: 'catalog: change → other instance, worst',
        value: await slowestNews(system, catalog),
        unit: 'ms',
        target: '< 1000',
      },
    ];
  } finally {
    await catalog.onApplicationShutdown();
    await prisma.$disconnect();
  }
}

/** From the answer to a PATCH until another instance gives the new VAT. */
async function slowestNews(system: TestSystem, catalog: GoodsCatalog): Promise<number> {
  const times: number[] = [];
  const headers = { authorization: await system.client.authorization(), 'content-type': 'application/json' };
  const query: ProductQuery = { sku: 'p0', barcode: null, name: '' };
  const vat = async (): Promise<number | null> => {
    const [answer] = await catalog.findProducts(system.merchant.merchantId, [query]);
    return answer?.kind === 'found' ? answer.product.vatPercent : null;
  };
  for (let round = 0; round < 20; round += 1) {
    const percent = round % 2 === 0 ? 0 : 12;
    await vat();
    const url = `${system.gatewayUrls[0]}/v1/catalog/products/p0`;
    const response = await fetch(url, { method: 'PATCH', headers, body: JSON.stringify({ vat_percent: percent }) });
    await response.text();
    const changedAtMs = performance.now();
    while ((await vat()) !== percent) await delay(1);
    times.push(performance.now() - changedAtMs);
  }
  return Math.max(...times);
}

async function benchSearch(
  system: TestSystem,
  { products, samples }: { products: number; samples: number },
): Promise<Figure[]> {
  const headers = { authorization: await system.client.authorization() };
  const timesOf = async (textOf: (number: number) => string): Promise<number> => {
    const times: number[] = [];
    for (let sample = 0; sample < Math.ceil(samples / 4); sample += 1) {
      const text = encodeURIComponent(textOf(Math.floor(Math.random() * products)));
      const startedAtMs = performance.now();
      const response = await fetch(`${system.gatewayUrls[0]}/v1/catalog/products?q=${text}`, { headers });
      const { data } = (await response.json()) as { data: unknown[] };
      times.push(performance.now() - startedAtMs);
      if (data.length === 0) throw new Error(`nothing was found by ${decodeURIComponent(text)}`);
    }
    return percentile(times, 95);
  };
  const target = '≤ 100';
  return [
    {
      name: `search: two words, p95 of ${products}`,
      value: await timesOf((n) => `сорт${n % 50_000} ${kindOf(n)}`),
      unit: 'ms',
      target,
    },
    { name: 'search: one common word, p95', value: await timesOf((n) => kindOf(n)), unit: 'ms', target },
    {
      name: 'search: a slip in a word, p95',
      value: await timesOf((n) => `${slipped(kindOf(n))} сорт${n % 50_000}`),
      unit: 'ms',
      target,
    },
  ];
}

function slipped(word: string): string {
  return `${word.slice(0, 2)}${word.slice(3)}`;
}

/** The whole catalogue to a file and back (nothing of it has changed), and a workbook of the register, by the command line. */
async function benchFiles(system: TestSystem, load: { products: number; entries: number }): Promise<Figure[]> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-catalog-'));
  try {
    const [csv, register] = [join(folder, 'products.csv'), join(folder, 'register.xlsx')];
    const target = ['--merchant', system.merchant.merchantId, '--file', csv];
    const out = await runCommand(system, ['catalog', 'export', ...target]);
    const back = await runCommand(system, ['catalog', 'import', ...target]);
    await pipeline(xlsxStream(workbookRows(load.entries)), createWriteStream(register));
    const loaded = await runCommand(system, ['classifier', 'load', 'full', '--source', register]);
    const { products, entries } = load;
    return [
      ...filesOf(`export of ${products} products as CSV`, out),
      ...filesOf(`import of the same`, back),
      {
        name: `classifier: load of ${entries} entries from XLSX`,
        value: loaded.seconds,
        unit: 's',
        target: '≤ 60 for 300000',
      },
      { name: 'classifier: largest memory of the load', value: loaded.largest, unit: 'MiB', target: '≤ 300' },
    ];
  } finally {
    await rm(folder, { recursive: true });
  }
}

function filesOf(name: string, { seconds, largest, growth: grown }: CommandRun): Figure[] {
  return [
    { name: `files: ${name}`, value: seconds, unit: 's' },
    { name: `files: ${name}, largest memory`, value: largest, unit: 'MiB' },
    { name: `files: ${name}, last fifth to the second`, value: grown, unit: '×', target: 'flat' },
  ];
}

interface CommandRun {
  seconds: number;
  /** MiB */
  largest: number;
  growth: number;
}

/** One command in a process of its own, with its memory over its time. */
async function runCommand(system: TestSystem, args: readonly string[]): Promise<CommandRun> {
  const startedAtMs = performance.now();
  const child = spawn(
    process.execPath,
    [join('dist', 'apps', 'gateway', 'src', 'programs', 'cli', 'main.js'), ...args],
    {
      env: { ...system.programEnv },
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  );
  const samples: number[] = [];
  const watch = setInterval(() => {
    samples.push((child.pid === undefined ? null : residentMebibytes(child.pid)) ?? 0);
  }, 50);
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  clearInterval(watch);
  if (code !== 0) throw new Error(`${args.slice(0, 2).join(' ')} ended with ${code}`);
  const seconds = (performance.now() - startedAtMs) / 1_000;
  return { seconds, largest: Math.max(...samples), growth: growth(samples) };
}

function* workbookRows(entries: number): Generator<Cell[], void, undefined> {
  yield ['ИКПУ', 'Наименование', 'Код упаковки', 'Упаковка', 'Маркировка'];
  for (let number = 0; number < entries; number += 1) {
    const spic = String(20_000_000_000_000_000n + BigInt(number));
    yield [spic, `${nameOf(number)}, подробное наименование товара`, String(2_000_000 + number), 'шт', 'нет'];
  }
}
