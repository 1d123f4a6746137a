import { createPublicKey, createSecretKey, type KeyObject } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { OnApplicationBootstrap, OnApplicationShutdown } from '@nestjs/common';
import { ChannelListener, SIGNING_CHANGED_CHANNEL, signingSecretOwner, type SalesDatabase } from '#database';
import { type Logger } from '#runtime';
import { open, weaknessOf, type Keyring } from '#secrets';
import { isSignatureAlgorithm, type VerifyingKey } from './signature-algorithms.js';

export type SigningPolicy = 'auto' | 'off' | 'writes' | 'all';

/** What of a client must be signed, and with what. */
export interface ClientSigning {
  policy: SigningPolicy;
  /** A signing key was registered once, perhaps none is active any more. */
  everHadKey: boolean;
  /** Active signing keys by id. */
  keys: ReadonlyMap<string, VerifyingKey>;
}

interface KeyRow {
  policy: SigningPolicy;
  everHadKey: boolean;
  /** Null when the client has no active signing key. */
  id: string | null;
  algorithm: string;
  publicKey: string | null;
  secretSealed: Uint8Array | null;
}

interface CachedSigning {
  signing: ClientSigning;
  /** By this process's monotonic clock. */
  readAtMs: number;
}

interface Lookup {
  begunAtMs: number;
  signing: Promise<ClientSigning>;
}

/** As for tokens (oauth/access-tokens.ts): a cached entry may be this old as far as this process can know. */
const TRUST_MS = 900;
const HEARTBEAT_MS = 400;
/** Even when every notice is received a client's keys are read this often. */
const CACHE_MS = 5_000;
const CACHE_ENTRIES = 10_000;

/** A client that does not exist signs nothing: its token is about to be refused. */
const NO_SIGNING: ClientSigning = { policy: 'off', everHadKey: false, keys: new Map() };

/**
 * The signing keys and policies of clients, cached for seconds. A trigger notifies every gateway of a change, which works
 * within a second; while this process cannot prove that it received every notice, also because the connection for notices only
 * seems well, it reads again after less than one.
 */
export class SigningKeys implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly cache = new LRUCache<string, CachedSigning>({ max: CACHE_ENTRIES, ttl: CACHE_MS });
  private readonly underWay = new Map<string, Lookup>();
  private readonly channel: ChannelListener;
  /** Grows with each notice: what was read before it must not be cached after it. */
  private generation = 0;

  constructor(
    private readonly prisma: SalesDatabase,
    private readonly options: { databaseUrl: string; keyring: Keyring },
    private readonly logger: Logger,
  ) {
    const { databaseUrl } = options;
    this.channel = new ChannelListener(
      {
        ...{ databaseUrl, applicationName: 'gateway-listen', channel: SIGNING_CHANGED_CHANNEL },
        heartbeatMs: HEARTBEAT_MS,
        onNotice: (clientId) => this.forget(clientId),
        onListening: () => this.forgetAll(),
      },
      logger,
    );
  }

  onApplicationBootstrap(): void {
    this.channel.start();
  }

  onApplicationShutdown(): Promise<void> {
    return this.channel.stop();
  }

  /** Rejects when the database cannot be asked. */
  async of(clientId: string): Promise<ClientSigning> {
    const known = this.cache.get(clientId);
    const oldest = performance.now() - TRUST_MS;
    if (known && (known.readAtMs >= oldest || this.channel.deliveredUntilMs >= oldest)) return known.signing;
    // Requests that arrive together share one query; behind one that hangs (a dead connection that seems well) none waits.
    const running = this.underWay.get(clientId);
    return running && running.begunAtMs >= oldest ? running.signing : this.startLookup(clientId);
  }

  private startLookup(clientId: string): Promise<ClientSigning> {
    const begunAtMs = performance.now();
    const signing = this.readAndRemember(clientId).finally(() => {
      if (this.underWay.get(clientId)?.signing === signing) this.underWay.delete(clientId);
    });
    this.underWay.set(clientId, { begunAtMs, signing });
    return signing;
  }

  private forget(clientId: string): void {
    this.generation += 1;
    this.underWay.delete(clientId);
    this.cache.delete(clientId);
  }

  private forgetAll(): void {
    this.generation += 1;
    this.underWay.clear();
    this.cache.clear();
  }

  private async readAndRemember(clientId: string): Promise<ClientSigning> {
    const { generation } = this;
    // From before the question on: what was written while it was answered may be missing in it.
    const readAtMs = performance.now();
    const signing = await this.read(clientId);
    if (generation === this.generation) this.cache.set(clientId, { signing, readAtMs });
    return signing;
  }

  private async read(clientId: string): Promise<ClientSigning> {
    const rows = await this.prisma.$queryRaw<KeyRow[]>`
      SELECT c.signing_policy::text AS policy, k.id, k.algorithm, k.public_key AS "publicKey",
             k.secret_sealed AS "secretSealed",
             EXISTS (SELECT FROM client_keys WHERE client_id = c.id AND use = 'signing') AS "everHadKey"
        FROM oauth_clients c
        LEFT JOIN client_keys k ON k.client_id = c.id AND k.use = 'signing' AND k.disabled_at IS NULL
       WHERE c.id = ${clientId}`;
    const [first] = rows;
    if (!first) return NO_SIGNING;
    const keys = new Map<string, VerifyingKey>();
    for (const row of rows) {
      const key = this.verifyingKey(row);
      if (row.id !== null && key) keys.set(row.id, key);
    }
    return { policy: first.policy, everHadKey: first.everHadKey, keys };
  }

  /** One row that cannot be used (its SECRETS_KEY is gone) verifies nothing, and does not take its neighbours along. */
  private verifyingKey({ id, algorithm, publicKey, secretSealed }: KeyRow): VerifyingKey | null {
    if (id === null || !isSignatureAlgorithm(algorithm)) return null;
    try {
      if (publicKey !== null) return { algorithm, key: provingKey(publicKey) };
      if (secretSealed === null) return null;
      const secret = open(secretSealed, signingSecretOwner(id), this.options.keyring);
      return { algorithm, key: createSecretKey(Buffer.from(secret)) };
    } catch (error) {
      this.logger.error({ err: error, keyId: id }, 'a signing key cannot be used');
      return null;
    }
  }
}

/** @throws Error for a key that was registered before weak ones were refused */
function provingKey(pem: string): KeyObject {
  const key = createPublicKey(pem);
  const weakness = weaknessOf(key);
  if (weakness !== null) throw new Error(`the key proves nothing: ${weakness}`);
  return key;
}
