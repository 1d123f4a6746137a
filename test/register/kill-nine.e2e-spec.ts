// Breaks if a register that loses power at any instant loses, doubles or wrongly counts a document.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePorts } from '../../libs/runtime/src/testing/free-ports.js';
import { Program } from '../system/program.js';

const API_KEY = 'kill-nine-0123456789';
/** Of the register alone; case 11 of `npm run test:faults` kills it under a whole system. */
const KILLS = Number(process.env['REGISTER_KILLS'] ?? 20);
const CONNECTIONS = 4;
const PRICE = 112_000;

interface Rig {
  readonly url: string;
  readonly ofdUrl: string;
  readonly register: Program;
  readonly folder: string;
  stop(): Promise<void>;
}

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- answers of HTTP are compared, not typed
type Answer = any;

interface HeldDocument {
  readonly seq: number;
  readonly cash: number;
  readonly vat: number;
  readonly fiscal_sign: string;
}

async function startRig(): Promise<Rig> {
  const folder = mkdtempSync(join(tmpdir(), 'kill-nine-'));
  const port = await freePorts(2);
  const [url, ofdUrl] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${port + 1}`];
  const ofdMain = 'ofd-simulator/src/main.js';
  const ofd = new Program('ofd', ofdMain, { OFD_PORT: String(port + 1) }, `${ofdUrl}/documents`);
  const settings = { REGISTER_PORT: String(port), DATA_DIR: folder, OFD_URLS: ofdUrl, REGISTER_API_KEY: API_KEY };
  const pacing = { FM_MIN_INTERVAL_MS: '0', FM_RECEIPT_CAPACITY: '100000' };
  const register = new Program('register', 'cash-register/src/main.js', { ...settings, ...pacing }, `${url}/status`);
  await ofd.start();
  return {
    ...{ url, ofdUrl, register, folder },
    stop: async () => {
      await register.end();
      await ofd.end();
      rmSync(folder, { recursive: true });
    },
  };
}

async function call(url: string, method: string, body?: unknown, key?: string): Promise<Answer> {
  const response = await fetch(url, {
    method,
    headers: {
      'x-api-key': API_KEY,
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(key !== undefined && { 'idempotency-key': key }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(60_000),
  });
  return (await response.json()) as Answer;
}

const SALE = {
  type: 'sale',
  items: [
    { name: 'Non', spic: '01905001001000001', units: 796, price: PRICE, amount: 1000, vatPercent: 12, vat: 12_000 },
  ],
  received: { cash: PRICE, card: 0 },
};

/** One till: the same key again until there is an answer, then the next sale. */
class Till {
  readonly signs = new Map<string, string>();
  private stopped = false;
  private count = 0;

  constructor(
    private readonly url: string,
    private readonly name: string,
  ) {}

  async run(): Promise<void> {
    while (!this.stopped) {
      this.count += 1;
      const key = `${this.name}-${this.count}`;
      this.signs.set(key, await this.sell(key));
    }
  }

  stop(): void {
    this.stopped = true;
  }

  private async sell(key: string): Promise<string> {
    for (;;) {
      try {
        const answer = await call(`${this.url}/receipts`, 'POST', SALE, key);
        if (answer.success === true) return String(answer.receipt.fiscalSign);
        if (answer.error?.code === 'F-002') await call(`${this.url}/z-report/open`, 'POST', {});
        else throw new Error(`refused: ${JSON.stringify(answer)}`);
      } catch (error) {
        // The power is off: ask again with the same key until it is back.
        if (error instanceof Error && error.message.startsWith('refused')) throw error;
        await delay(5);
      }
    }
  }
}

test(
  `after ${KILLS} kills under load journal, sums, chain and OFD agree, and every sale exists once`,
  async () => {
    const rig = await startRig();
    const tills = Array.from({ length: CONNECTIONS }, (_, index) => new Till(rig.url, `till-${index}`));
    let running: Promise<unknown> | null = null;
    try {
      for (let kill = 0; kill < KILLS; kill += 1) {
        await rig.register.start();
        running ??= Promise.all(tills.map((till) => till.run()));
        await delay(20 + Math.random() * 250);
        await rig.register.end('SIGKILL');
      }
      await rig.register.start();
      for (const till of tills) till.stop();
      await running;
      const signs = new Map(tills.flatMap((till) => [...till.signs]));
      await expectAgreement(rig, signs);
    } finally {
      for (const till of tills) till.stop();
      await rig.stop();
    }
  },
  Math.max(360_000, KILLS * 30_000),
);

async function expectAgreement({ url, ofdUrl }: Rig, signs: ReadonlyMap<string, string>): Promise<void> {
  const count = signs.size;
  expect(count).toBeGreaterThan(KILLS);
  expect(await call(`${url}/status`, 'GET')).toMatchObject({ fmInitialized: true });
  expect(await call(`${url}/receipts/send-unsent`, 'POST', {})).toMatchObject({ success: true, failed: 0 });
  expect(await call(`${url}/fm/info`, 'GET')).toMatchObject({
    currentReceiptSeq: count,
    receiptCount: 0,
    AccumulatedSaleCash: count * PRICE,
    AccumulatedSaleVAT: count * 12_000,
  });
  expect(await call(`${url}/z-report/current`, 'GET')).toMatchObject({
    TotalSaleCount: count,
    TotalSaleCash: count * PRICE,
  });
  const data = await heldDocuments(ofdUrl);
  expect(data.map(({ seq }) => seq).sort((left, right) => left - right)).toEqual(
    Array.from({ length: count }, (_, index) => index + 1),
  );
  const held = new Map(data.map(({ seq, fiscal_sign: sign }) => [seq, sign]));
  for (const [key, sign] of signs) {
    const { receipt } = await call(`${url}/receipts?key=${key}`, 'GET');
    expect([key, receipt.fiscalSign, held.get(receipt.receiptSeq)]).toEqual([key, sign, sign]);
  }
  expect((await call(`${ofdUrl}/documents/checks`, 'GET')).data).toMatchObject([{ held: count, gaps: [] }]);
}

async function heldDocuments(ofdUrl: string): Promise<HeldDocument[]> {
  const all: HeldDocument[] = [];
  for (let cursor: string | null = '0'; cursor !== null;) {
    const page = (await call(`${ofdUrl}/documents?cursor=${cursor}`, 'GET')) as {
      data: HeldDocument[];
      next_cursor: string | null;
    };
    all.push(...page.data);
    cursor = page.next_cursor;
  }
  return all;
}
