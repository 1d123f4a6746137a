import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts } from '../../libs/runtime/src/testing/free-ports.js';
import { Program } from '../system/program.js';

export interface ScreenRig {
  readonly url: string;
  readonly ofdUrl: string;
  /** A call of the local API with a key. */
  call(key: string, path: string, body?: unknown): Promise<{ status: number; body: ApiAnswer }>;
  stop(): Promise<void>;
}

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- answers of HTTP are compared, not typed
type ApiAnswer = any;

/** A register that is not activated yet, and its OFD, as production runs them. */
export async function startScreenRig(settings: Record<string, string> = {}): Promise<ScreenRig> {
  const folder = mkdtempSync(join(tmpdir(), 'screen-'));
  const port = await freePorts(2);
  const [url, ofdUrl] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${port + 1}`];
  const ofdMain = 'ofd-simulator/src/main.js';
  const ofd = new Program('ofd', ofdMain, { OFD_PORT: String(port + 1) }, `${ofdUrl}/documents`);
  const own = { REGISTER_PORT: String(port), DATA_DIR: folder, OFD_URLS: ofdUrl, FM_MIN_INTERVAL_MS: '0' };
  // A slow machine must not make a delivery fail.
  const patient = { OFD_SALE_BUDGET_MS: '20000', REGISTER_ACTIVATED: 'false' };
  const env = { ...own, ...patient, ...settings };
  const register = new Program('register', 'cash-register/src/main.js', env, `${url}/status`);
  await ofd.start();
  await register.start();
  return {
    ...{ url, ofdUrl },
    call: async (key, path, body) => {
      const headers = { 'x-api-key': key, ...(body !== undefined && { 'content-type': 'application/json' }) };
      const init = body === undefined ? { headers } : { method: 'POST', headers, body: JSON.stringify(body) };
      const response = await fetch(url + path, init);
      return { status: response.status, body: await response.json() };
    },
    stop: async () => {
      await register.end();
      await ofd.end();
      rmSync(folder, { recursive: true });
    },
  };
}

/** Bread by the piece and by weight, paid half in cash. */
export const BASKET = {
  type: 'sale',
  items: [
    {
      name: 'Non «Toshkent»',
      spic: '01905001001000001',
      units: 796,
      price: 400_000,
      amount: 3000,
      vatPercent: 12,
      vat: 42_857,
    },
    {
      name: 'Хлеб ржаной',
      spic: '01905001001000001',
      units: 796,
      price: 1_250_000,
      amount: 500,
      vatPercent: 12,
      vat: 133_929,
    },
  ],
  received: { cash: 1_000_000, card: 825_000 },
};
