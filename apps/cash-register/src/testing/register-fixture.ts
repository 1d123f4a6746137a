import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { createLogger, type Clock, type Environment } from '#runtime';
import { Classifier } from '../classifier/classifier.js';
import { closeDatabase, openDatabase } from '../journal/database.js';
import { localApiServer } from '../server.js';
import { ofdSimulatorServer } from '../../../ofd-simulator/src/server.js';
import { openRegister, type Register } from '../register.js';
import { readRegisterSettings } from '../settings.js';

// Real parts on a machine that may be busy: slowness is not what these tests measure.
export const API_KEY = 'test-key-0123456789';
const classifier = Classifier.load(undefined);

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** Parsed JSON; `undefined` when there is none. */
  readonly body: any; // eslint-disable-line @typescript-eslint/no-explicit-any -- tests read answers of every shape
}

/** A real register on a temporary folder behind real HTTP, with a real OFD simulator. */
export interface TestRegister {
  readonly url: string;
  readonly folder: string;
  readonly register: Register;
  readonly ofdUrl: string;
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  sell(request: unknown, key?: string): Promise<Answer>;
  ofd(path: string, body?: unknown): Promise<any>; // eslint-disable-line @typescript-eslint/no-explicit-any -- as above
  /** Stops it and opens it again on the same folder. */
  restart(environment?: Environment): Promise<void>;
  /** Stops it, changes its database behind its back and opens it again. */
  tamper(sql: string): Promise<void>;
  close(): Promise<void>;
}

export interface TestRegisterOptions {
  readonly environment?: Environment;
  readonly clock?: Clock;
  readonly openShift?: boolean;
}

export async function startTestRegister(options: TestRegisterOptions = {}): Promise<TestRegister> {
  const folder = mkdtempSync(join(tmpdir(), 'register-'));
  const ofdServer = ofdSimulatorServer();
  const ofdUrl = await ofdServer.listen({ port: 0, host: '127.0.0.1' });
  const open = async (
    environment: Environment,
  ): Promise<{ register: Register; server: FastifyInstance; url: string }> => {
    const settings = readRegisterSettings({
      ...{ DATA_DIR: folder, OFD_URLS: ofdUrl, FM_MIN_INTERVAL_MS: '0', REGISTER_API_KEY: API_KEY },
      // A slow machine must not make a delivery fail; tests of the budget set their own.
      OFD_SALE_BUDGET_MS: '20000',
      ...environment,
    });
    const logger = createLogger('test', 'silent');
    const register = openRegister({ settings, classifier, logger, ...(options.clock && { clock: options.clock }) });
    const server = localApiServer(register);
    return { register, server, url: await server.listen({ port: 0, host: '127.0.0.1' }) };
  };
  let running = await open(options.environment ?? {});
  const stop = async (): Promise<void> => {
    await running.server.close();
    running.register.close();
  };
  const test: TestRegister = {
    folder,
    ofdUrl,
    get url() {
      return running.url;
    },
    get register() {
      return running.register;
    },
    call: (method, path, body, headers) => call(running.url, { method, path, body, headers }),
    sell: (request, key) =>
      call(running.url, {
        method: 'POST',
        path: '/receipts',
        body: request,
        headers: key ? { 'idempotency-key': key } : {},
      }),
    ofd: async (path, body) => (await call(ofdUrl, { method: body ? 'POST' : 'GET', path, body })).body,
    restart: async (environment) => {
      await stop();
      running = await open(environment ?? options.environment ?? {});
    },
    tamper: async (sql) => {
      await stop();
      const db = openDatabase(folder);
      db.exec(sql);
      closeDatabase(db);
      running = await open(options.environment ?? {});
    },
    close: async () => {
      await stop();
      await ofdServer.close();
      rmSync(folder, { recursive: true });
    },
  };
  if (options.openShift !== false) await test.call('POST', '/z-report/open');
  return test;
}

interface Call {
  readonly method: string;
  readonly path: string;
  /** A text is sent as it is. */
  readonly body?: unknown;
  readonly headers?: Record<string, string> | undefined;
}

async function call(url: string, { method, path, body, headers = {} }: Call): Promise<Answer> {
  const response = await fetch(url + path, {
    method,
    headers: { 'x-api-key': API_KEY, ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) };
}

/** Runs `work` with a register of its own. */
export async function withRegister(
  options: TestRegisterOptions,
  work: (register: TestRegister) => Promise<void>,
): Promise<void> {
  const register = await startTestRegister(options);
  try {
    await work(register);
  } finally {
    await register.close();
  }
}
