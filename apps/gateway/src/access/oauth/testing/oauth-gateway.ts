import { randomBytes } from 'node:crypto';
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Controller, Get, Global, Module, type Type } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { PrismaService, SalesDatabase } from '#database';
import { createTestDatabase, type TestDatabase } from '#database/testing';
import { createFastifyNestApp } from '#http';
import { type Cidr } from '#outgoing';
import { createLogger, Metrics, newId } from '#runtime';
import { parseKeyring } from '#secrets';
import { CurrentClient, type AuthenticatedClient } from '../../../http/current-client.js';
import { Scopes } from '../../../http/scopes.js';
import type { Rate } from '../../../http/rate.js';
import { testGatewaySettings } from '../../../testing/gateway-settings.js';
import { LOGGER, SETTINGS_TOKEN } from '../../../tokens.js';
import { hashAccessToken, newAccessToken } from '../access-token.js';
import { hashClientSecret, newClientSecret } from '../client-secret.js';
import { AccessModule } from '../../access.module.js';

export const keyring = parseKeyring(randomBytes(32).toString('base64'));

/** `GET /v1/mine`: who asks. */
@Controller('v1')
class SampleController {
  @Get('mine')
  @Scopes('receipts:read')
  mine(@CurrentClient() client: AuthenticatedClient): AuthenticatedClient {
    return client;
  }
}

export interface OauthGatewaySettings {
  /** Where to listen; default 127.0.0.1, any port. */
  host?: string;
  port?: number;
  /** Default: where it listens, if the port was given. */
  publicUrl?: string;
  trusted?: readonly Cidr[];
  addressLimit?: Rate;
  clientLimit?: Rate;
  failedLoginLimit?: Rate;
  failedTokenLimit?: Rate;
  tokenLimit?: Rate;
  queueUrl?: string;
  /** Default: that of `database`. */
  databaseUrl?: string;
  /** Beside the sample route. */
  controllers?: readonly Type[];
  /** Gets every line of the log from `debug` on. */
  log?: (line: string) => void;
}

export interface RawRequest {
  /** An address of this machine; default 127.0.0.1. */
  from?: string;
  /** Names and values in turn. */
  headers?: readonly string[];
  /** Posted; without it the request is a GET. */
  form?: Record<string, string>;
}

export interface RawAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  body: Record<string, unknown>;
}

/** Token endpoint, guard and limits of the gateway before one sample route: no receipts, no queue. */
export class OauthGateway {
  private constructor(
    readonly app: NestFastifyApplication,
    readonly prisma: PrismaService,
    readonly url: string,
  ) {}

  static async start(database: TestDatabase, settings: OauthGatewaySettings = {}): Promise<OauthGateway> {
    const { host = '127.0.0.1', port = 0, trusted = [], controllers = [] } = settings;
    const { publicUrl = `http://127.0.0.1:${String(port)}`, databaseUrl = database.url, log } = settings;
    const logger = createLogger('gateway', log ? 'debug' : 'error', { write: log ?? (() => undefined) });

    @Global()
    @Module({
      providers: [
        {
          provide: SETTINGS_TOKEN,
          useValue: {
            ...testGatewaySettings({ url: databaseUrl }),
            ...{
              SECRETS_KEY: keyring,
              DATABASE_URL: databaseUrl,
              PUBLIC_URL: publicUrl,
              QUEUE_URL: settings.queueUrl,
            },
            PUBLIC_HOSTS: [],
            ...{ ADDRESS_LIMIT: settings.addressLimit ?? null, CLIENT_LIMIT: settings.clientLimit ?? null },
            FAILED_LOGIN_LIMIT: settings.failedLoginLimit ?? null,
            FAILED_TOKEN_LIMIT: settings.failedTokenLimit ?? null,
            TOKEN_LIMIT: settings.tokenLimit ?? null,
          },
        },
        { provide: LOGGER, useValue: logger },
        { provide: Metrics, useValue: new Metrics('gateway') },
        {
          provide: PrismaService,
          useFactory: () =>
            new PrismaService({ url: databaseUrl, poolSize: 3, applicationName: 'oauth-test', lockTimeoutMs: 60_000 }),
        },
        { provide: SalesDatabase, useExisting: PrismaService },
      ],
      exports: [SETTINGS_TOKEN, LOGGER, Metrics, PrismaService, SalesDatabase],
    })
    class SharedModule {}

    @Module({ imports: [SharedModule, AccessModule], controllers: [SampleController, ...controllers] })
    class TestModule {}

    const app = await createFastifyNestApp(TestModule, { logger, trustedProxies: trusted });
    await app.listen(port, host);
    const address = app.getHttpServer().address() as AddressInfo;
    return new OauthGateway(app, app.get(PrismaService), `http://127.0.0.1:${String(address.port)}`);
  }

  stop(): Promise<void> {
    return this.app.close();
  }

  async createMerchant(): Promise<string> {
    const id = newId('mer');
    await this.prisma.merchant.create({ data: { id, code: id, name: 'M', tin: '300000000' } });
    return id;
  }

  /** @param more `allowedCidrs` null: from anywhere */
  async createClient(
    merchantId: string,
    more: { allowedCidrs?: string[] | null; scopes?: string[]; requireIdempotencyKey?: boolean } = {},
  ): Promise<{ id: string; secret: string; token: string }> {
    const { allowedCidrs = null, scopes = ['receipts:read', 'catalog:read'], requireIdempotencyKey } = more;
    const id = newId('cli');
    const secret = newClientSecret();
    await this.prisma.oauthClient.create({
      data: {
        ...{ id, merchantId, name: id, secretHash: new Uint8Array(hashClientSecret(secret, keyring)), scopes },
        ...{ ipPolicy: allowedCidrs === null ? 'any' : 'listed', allowedCidrs: allowedCidrs ?? [] },
        requireIdempotencyKey,
      },
    });
    return { id, secret, token: await this.createToken(id) };
  }

  /** With all scopes of the client. */
  async createToken(clientId: string): Promise<string> {
    const { scopes } = await this.prisma.oauthClient.findUniqueOrThrow({ where: { id: clientId } });
    const token = newAccessToken();
    const tokenHash = new Uint8Array(hashAccessToken(token));
    const expiresAt = new Date(Date.now() + 900_000);
    await this.prisma.oauthToken.create({ data: { tokenHash, clientId, scopes, expiresAt } });
    return token;
  }

  /** From an address of this machine of one's choice, with headers as they are, also repeated ones. */
  ask(path: string, { from = '127.0.0.1', headers = [], form }: RawRequest = {}): Promise<RawAnswer> {
    return new Promise((resolve, reject) => {
      const type = form === undefined ? [] : ['content-type', 'application/x-www-form-urlencoded'];
      const options = {
        ...{ method: form === undefined ? 'GET' : 'POST', localAddress: from, agent: false },
        headers: ['host', 'x', ...type, ...headers] as never,
      };
      // Over the same family: a peer of ::1 is no IPv4 one.
      const base = from.includes(':') ? this.url.replace('127.0.0.1', '[::1]') : this.url;
      const call = httpRequest(`${base}${path}`, options, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        response.on('end', () => {
          const body = (text === '' ? {} : JSON.parse(text)) as Record<string, unknown>;
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body });
        });
      });
      call.on('error', reject).end(form === undefined ? undefined : new URLSearchParams(form).toString());
    });
  }

  /** The sample route with a token. */
  mine(token: string, more: RawRequest = {}): Promise<RawAnswer> {
    return this.ask('/v1/mine', { ...more, headers: ['authorization', `Bearer ${token}`, ...(more.headers ?? [])] });
  }
}

/** For a test file: a database, and gateways on it that end with the test that started them. */
export function gatewaysOfEachTest(): (settings: OauthGatewaySettings) => Promise<OauthGateway> {
  let database: TestDatabase;
  const open: OauthGateway[] = [];
  beforeAll(async () => {
    database = await createTestDatabase();
  }, 60_000);
  afterEach(async () => {
    while (open.length > 0) await open.pop()?.stop();
  });
  afterAll(() => database.drop());
  return async (settings) => {
    const gateway = await OauthGateway.start(database, settings);
    open.push(gateway);
    return gateway;
  };
}
