import { join } from 'node:path';
import { newId } from '#runtime';
import { freePorts } from '../../libs/runtime/src/testing/free-ports.js';
import { GatewayClient } from './gateway-client.js';
import type { TestMerchant } from './merchant.js';
import { Program } from './program.js';
import type { TestSystem } from './system.js';

export interface RegisterProcess {
  program: Program;
  /** Their data folder; with `count` above 1 each register has its own in there. */
  folder: string;
  urls: string[];
}

export interface MoreRegisters extends Omit<RegisterProcess, 'urls'> {
  merchant: TestMerchant;
  client: GatewayClient;
}

export interface MoreRegistersOptions {
  count?: number;
  env?: Record<string, string>;
  profile?: Record<string, unknown>;
  scopes?: readonly string[];
  /** What the gateway is given instead of the first registers' own addresses, e.g. a proxy's. */
  seenAs?: (urls: string[]) => Promise<string[]>;
}

/** One more process of registers beside a running system, that no merchant has yet. The caller ends `program`. */
export async function startRegisters(
  system: TestSystem,
  options: { count?: number; env?: Record<string, string>; host?: string; port?: number } = {},
): Promise<RegisterProcess> {
  const { count = 1, env = {}, host = '127.0.0.1', port = await freePorts(count) } = options;
  const urls = Array.from({ length: count }, (_, index) => `http://${host}:${port + index}`);
  const folder = join(system.folder, newId('dev'));
  const settings = {
    REGISTER_PORT: String(port),
    REGISTER_HOST: host,
    DATA_DIR: folder,
    OFD_URLS: system.ofdUrl,
    REGISTER_API_KEY: system.registerApiKey,
    FM_MIN_INTERVAL_MS: '0',
    FM_RECEIPT_CAPACITY: '100000',
    EMULATOR: '1',
    EMULATOR_REGISTERS: String(count),
    ...env,
  };
  const program = new Program('more registers', 'cash-register/src/main.js', settings, `${urls.at(-1)}/status`);
  try {
    await program.start();
  } catch (error) {
    await program.end('SIGKILL');
    throw error;
  }
  return { program, folder, urls };
}

/** The same for a merchant of their own. */
export async function startMoreRegisters(
  system: TestSystem,
  { count, env, profile, scopes, seenAs }: MoreRegistersOptions = {},
): Promise<MoreRegisters> {
  const { program, folder, urls } = await startRegisters(system, { ...(count && { count }), ...(env && { env }) });
  try {
    const registerUrls = seenAs ? await seenAs(urls) : urls;
    const merchant = await system.addMerchant({ registerUrls, profile, ...(scopes && { scopes }) });
    return { program, folder, merchant, client: new GatewayClient(system.gatewayUrls, merchant) };
  } catch (error) {
    await program.end('SIGKILL');
    throw error;
  }
}
