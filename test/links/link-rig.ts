import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { apiKeyOwner, type PrismaService } from '#database';
import { createTestDatabase, sampleDocument, type TestDatabase, testClient } from '#database/testing';
import { DEFAULT_PROFILE, type DeviceProfile } from '#fiscal-domain';
import { hashEnrolmentCode, LinkAgent, newEnrolmentCode, readLinkUrl } from '#link';
import type { LocalApiClient } from '#local-api';
import { createFastifyNestApp, stopFastifyNestApp } from '#http';
import { parseCidr, type Cidr } from '#outgoing';
import { createLogger, Metrics, newId, type Logger } from '#runtime';
import { parseKeyring, seal } from '#secrets';
import { freePorts } from '../../libs/runtime/src/testing/free-ports.js';
import { RegisterConnections } from '../../apps/device-relay/src/devices/register-connections.js';
import { LaneRunner } from '../../apps/device-relay/src/lanes/lane-runner.js';
import { Links } from '../../apps/device-relay/src/links/links.js';
import { RelayModule } from '../../apps/device-relay/src/relay.module.js';
import { LanesModule } from '../../apps/device-relay/src/lanes/lanes.module.js';
import { until } from '../../libs/runtime/src/testing/until.js';
import { CutProxy } from './cut-proxy.js';

export interface TestRelay {
  app: NestFastifyApplication;
  url: string;
  /** In front of its link endpoint: registers dial here. */
  proxy: CutProxy;
  linkPublicUrl: string;
  links: Links;
  runner: LaneRunner;
  said: () => string;
  metric(name: string): Promise<number>;
  stop(): Promise<void>;
}

export interface TestDevice {
  id: string;
  baseUrl: string | null;
  apiKeySealed: Buffer;
  /** Of the link; null or left out: none was enrolled when this was read. */
  linkKeyId?: string | null;
}

export interface AgentOptions {
  registerUrl: string;
  code?: string;
  dataDir?: string;
}

export interface LinkedDevice extends TestDevice {
  agent: LinkAgent;
  /** Where its key lies. */
  dataDir: string;
}

/** Relays as they run, in this process, on a database of their own; registers and agents as a test needs them. */
export class LinkRig {
  readonly relays: TestRelay[] = [];
  readonly agentLines: string[] = [];
  merchantId = '';
  readonly keyring = parseKeyring(randomBytes(32).toString('base64'));
  readonly foreignKeyring = parseKeyring(randomBytes(32).toString('base64'));
  private readonly ends: (() => Promise<unknown> | void)[] = [];

  private constructor(
    readonly database: TestDatabase,
    readonly prisma: PrismaService,
    readonly folder: string,
  ) {}

  static async start(relays: number, trustedProxies: Cidr[] = []): Promise<LinkRig> {
    const database = await createTestDatabase();
    const { url } = database;
    const prisma = testClient(url, 3);
    const rig = new LinkRig(database, prisma, mkdtempSync(join(tmpdir(), 'links-')));
    rig.merchantId = await rig.createMerchant();
    for (let index = 0; index < relays; index += 1) rig.relays.push(await rig.startRelay(trustedProxies));
    return rig;
  }

  /** Ends whatever a test began, in the other order. */
  atEnd(end: () => Promise<unknown> | void): void {
    this.ends.push(end);
  }

  async endTest(): Promise<void> {
    for (const end of this.ends.splice(0).reverse()) await end();
  }

  async stop(): Promise<void> {
    await this.endTest();
    await Promise.all(this.relays.map((relay) => relay.stop()));
    await this.prisma.$disconnect();
    await this.database.drop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  relay(index = 0): TestRelay {
    return this.relays[index]!;
  }

  /** What the lane of this device would speak to on that relay. */
  clientOn(relay: TestRelay, device: TestDevice, profile: Partial<DeviceProfile> = {}): LocalApiClient {
    return relay.app.get(RegisterConnections).of({
      ...{ id: device.id, merchantId: this.merchantId, state: 'online', baseUrl: device.baseUrl },
      linkKeyId: device.linkKeyId ?? null,
      ...{ apiKeySealed: device.apiKeySealed, profile: { ...DEFAULT_PROFILE, sendTimeoutMs: 20_000, ...profile } },
    });
  }

  async createMerchant(): Promise<string> {
    const id = newId('mer');
    await this.prisma.merchant.create({ data: { id, code: id, name: 'M', tin: '300000000' } });
    const branchId = id.replace('mer_', 'brn_');
    await this.prisma.branch.create({ data: { id: branchId, merchantId: id, code: 'main', name: 'Main' } });
    return id;
  }

  async createDevice(options: { apiKey: string; baseUrl?: string; merchantId?: string }): Promise<TestDevice> {
    const { apiKey, baseUrl = null, merchantId = this.merchantId } = options;
    const id = newId('dev');
    const apiKeySealed = seal(apiKey, apiKeyOwner(id), this.keyring);
    await this.prisma.device.create({
      data: {
        ...{ id, merchantId, branchId: merchantId.replace('mer_', 'brn_'), name: 'Till', baseUrl },
        ...{ transport: baseUrl === null ? 'link' : 'http', apiKeySealed: new Uint8Array(apiKeySealed) },
        profile: { pacingMs: 0 },
      },
    });
    await this.prisma.lane.create({ data: { deviceId: id } });
    return { id, baseUrl, apiKeySealed };
  }

  /** As a relay reads it now. */
  async asStored(device: TestDevice): Promise<TestDevice> {
    const { apiKeySealed } = await this.prisma.device.findUniqueOrThrow({ where: { id: device.id } });
    const key = await this.prisma.linkKey.findFirst({ where: { deviceId: device.id, revokedAt: null } });
    return { ...device, apiKeySealed: Buffer.from(apiKeySealed), linkKeyId: key?.id ?? null };
  }

  /** @param apiKey entered with the code */
  async newCode(deviceId: string, validSeconds = 600, apiKey?: string): Promise<string> {
    const code = newEnrolmentCode();
    const entered = apiKey !== undefined && {
      apiKeySealed: new Uint8Array(seal(apiKey, apiKeyOwner(deviceId), this.keyring)),
    };
    const codeHash = new Uint8Array(hashEnrolmentCode(code));
    const expiresAt = new Date(Date.now() + validSeconds * 1_000);
    await this.prisma.linkEnrolment.create({ data: { codeHash, deviceId, expiresAt, ...entered } });
    return code;
  }

  /** Receipts as the gateway leaves them, and no bell: the test says which relay works the lane. */
  async acceptReceipts(device: TestDevice, count: number): Promise<string[]> {
    const ids: string[] = [];
    for (let index = 0; index < count; index += 1) {
      const id = newId('rcp');
      await this.prisma.$executeRaw`
        INSERT INTO receipts (id, merchant_id, client_id, operation, body_hash, type, status, lane_place, device_id,
                              branch_id, document, total_tiyin, vat_total_tiyin)
        VALUES (${id}, ${this.merchantId}, 'cli_1', 'receipts', ${Buffer.alloc(32)}, 'sale', 'accepted',
                nextval('lane_place_seq'), ${device.id}, ${this.merchantId.replace('mer_', 'brn_')},
                ${JSON.stringify(sampleDocument())}::jsonb, 112000, 12000)`;
      ids.push(id);
    }
    return ids;
  }

  linkUrl(relay: TestRelay, deviceId: string): string {
    return `${relay.linkPublicUrl}?device=${deviceId}`;
  }

  /** An agent with a key of its own; ended with the test. */
  agent(relay: TestRelay, device: TestDevice, options: AgentOptions): LinkAgent {
    const agent = new LinkAgent({
      target: readLinkUrl(this.linkUrl(relay, device.id)),
      registerUrl: options.registerUrl,
      dataDir: options.dataDir ?? mkdtempSync(join(this.folder, 'key-')),
      enrolmentCode: options.code,
      logger: createLogger('agent', 'warn', { write: (line) => void this.agentLines.push(line) }),
      pausesMs: [50],
    });
    this.atEnd(() => agent.stop());
    agent.start();
    return agent;
  }

  /** A device whose register has dialled in to that relay. */
  async linked(relay: TestRelay, options: { apiKey: string; registerUrl: string }): Promise<LinkedDevice> {
    const device = await this.createDevice(options);
    const dataDir = mkdtempSync(join(this.folder, 'key-'));
    const code = await this.newCode(device.id);
    const agent = this.agent(relay, device, { registerUrl: options.registerUrl, code, dataDir });
    await until('the register is linked', () => agent.isLinked, Boolean);
    return { ...(await this.asStored(device)), agent, dataDir };
  }

  async startRelay(trustedProxies: Cidr[] = []): Promise<TestRelay> {
    const port = await freePorts(1);
    const proxy = new CutProxy('register', { host: '127.0.0.1', port });
    const linkPublicUrl = `ws://127.0.0.1:${await proxy.listen()}/link`;
    const lines: string[] = [];
    const logger: Logger = createLogger('relay', 'info', { write: (line) => void lines.push(line) });
    const metrics = new Metrics('device-relay');
    const url = `http://127.0.0.1:${port}`;
    const loopback = parseCidr('127.0.0.0/8');
    const settings = {
      ...{
        DATABASE_URL: this.database.url,
        DIRECT_DATABASE_URL: undefined,
        QUEUE_URL: undefined,
        SECRETS_KEY: this.keyring,
        RELAY_PORT: port,
      },
      ...{ RELAY_WORKERS: 1, RELAY_WORKER_PORT: 0 },
      ...{ RELAY_URL: url, LINK_PUBLIC_URL: linkPublicUrl, LOG_LEVEL: 'info' as const },
      DEVICE_ALLOWED_CIDRS: loopback.kind === 'ok' ? [loopback.cidr] : [],
      ...{ LANE_POOL_SIZE: 12, WATCH_POOL_SIZE: 6, LINK_POOL_SIZE: 4, SANDBOX_POOL_SIZE: 1 },
      // The watch polls a register when it is asked to, not while a test cuts its link.
      ...{ HEALTH_POLL_MS: 3_600_000, HEALTH_POLL_CONCURRENCY: 1, OFD_RESEND_MS: 900_000, SHIFT_CLOSE_AT: '23:50' },
      ...{ DEVICE_METRICS_MAX: 100, TRUSTED_PROXIES: trustedProxies, RELAY_LANE_PLACES: 200, RELAY_LANES_ASIDE: 4_000 },
      ...{ STOP_DEADLINE_MS: 7_000, STOP_LISTENER_AFTER_MS: 0, DATA_DIR: join(this.folder, `relay-${port}`) },
      ...{
        METRICS_PORT: undefined,
        METRICS_HOST: '127.0.0.1',
        ARCHIVE_DIR: undefined,
        ARCHIVE_BUCKET: undefined,
        ARCHIVE_ENDPOINT: undefined,
        ARCHIVE_REGION: undefined,
        ARCHIVE_ACCESS_KEY_ID: undefined,
        ARCHIVE_SECRET_ACCESS_KEY: undefined,
        ATTEMPTS_KEEP_DAYS: 395,
        RECEIPTS_KEEP_DAYS: 1_827,
        WEBHOOK_KEEP_DAYS: 30,
        EVENTS_KEEP_DAYS: undefined,
        PAYMENT_CALLS_KEEP_DAYS: 395,
      },
      ...{ TRACES_URL: undefined, TRACES_SAMPLE: 0, TRACES_HEADERS: {} },
    };
    const app = await createFastifyNestApp(RelayModule.create(settings, logger, metrics), { logger, metrics });
    await app.listen(port, '127.0.0.1');
    let stopped: Promise<void> | null = null;
    const stop = async (): Promise<void> => {
      await app.get(LanesModule).end();
      await stopFastifyNestApp(app);
      await proxy.close();
    };
    const links = app.get(Links);
    await until('the relay receives revocations', () => links.hasListened, Boolean);
    return {
      ...{ app, url, proxy, linkPublicUrl, links },
      runner: app.get(LaneRunner),
      said: () => lines.join(''),
      metric: async (name) => {
        const values = (await metrics.registry.getSingleMetric(name)?.get())?.values ?? [];
        return values.reduce((sum, { value }) => sum + value, 0);
      },
      stop: () => (stopped ??= stop()),
    };
  }
}
