import { createHash, generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto';
import { PrismaService } from '#database';
import { newId } from '#runtime';

export interface PresignedRequest {
  path: string;
  body: string;
  headers: Record<string, string>;
}

const COMPONENTS = ['@method', '@authority', '@path', '@query', 'content-type', 'content-digest', 'authorization'];

/** A client that signs with Ed25519. Requests are signed before a measurement, so that it does not measure signing. */
export class BenchSigner {
  private constructor(
    private readonly key: KeyObject,
    private readonly keyId: string,
    private readonly token: string,
  ) {}

  /** Registers a new key for the client, as the keys API does. */
  static async register(databaseUrl: string, clientId: string, token: string): Promise<BenchSigner> {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519');
    const prisma = new PrismaService({
      ...{ url: databaseUrl, poolSize: 1, applicationName: 'bench-seed', lockTimeoutMs: 5_000 },
    });
    try {
      const id = newId('key');
      const pem = publicKey.export({ type: 'spki', format: 'pem' }).toString();
      await prisma.clientKey.create({
        data: { id, clientId, use: 'signing', algorithm: 'ed25519', publicKey: pem, name: 'bench' },
      });
      return new BenchSigner(privateKey, id, token);
    } finally {
      await prisma.$disconnect();
    }
  }

  /** A POST to the host, good for five minutes and for one use. */
  sign(host: string, path: string, body: string): PresignedRequest {
    const authorization = `Bearer ${this.token}`;
    const digest = `sha-256=:${createHash('sha256').update(body).digest('base64')}:`;
    const values = ['POST', host, path, '?', 'application/json', digest, authorization];
    const created = Math.floor(Date.now() / 1_000);
    const params =
      `(${COMPONENTS.map((name) => `"${name}"`).join(' ')});created=${created};expires=${created + 300}` +
      `;nonce="${randomBytes(16).toString('base64url')}";keyid="${this.keyId}";alg="ed25519";tag="fgw-v1"`;
    const lines = COMPONENTS.map((name, at) => `"${name}": ${values[at] ?? ''}`);
    const base = [...lines, `"@signature-params": ${params}`].join('\n');
    const signature = sign(null, Buffer.from(base), this.key).toString('base64');
    const headers = {
      ...{ host, authorization, 'content-type': 'application/json', 'content-digest': digest },
      ...{ 'signature-input': `fgw=${params}`, signature: `fgw=:${signature}:`, prefer: 'respond-async' },
    };
    return { path, body, headers };
  }
}
