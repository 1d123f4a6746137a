import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { PrismaService } from '#database';
import { createFastifyNestApp } from '#http';
import { createLogger, Metrics, newId } from '#runtime';
import { freePorts } from '../../../../../../libs/runtime/src/testing/free-ports.js';
import { GatewayModule } from '../../../gateway.module.js';
import { hashAccessToken, newAccessToken } from '../../oauth/access-token.js';
import { hashClientSecret, newClientSecret } from '../../oauth/client-secret.js';
import { OperatorFixture } from '../../../operator/testing/operator-fixture.js';
import type { GatewaySettings } from '../../../settings.js';
import { SETTINGS_TOKEN } from '../../../tokens.js';
import { ForeignSigner, outgoing, type OutgoingRequest, type SignOptions } from './foreign-signer.js';
import type { SignatureAlgorithm } from '../signature-algorithms.js';

const logger = createLogger('gateway', 'error', { write: () => undefined });

export interface Reply {
  status: number;
  headers: IncomingHttpHeaders;
  /** Null when the answer has no JSON. */
  body: Record<string, unknown> | null;
}

export interface RigClient {
  id: string;
  secret: string;
  token: string;
}

/** Two gateways on one database. Both answer to the name `gateway.test`, the second also to its own address. */
export class SigningRig {
  private constructor(
    readonly fixture: OperatorFixture,
    private readonly secondApp: NestFastifyApplication,
    /** Base URLs. */
    readonly gateways: readonly [string, string],
  ) {}

  static async start(more: Partial<GatewaySettings> = {}): Promise<SigningRig> {
    const fixture = await OperatorFixture.start(more);
    const port = await freePorts(1);
    const settings = {
      ...fixture.app.get<GatewaySettings>(SETTINGS_TOKEN),
      PUBLIC_HOSTS: ['gateway.test', `127.0.0.1:${port}`],
    };
    const second = await createFastifyNestApp(GatewayModule.create(settings, logger, new Metrics('gateway')), {
      logger,
    });
    await second.listen(port, '127.0.0.1');
    return new SigningRig(fixture, second, [fixture.base, `http://127.0.0.1:${port}`]);
  }

  get prisma(): PrismaService {
    return this.fixture.prisma;
  }

  get second(): NestFastifyApplication {
    return this.secondApp;
  }

  async stop(): Promise<void> {
    await this.secondApp.close();
    await this.fixture.stop();
  }

  async createClient(
    scopes: string[] = ['clients:admin', 'devices:admin'],
    merchantId = this.fixture.merchantId,
  ): Promise<RigClient> {
    const id = newId('cli');
    const secret = newClientSecret();
    const { SECRETS_KEY } = this.fixture.app.get<GatewaySettings>(SETTINGS_TOKEN);
    const secretHash = new Uint8Array(hashClientSecret(secret, SECRETS_KEY));
    await this.prisma.oauthClient.create({ data: { id, merchantId, name: id, secretHash, scopes } });
    const token = newAccessToken();
    const tokenHash = new Uint8Array(hashAccessToken(token));
    const expiresAt = new Date(Date.now() + 3_600_000);
    await this.prisma.oauthToken.create({ data: { tokenHash, clientId: id, scopes, expiresAt } });
    return { id, secret, token };
  }

  /** Registers a key by the API, unsigned; null body fields are left out. */
  async registerKey(client: RigClient, body: Record<string, unknown>, by = client): Promise<Reply> {
    return this.send(this.asked(by, { target: `/v1/clients/${client.id}/keys`, body: JSON.stringify(body) }));
  }

  /** A pair of the client's, its public half known to the gateway. */
  async signerFor(client: RigClient, algorithm: SignatureAlgorithm = 'ed25519', by = client): Promise<ForeignSigner> {
    if (algorithm === 'hmac-sha256') {
      const { body } = await this.registerKey(client, { name: 'erp', algorithm }, by);
      return ForeignSigner.withSecret(body!['id'] as string, body!['secret'] as string);
    }
    const signer = ForeignSigner.create('not known yet', algorithm);
    const { body } = await this.registerKey(client, { name: 'erp', public_key: signer.publicPem }, by);
    return signer.named(body!['id'] as string);
  }

  /** A request of this client, unsigned. */
  asked(client: RigClient, more: Partial<OutgoingRequest> = {}): OutgoingRequest {
    return outgoing({ ...more, headers: { authorization: `Bearer ${client.token}`, ...more.headers } });
  }

  /** A write that needs nothing else than its permission. */
  newBranch(client: RigClient): OutgoingRequest {
    const body = JSON.stringify({ code: newId('evt').slice(4), name: 'Чай ☕' });
    return this.asked(client, { target: '/v1/branches', body });
  }

  async signed(request: OutgoingRequest, signer: ForeignSigner, options: SignOptions = {}): Promise<OutgoingRequest> {
    return { ...request, headers: await signer.sign(request, options) };
  }

  /** As it is, Host included. */
  send({ method, target, headers, body }: OutgoingRequest, gateway: 0 | 1 | string = 0): Promise<Reply> {
    const { hostname, port } = new URL(typeof gateway === 'string' ? gateway : this.gateways[gateway]);
    return new Promise((resolve, reject) => {
      const outgoingHeaders = { ...headers, ...(body !== '' && { 'content-length': Buffer.byteLength(body) }) };
      const request = httpRequest({ hostname, port, method, path: target, headers: outgoingHeaders }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString();
          const parsed = text === '' ? null : (JSON.parse(text) as Record<string, unknown>);
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body: parsed });
        });
      });
      request.on('error', reject);
      request.end(body);
    });
  }
}
