import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { FiscalGateway } from '#sdk';
import { freePorts } from '../../libs/runtime/src/testing/free-ports.js';
import { FaultProxy, type Fate, type SeenRequest } from '../sdk/fault-proxy.js';
import { startSystem, type TestSystem } from '../system/system.js';
import type { Command, Language } from './languages.js';

const SCOPES = [
  ...['receipts:write', 'receipts:read', 'refunds:write', 'payments:write', 'catalog:write', 'catalog:read'],
  ...['devices:admin', 'operator:resolve', 'webhooks:admin', 'messages:write', 'clients:admin'],
];
const TOO_LONG_MS = 300_000;

/** Of the first attempts of a sale. The last but one is what a proxy makes of a request that it sends twice. */
const FATES: readonly Fate[] = [
  { kind: 'drop_answer' },
  { kind: 'refuse', status: 503, code: 'service_unavailable', retryAfterS: 1 },
  { kind: 'cut_answer' },
  { kind: 'refuse', status: 401, code: 'nonce_replayed', retryAfterS: 0 },
  { kind: 'refuse', status: 408, code: 'request_timeout', retryAfterS: 0 },
];
/** Begins the keys of sales whose caller is refused after the answer was lost. */
const DENIED = 'sale-denied-';
const DENIED_FATES: readonly Fate[] = [
  { kind: 'drop_answer' },
  { kind: 'refuse', status: 403, code: 'address_not_allowed', retryAfterS: 0 },
];

export interface Finished {
  code: number;
  stdout: string;
  stderr: string;
}

/** One system for all examples, behind a proxy that spoils the first attempts of each sale. */
export class ExampleRig {
  readonly folder = mkdtempSync(join(tmpdir(), 'fiscal-examples-'));
  private readonly running = new Set<ChildProcess>();
  private readonly triesOf = new Map<string, number>();

  private constructor(
    readonly system: TestSystem,
    readonly url: string,
    readonly proxy: FaultProxy,
  ) {}

  static async start(): Promise<ExampleRig> {
    const port = await freePorts(1);
    const url = `http://127.0.0.1:${port}`;
    const env = { PUBLIC_URL: url, PUBLIC_HOSTS: `127.0.0.1:${port}` };
    const system = await startSystem({ registers: 1, scopes: SCOPES, env });
    let rig: ExampleRig | null = null;
    const proxy = new FaultProxy(system.gatewayUrls, (request) => rig?.fateOf(request) ?? { kind: 'pass' });
    await proxy.listen(port);
    rig = new ExampleRig(system, url, proxy);
    return rig;
  }

  get sdk(): FiscalGateway {
    const { clientId, clientSecret } = this.system.merchant;
    return new FiscalGateway({ baseUrl: this.url, credentials: { clientId, clientSecret } });
  }

  async stop(): Promise<void> {
    for (const child of this.running) child.kill('SIGKILL');
    await this.proxy.close();
    await this.system.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** A client of its own that has to sign its writes, as the environment that every example reads. */
  async environmentFor({ name, algorithm }: Language): Promise<Record<string, string>> {
    const { merchant } = this.system;
    const scopes = ['receipts:write', 'receipts:read', 'refunds:write'] as never;
    const client = await this.sdk.request('POST', '/v1/clients', { body: { name, scopes, ip_policy: 'any' } });
    const path = { id: client.id };
    const shared = {
      GATEWAY_URL: this.url,
      CLIENT_ID: client.id,
      CLIENT_SECRET: client.client_secret,
      CASHIER_ID: merchant.tills[0]?.cashierId ?? '',
      PRODUCT_NAME: merchant.goods[0] ?? '',
    };
    if (algorithm === 'hmac-sha256') {
      const key = await this.sdk.request('POST', '/v1/clients/{id}/keys', { path, body: { name: 'erp', algorithm } });
      return { ...shared, KEY_ID: key.id, KEY_SECRET: key.secret ?? '' };
    }
    const { publicKey, privateKey } = generateKeyPairSync('ed25519');
    const body = { name: 'erp', public_key: publicKey.export({ type: 'spki', format: 'pem' }).toString() };
    const key = await this.sdk.request('POST', '/v1/clients/{id}/keys', { path, body });
    const file = join(this.folder, `${name}.pem`);
    writeFileSync(file, privateKey.export({ type: 'pkcs8', format: 'pem' }));
    return { ...shared, KEY_ID: key.id, SIGNING_KEY_FILE: file };
  }

  async run({ file, args, cwd, env: own }: Command, env: Record<string, string>): Promise<Finished> {
    const options = { cwd, env: { ...process.env, NODE_OPTIONS: '', ...own, ...env }, timeout: TOO_LONG_MS };
    try {
      const { stdout, stderr } = await promisify(execFile)(file, args, options);
      return { code: 0, stdout, stderr };
    } catch (error) {
      const { code, stdout = '', stderr = '' } = error as { code?: number; stdout?: string; stderr?: string };
      return { code: typeof code === 'number' ? code : -1, stdout, stderr: stderr || String(error) };
    }
  }

  /** A program that stays until the end; `output` is what it has printed so far. */
  begin({ file, args, cwd, env: own }: Command, env: Record<string, string>): { output: () => string } {
    const child = spawn(file, args, { cwd, env: { ...process.env, NODE_OPTIONS: '', ...own, ...env } });
    this.running.add(child);
    let printed = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (printed += chunk.toString()));
    child.once('error', (error) => (printed += String(error)));
    return { output: () => printed };
  }

  attemptsOf(key: string): SeenRequest[] {
    return this.proxy.seen.filter(({ headers }) => headers['idempotency-key'] === key);
  }

  private fateOf({ headers }: SeenRequest): Fate {
    const key = headers['idempotency-key'];
    if (typeof key !== 'string' || !key.startsWith('sale-')) return { kind: 'pass' };
    const tries = (this.triesOf.get(key) ?? 0) + 1;
    this.triesOf.set(key, tries);
    return (key.startsWith(DENIED) ? DENIED_FATES : FATES)[tries - 1] ?? { kind: 'pass' };
  }
}
