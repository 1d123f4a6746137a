import { randomBytes } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { createTestDatabase, type TestDatabase } from '#database/testing';
import { createFastifyNestApp } from '#http';
import { createLogger, Metrics, readSettings } from '#runtime';
import { startTestRegister, type TestRegister } from '../../apps/cash-register/src/testing/register-fixture.js';
import { LanesModule } from '../../apps/device-relay/src/lanes/lanes.module.js';
import { RelayModule } from '../../apps/device-relay/src/relay.module.js';
import { SETTINGS as RELAY_SETTINGS } from '../../apps/device-relay/src/settings.js';
import { GatewayModule } from '../../apps/gateway/src/gateway.module.js';
import { SCOPES } from '../../apps/gateway/src/http/scopes.js';
import { SETTINGS } from '../../apps/gateway/src/settings.js';
import { Receiver } from '../../apps/gateway/src/notify/webhooks/testing/receiver.js';
import { paymentsSimulator } from '../../apps/payments-simulator/src/server.js';
import { OwnRedis, redisIsInstalled } from '../../libs/queue/src/testing/own-redis.js';
import { findPackaged, startPackaged, type PackagedServer } from '../recovery/packaged-postgres.js';
import { createMerchant, type TestMerchant } from '../system/merchant.js';
import { SecretSearch } from './secret-search.js';
import { copyOfDatabase, copyOfRedis } from './thief.js';

const NEVER_REACHED = '1000000/1';
/** Not reached either, and so slow that each failure stays in Redis until it is read. */
const FAILURES = '5000/90000';

/** Everything that keeps anything: gateway and relay with their logs of all levels, database, Redis; a register, a receiver and the providers' simulator to talk to. */
export class SecretsRig {
  readonly log: string[] = [];
  merchant!: TestMerchant;
  base = '';

  private constructor(
    readonly secrets: SecretSearch,
    private readonly parts: {
      packaged: PackagedServer | null;
      database: TestDatabase;
      redis: OwnRedis | null;
      register: TestRegister;
      simulator: FastifyInstance;
      receiver: Receiver;
    },
  ) {}

  private apps: NestFastifyApplication[] = [];

  static async start(): Promise<SecretsRig> {
    const secrets = new SecretSearch();
    const found = findPackaged();
    const packaged = found && (await startPackaged(found));
    const database = await createTestDatabase(...(packaged ? [packaged.adminUrl] : []));
    const redis = redisIsInstalled() ? await OwnRedis.reserve() : null;
    await redis?.start();
    // Kept as they are, so that a dump of a key is its content.
    await redis?.command((client) => client.config('SET', 'rdbcompression', 'no'));
    const apiKey = secrets.add('register key', `register-${randomBytes(16).toString('hex')}`);
    const register = await startTestRegister({ environment: { REGISTER_API_KEY: apiKey }, openShift: true });
    const simulator = paymentsSimulator();
    await simulator.listen({ port: 0, host: '127.0.0.1' });
    const receiver = await Receiver.start();
    const rig = new SecretsRig(secrets, { packaged, database, redis, register, simulator, receiver });
    await rig.startPrograms(apiKey);
    return rig;
  }

  private async startPrograms(registerApiKey: string): Promise<void> {
    const { database, redis, register } = this.parts;
    const secretsKey = this.secrets.add('SECRETS_KEY', randomBytes(32).toString('base64'));
    this.secrets.add('SECRETS_KEY as bytes', Buffer.from(secretsKey, 'base64').toString('hex'));
    const { password } = new URL(database.url);
    if (password.length >= 12) this.secrets.add('database password', password);
    const loopback = '127.0.0.0/8';
    const env = {
      ...{ DATABASE_URL: database.url, SECRETS_KEY: secretsKey, LOG_LEVEL: 'trace', CLIENT_LIMIT: NEVER_REACHED },
      ...{ FAILED_LOGIN_LIMIT: FAILURES, FAILED_TOKEN_LIMIT: FAILURES, PAYMENT_LOOK_MS: '200' },
      ...{ DEVICE_ALLOWED_CIDRS: loopback, WEBHOOK_ALLOWED_CIDRS: loopback, PROVIDER_ALLOWED_CIDRS: loopback },
      PROVIDER_HOSTS: '127.0.0.1:*',
      ...(redis && { QUEUE_URL: redis.url }),
    };
    const settings = readSettings(SETTINGS, env);
    const gatewayMetrics = new Metrics('gateway');
    const logger = createLogger('gateway', 'trace', { write: (line: string) => void this.log.push(line) });
    const gateway = await createFastifyNestApp(GatewayModule.create(settings, logger, gatewayMetrics), {
      ...{ logger, metrics: gatewayMetrics },
    });
    const relayLogger = createLogger('device-relay', 'trace', { write: (line: string) => void this.log.push(line) });
    const relayMetrics = new Metrics('device-relay');
    // A machine may have several addresses; this relay has no neighbours.
    const relayEnv = { ...env, RELAY_URL: 'http://127.0.0.1', HEALTH_POLL_MS: '1000' };
    const relaySettings = readSettings(RELAY_SETTINGS, relayEnv);
    const relay = await createFastifyNestApp(RelayModule.create(relaySettings, relayLogger, relayMetrics), {
      ...{ logger: relayLogger, metrics: relayMetrics },
    });
    this.apps = [gateway, relay];
    for (const app of this.apps) await app.listen(0, '127.0.0.1');
    this.base = urlOf(gateway);
    const goal = { secretsKey, registerApiKey, registerUrls: [register.url], scopes: [...SCOPES] };
    this.merchant = await createMerchant(database.url, goal);
    this.secrets.add('client secret', this.merchant.clientSecret);
  }

  /** Without one the queue and the limits are in the database and in the process. */
  get hasRedis(): boolean {
    return this.parts.redis !== null;
  }

  get simulatorUrl(): string {
    return `http://127.0.0.1:${(this.parts.simulator.server.address() as AddressInfo).port}`;
  }

  get receiverUrl(): string {
    return this.parts.receiver.url;
  }

  /** What the programs delivered, as a sign that they did. */
  get delivered(): number {
    return this.parts.receiver.received.length;
  }

  /** All that a thief could copy by now; one text each. */
  async places(): Promise<Record<string, string>> {
    const metrics = await Promise.all(this.apps.map(async (app) => (await fetch(`${urlOf(app)}/metrics`)).text()));
    const queue = await this.redisContent();
    return { database: await this.dump(), redis: queue, logs: this.log.join(''), metrics: metrics.join('\n') };
  }

  redisContent(): Promise<string> {
    return this.parts.redis ? copyOfRedis(this.parts.redis) : Promise.resolve('');
  }

  /** By pg_dump where there is a server with its own tools. */
  private dump(): Promise<string> {
    const { packaged, database } = this.parts;
    return copyOfDatabase(database.adminUrl, packaged ? (findPackaged()?.bin ?? null) : null);
  }

  async stop(): Promise<void> {
    const { packaged, database, redis, register, simulator, receiver } = this.parts;
    const [gateway, relay] = this.apps;
    await relay?.get(LanesModule).end();
    await relay?.close();
    await gateway?.close();
    await Promise.all([register.close(), simulator.close(), receiver.stop(), redis?.kill()]);
    await database.drop();
    await packaged?.stop();
  }
}

function urlOf(app: NestFastifyApplication): string {
  return `http://127.0.0.1:${(app.getHttpServer().address() as AddressInfo).port}`;
}
