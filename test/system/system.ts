import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts } from '../../libs/runtime/src/testing/free-ports.js';
import { createTestDatabase, type TestDatabase } from '../../libs/database/src/testing/index.js';
import { ApiDescriptionJudge } from '../api/api-document.js';
import { GatewayClient } from './gateway-client.js';
import { createMerchant, type MerchantOptions, type TestMerchant } from './merchant.js';
import { Program } from './program.js';

export interface SystemOptions {
  registers?: number;
  gateways?: number;
  relays?: number;
  /** redis://…; unset = BullMQ on PostgreSQL. */
  queueUrl?: string;
  profile?: Record<string, unknown>;
  registerEnv?: Record<string, string>;
  /** Added to every gateway and relay. */
  env?: Record<string, string>;
  /** Added to every relay. */
  relayEnv?: Record<string, string>;
  scopes?: readonly string[];
  /** Gateways and relays serve their metrics on ports of their own. */
  ownMetricsPorts?: boolean;
  /** A database on a server of the test's own, which it may kill; by default one on the shared server. */
  database?: TestDatabase;
  /** Another checkout that is built, for gateways and relays: those of another release. */
  root?: string;
  /** The same for the cash register. */
  registerRoot?: string;
}

/** All programs as processes of their own, on a database and in folders of their own; nothing is shared with another test. */
export interface TestSystem {
  database: TestDatabase;
  merchant: TestMerchant;
  client: GatewayClient;
  gatewayUrls: string[];
  relayUrls: string[];
  /** Where each serves its metrics. */
  gatewayMetricsUrls: string[];
  relayMetricsUrls: string[];
  registerUrls: string[];
  ofdUrl: string;
  registerApiKey: string;
  secretsKey: string;
  /** Everything that the programs keep on disk. */
  folder: string;
  /** What every gateway and relay is started with, but its port. */
  programEnv: Readonly<Record<string, string>>;
  gateways: Program[];
  relays: Program[];
  register: Program;
  ofd: Program;
  /** One more merchant on the same installation, by default without registers. */
  addMerchant(more?: Partial<MerchantOptions>): Promise<TestMerchant>;
  stop(): Promise<void>;
}

export async function startSystem(options: SystemOptions = {}): Promise<TestSystem> {
  const { registers = 1, gateways: gatewayCount = 1, relays: relayCount = 1 } = options;
  const folder = mkdtempSync(join(tmpdir(), 'fiscal-system-'));
  const database = options.database ?? (await createTestDatabase());
  const secretsKey = randomBytes(32).toString('base64');
  const registerApiKey = randomBytes(24).toString('hex');
  const [ofdPort, registerPort, programPort] = [
    await freePorts(1),
    await freePorts(registers),
    await freePorts(gatewayCount + relayCount),
  ];
  const ofdUrl = `http://127.0.0.1:${ofdPort}`;
  const registerUrls = Array.from({ length: registers }, (_, index) => `http://127.0.0.1:${registerPort + index}`);

  const ofd = new Program('ofd', 'ofd-simulator/src/main.js', { OFD_PORT: String(ofdPort) }, `${ofdUrl}/documents`);
  const register = new Program(
    'register',
    'cash-register/src/main.js',
    {
      REGISTER_PORT: String(registerPort),
      DATA_DIR: join(folder, 'register'),
      OFD_URLS: ofdUrl,
      REGISTER_API_KEY: registerApiKey,
      FM_MIN_INTERVAL_MS: '0',
      FM_RECEIPT_CAPACITY: '100000',
      EMULATOR: '1',
      EMULATOR_REGISTERS: String(registers),
      ...options.registerEnv,
    },
    `${registerUrls.at(-1)}/status`,
    options.registerRoot,
  );
  const shared: Record<string, string> = {
    DATABASE_URL: database.url,
    SECRETS_KEY: secretsKey,
    DEVICE_ALLOWED_CIDRS: '127.0.0.0/8',
    WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8',
    OFD_CHECK_URL: `${ofdUrl}/check`,
    // Browsers let no address be the relying party of a passkey.
    CONSOLE_URL: `http://localhost:${programPort}/console`,
    LINK_PUBLIC_URL: `ws://127.0.0.1:${programPort + gatewayCount}/link`,
    // One client plays many: what it may do is measured, not limited.
    CLIENT_LIMIT: 'off',
    STOP_LISTENER_AFTER_MS: '0',
    // A test that stops a program need not wait for the longest call.
    STOP_DEADLINE_MS: '6000',
    DATA_DIR: join(folder, 'programs'),
    ...(options.queueUrl ? { QUEUE_URL: options.queueUrl } : {}),
    ...options.env,
  };
  const portOf = (index: number): string => String(programPort + index);
  const firstMetricsPort = options.ownMetricsPorts ? await freePorts(gatewayCount + relayCount) : null;
  const metricsEnv = (index: number): Record<string, string> =>
    firstMetricsPort === null ? {} : { METRICS_PORT: String(firstMetricsPort + index) };
  const metricsUrlOf = (index: number): string =>
    firstMetricsPort === null ? urlOf(index) : `http://127.0.0.1:${firstMetricsPort + index}`;
  const gateways = Array.from(
    { length: gatewayCount },
    (_, index) =>
      new Program(
        `gateway-${index}`,
        'gateway/src/main.js',
        { ...shared, ...metricsEnv(index), GATEWAY_PORT: portOf(index) },
        `http://127.0.0.1:${portOf(index)}/readyz`,
        options.root,
      ),
  );
  const relays = Array.from({ length: relayCount }, (_, index) => {
    const port = portOf(gatewayCount + index);
    return new Program(
      `relay-${index}`,
      'device-relay/src/main.js',
      {
        ...{ RELAY_URL: `http://127.0.0.1:${port}`, ...shared, ...options.relayEnv },
        ...{ ...metricsEnv(gatewayCount + index), RELAY_PORT: port },
      },
      `http://127.0.0.1:${port}/readyz`,
      options.root,
    );
  });
  const urlOf = (index: number): string => `http://127.0.0.1:${portOf(index)}`;
  const gatewayUrls = gateways.map((_, index) => urlOf(index));
  const relayUrls = relays.map((_, index) => urlOf(gatewayCount + index));
  const gatewayMetricsUrls = gateways.map((_, index) => metricsUrlOf(index));
  const relayMetricsUrls = relays.map((_, index) => metricsUrlOf(gatewayCount + index));
  const everything = [...gateways, ...relays, register, ofd];
  const stop = async (): Promise<void> => {
    await Promise.all(everything.map((program) => program.end()));
    await database.drop();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const { profile, scopes } = options;
    const addMerchant = (more: Partial<MerchantOptions> = {}): Promise<TestMerchant> =>
      createMerchant(database.url, { secretsKey, registerApiKey, registerUrls: [], profile, scopes, ...more });
    const merchant = await addMerchant({ registerUrls });
    await Promise.all(everything.map((program) => program.start()));
    const client = new GatewayClient(gatewayUrls, merchant);
    if (options.root !== undefined) client.alsoDescribedBy = new ApiDescriptionJudge(options.root);
    return {
      ...{ database, merchant, client, gatewayUrls, relayUrls, registerUrls, ofdUrl, registerApiKey, secretsKey },
      ...{ gatewayMetricsUrls, relayMetricsUrls, folder, programEnv: shared },
      ...{ gateways, relays, register, ofd, addMerchant, stop },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
