import { createPublicKey, createSecretKey, type KeyObject } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { SalesDatabase, SIGNING_CHANGED_CHANNEL, signingSecretOwner, type DatabaseAddresses } from '#database';
import { type Logger } from '#runtime';
import { open, weaknessOf, type Keyring } from '#secrets';
import { NoticeReceiver } from '../../notice-receiver.js';
import { LOGGER, SETTINGS_TOKEN } from '../../tokens.js';
import { TrustedCache } from '../live/trusted-cache.js';
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

const HEARTBEAT_MS = 400;

/** A client that does not exist signs nothing: its token is about to be refused. */
const NO_SIGNING: ClientSigning = { policy: 'off', everHadKey: false, keys: new Map() };

/** The signing keys and policies of clients. A trigger notifies every gateway of a change, which works within a second (TrustedCache). */
@Injectable()
export class SigningKeys extends NoticeReceiver {
  private readonly cache: TrustedCache<string, ClientSigning>;

  constructor(
    private readonly prisma: SalesDatabase,
    @Inject(SETTINGS_TOKEN) private readonly settings: DatabaseAddresses & { SECRETS_KEY: Keyring },
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    super(
      settings,
      {
        channel: SIGNING_CHANGED_CHANNEL,
        heartbeatMs: HEARTBEAT_MS,
        onNotice: (clientId) => this.cache.forget(clientId),
        onListening: () => this.cache.forgetAll(),
      },
      logger,
    );
    this.cache = new TrustedCache(
      this.channel,
      (clientId) => clientId,
      async (clientId) => ({ value: await this.read(clientId), remainingMs: Infinity }),
    );
  }

  /** Rejects when the database cannot be asked. */
  async of(clientId: string): Promise<ClientSigning> {
    return (await this.cache.find(clientId)) ?? NO_SIGNING;
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
      const secret = open(secretSealed, signingSecretOwner(id), this.settings.SECRETS_KEY);
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
