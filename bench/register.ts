import autocannon from 'autocannon';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts } from '../libs/runtime/src/testing/free-ports.js';
import { Program } from '../test/system/program.js';
import { openShift } from './latency.js';
import { localSale } from './local-sale.js';
import { memoryOf } from './memory.js';
import type { Figure } from './report.js';
import { alternate, median } from './statistics.js';

const CONNECTIONS = 4;
const API_KEY = 'bench-register-api-key-0001';
/** Below the 29 999 that a shift holds. */
const DOCUMENTS_PER_SHIFT = 25_000;

interface BenchRegister {
  program: Program;
  url: string;
}

/** A register on its own, with a reachable OFD and no pause between documents; a full journal beside an empty one. */
export async function benchRegister(load: { rounds: number; seconds: number; documents: number }): Promise<Figure[]> {
  const folder = mkdtempSync(join(tmpdir(), 'fiscal-bench-'));
  const [ofdPort, firstPort] = [await freePorts(1), await freePorts(2)];
  const ofdUrl = `http://127.0.0.1:${ofdPort}`;
  const ofd = new Program('ofd', 'ofd-simulator/src/main.js', { OFD_PORT: String(ofdPort) }, `${ofdUrl}/documents`);
  const full = registerIn(join(folder, 'full'), firstPort, ofdUrl);
  const empty = registerIn(join(folder, 'empty'), firstPort + 1, ofdUrl);
  try {
    await Promise.all([ofd.start(), full.program.start(), empty.program.start()]);
    await Promise.all([openShift(full.url, API_KEY), openShift(empty.url, API_KEY)]);
    await fill(full.url, load.documents);
    await full.program.end();
    const begun = performance.now();
    await full.program.start();
    const startSeconds = (performance.now() - begun) / 1_000;
    const { a, b } = await alternate(
      load.rounds,
      () => sell(full.url, load.seconds),
      () => sell(empty.url, load.seconds),
    );
    const ratios = a.map(({ perSecond }, round) => perSecond / (b[round]?.perSecond ?? Number.NaN));
    return [
      {
        name: 'register: sales, empty journal',
        value: median(b.map((each) => each.perSecond)),
        unit: 'receipts/s',
        target: '≥ 500',
      },
      { name: 'register: p99, empty journal', value: median(b.map((each) => each.p99)), unit: 'ms', target: '≤ 20' },
      {
        name: `register: rate with ${load.documents} documents to empty`,
        value: median(ratios),
        unit: '×',
        target: '≥ 0.9',
      },
      { name: `register: start with ${load.documents} documents`, value: startSeconds, unit: 's', target: '≤ 5' },
      ...memoryOf([full.program, empty.program]).map((figure) => ({ ...figure, target: '≤ 150' })),
    ];
  } finally {
    await Promise.all([full.program.end(), empty.program.end(), ofd.end()]);
    rmSync(folder, { recursive: true, force: true });
  }
}

function registerIn(folder: string, port: number, ofdUrl: string): BenchRegister {
  const url = `http://127.0.0.1:${port}`;
  const env = {
    REGISTER_PORT: String(port),
    DATA_DIR: folder,
    OFD_URLS: ofdUrl,
    REGISTER_API_KEY: API_KEY,
    FM_MIN_INTERVAL_MS: '0',
    FM_RECEIPT_CAPACITY: '1000000',
    LOG_LEVEL: 'warn',
  };
  return {
    url,
    program: new Program(
      folder.endsWith('full') ? 'register-full' : 'register-empty',
      'cash-register/src/main.js',
      env,
      `${url}/status`,
    ),
  };
}

/** Sells so many documents, over as many shifts as they need. */
async function fill(url: string, documents: number): Promise<void> {
  for (let left = documents; left > 0; left -= DOCUMENTS_PER_SHIFT) {
    await fire(url, { amount: Math.min(left, DOCUMENTS_PER_SHIFT), connections: 16 });
    await closeShift(url);
    await openShift(url, API_KEY);
  }
}

interface Sold {
  perSecond: number;
  p99: number;
}

async function sell(url: string, seconds: number): Promise<Sold> {
  const sold = await fire(url, { duration: seconds, connections: CONNECTIONS });
  await closeShift(url);
  await openShift(url, API_KEY);
  return sold;
}

async function fire(url: string, load: { amount?: number; duration?: number; connections: number }): Promise<Sold> {
  const result = await autocannon({
    ...load,
    url: `${url}/receipts`,
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': API_KEY },
    body: localSale(),
  });
  if (result.non2xx > 0 || result.errors > 0)
    throw new Error(`${url}: ${result.non2xx} non-2xx, ${result.errors} errors`);
  return { perSecond: result.requests.average, p99: result.latency.p99 };
}

async function closeShift(url: string): Promise<void> {
  const response = await fetch(`${url}/z-report/close`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': API_KEY },
    body: '{}',
  });
  await response.text();
}
