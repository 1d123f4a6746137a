import type { KeyObject } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { PrismaService, signingSecretOwner } from '#database';
import { Problem } from '#problems';
import { FairSlots, newId, type FairSlotsOptions } from '#runtime';
import { seal, weaknessOfNewKey } from '#secrets';
import { AuditedChange } from '../../audit/audited-change.js';
import { type Administrator } from '../clients/client-administrator.js';
import { changeableClient, lockClient } from '../clients/lock-client.js';
import { newOpaqueSecret } from '../oauth/base62.js';
import type { GatewaySettings } from '../../settings.js';
import { SETTINGS_TOKEN } from '../../tokens.js';
import type { ClientKeyBody } from './client-key-bodies.js';
import { clientKeyView, type NewClientKeyView } from './client-key-view.js';
import { algorithmsOf, HMAC_ALGORITHM, type KeyAlgorithm } from './key-algorithms.js';
import { readPublicKey } from './public-key.js';

const SECRET_PREFIX = 'fgw_sk_';
/** Two are enough to change keys without a pause; more are for several programs under one client. */
const MAX_ACTIVE = 10;
/** Keys that are examined at the same time, by merchant: each may cost seconds of one of the process's few threads. */
const EXAMINATIONS: FairSlotsOptions = { total: 1, reserved: 0, waitingPerKey: 8, waiting: 64 };

interface Material {
  algorithm: KeyAlgorithm;
  /** To be examined; null: drawn here. */
  key: KeyObject | null;
  /** SPKI, PEM. */
  publicKey: string | null;
  secret: string | null;
}

/** POST /v1/clients/{id}/keys. Works at once on every gateway: the trigger of client_keys notifies them. */
@Injectable()
export class CreateClientKey {
  private readonly examinations = new FairSlots(EXAMINATIONS);

  constructor(
    private readonly prisma: PrismaService,
    private readonly changes: AuditedChange,
    @Inject(SETTINGS_TOKEN) private readonly settings: Pick<GatewaySettings, 'SECRETS_KEY'>,
  ) {}

  /** @throws Problem 404; 403 scope_not_held; 422 for a key that cannot be used, and for too many; 429 */
  async execute(administrator: Administrator, clientId: string, body: ClientKeyBody): Promise<NewClientKeyView> {
    const { name, use = 'signing' } = body;
    const { algorithm, key, publicKey, secret } = materialOf(body);
    if (key !== null) {
      await changeableClient(this.prisma, administrator, clientId);
      await this.refuseWeak(administrator.merchantId, key);
    }
    const id = newId('key');
    const secretSealed = secret === null ? null : sealed(secret, id, this.settings);
    const view = await this.changes.execute(administrator, async (tx) => {
      await lockClient(tx, administrator, clientId);
      const active = await tx.clientKey.count({ where: { clientId, use, disabledAt: null } });
      if (active >= MAX_ACTIVE) {
        throw new Problem('too_many', `The client has ${active} active keys for ${use}: disable one first.`);
      }
      const row = await tx.clientKey.create({
        data: { id, clientId, use, algorithm, publicKey, secretSealed, name },
      });
      const result = clientKeyView(row);
      return { result, action: 'client_key.create', targetId: clientId, before: null, after: result };
    });
    return secret === null ? view : { ...view, secret };
  }

  /** @throws Problem 422 weak_key; 429 too_many_requests */
  private async refuseWeak(merchantId: string, key: KeyObject): Promise<void> {
    const weakness = await this.examinations.run(
      merchantId,
      () => weaknessOfNewKey(key),
      () => new Problem('too_many_requests', 'Too many keys are examined at this moment.', { retryAfterSeconds: 2 }),
    );
    if (weakness !== null) throw Problem.at('/public_key', 'weak_key', `the key proves nothing: ${weakness}`);
  }
}

/** @throws Problem 422 */
function materialOf(body: ClientKeyBody): Material {
  const { use = 'signing', algorithm, public_key: text } = body;
  if (algorithm === HMAC_ALGORITHM) {
    if (use !== 'signing') throw Problem.at('/algorithm', 'invalid_value', 'hmac-sha256 is for signing alone');
    if (text !== undefined) throw Problem.at('/public_key', 'invalid_value', 'an hmac-sha256 key has no public key');
    return { algorithm, key: null, publicKey: null, secret: newOpaqueSecret(SECRET_PREFIX) };
  }
  if (text === undefined) throw Problem.at('/public_key', 'required', 'public_key is required');
  const reading = readPublicKey(text);
  if (reading.kind === 'unusable') throw Problem.at('/public_key', 'invalid_value', reading.detail);
  const possible = algorithmsOf(reading.key, use);
  const [usual] = possible;
  if (!usual) {
    throw Problem.at('/public_key', 'invalid_value', 'the key must be Ed25519, EC P-256 or RSA of 2048 to 4096 bits');
  }
  if (algorithm !== undefined && !possible.includes(algorithm)) {
    throw Problem.at('/algorithm', 'invalid_value', `this key works for ${use} with ${possible.join(' or ')}`);
  }
  const publicKey = reading.key.export({ type: 'spki', format: 'pem' }).toString();
  return { algorithm: algorithm ?? usual, key: reading.key, publicKey, secret: null };
}

function sealed(
  secret: string,
  id: string,
  { SECRETS_KEY }: Pick<GatewaySettings, 'SECRETS_KEY'>,
): Uint8Array<ArrayBuffer> {
  return new Uint8Array(seal(secret, signingSecretOwner(id), SECRETS_KEY));
}
