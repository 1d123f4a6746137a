import { Inject, Injectable } from '@nestjs/common';
import { signingSecretOwner } from '#database';
import { Problem, type ProblemError } from '#problems';
import { newId } from '#runtime';
import { seal, weaknessOfNewKey } from '#secrets';
import { AuditedChange } from '../../audit/audited-change.js';
import { callerOf, type Administrator } from '../clients/client-administrator.js';
import { lockClient } from '../clients/lock-client.js';
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

interface Material {
  algorithm: KeyAlgorithm;
  /** SPKI, PEM. */
  publicKey: string | null;
  secret: string | null;
}

/** POST /v1/clients/{id}/keys. Works at once on every gateway: the trigger of client_keys notifies them. */
@Injectable()
export class CreateClientKey {
  constructor(
    private readonly changes: AuditedChange,
    @Inject(SETTINGS_TOKEN) private readonly settings: Pick<GatewaySettings, 'SECRETS_KEY'>,
  ) {}

  /** @throws Problem 404; 403 scope_not_held; 422 for a key that cannot be used, and for too many */
  async execute(administrator: Administrator, clientId: string, body: ClientKeyBody): Promise<NewClientKeyView> {
    const { name, use = 'signing' } = body;
    const { algorithm, publicKey, secret } = materialOf(body);
    const id = newId('key');
    const secretSealed = secret === null ? null : sealed(secret, id, this.settings);
    const view = await this.changes.execute(callerOf(administrator), async (tx) => {
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
}

/** @throws Problem 422 */
function materialOf(body: ClientKeyBody): Material {
  const { use = 'signing', algorithm, public_key: text } = body;
  if (algorithm === HMAC_ALGORITHM) {
    if (use !== 'signing') throw fault('/algorithm', 'hmac-sha256 is for signing alone', 'invalid_value');
    if (text !== undefined) throw fault('/public_key', 'an hmac-sha256 key has no public key', 'invalid_value');
    return { algorithm, publicKey: null, secret: newOpaqueSecret(SECRET_PREFIX) };
  }
  if (text === undefined) throw fault('/public_key', 'public_key is required', 'required');
  const reading = readPublicKey(text);
  if (reading.kind === 'unusable') throw fault('/public_key', reading.detail, 'invalid_value');
  const possible = algorithmsOf(reading.key, use);
  const [usual] = possible;
  if (!usual) {
    throw fault('/public_key', 'the key must be Ed25519, EC P-256 or RSA of 2048 to 4096 bits', 'invalid_value');
  }
  const weakness = weaknessOfNewKey(reading.key);
  if (weakness !== null) throw fault('/public_key', `the key proves nothing: ${weakness}`, 'weak_key');
  if (algorithm !== undefined && !possible.includes(algorithm)) {
    throw fault('/algorithm', `this key works for ${use} with ${possible.join(' or ')}`, 'invalid_value');
  }
  const publicKey = reading.key.export({ type: 'spki', format: 'pem' }).toString();
  return { algorithm: algorithm ?? usual, publicKey, secret: null };
}

function sealed(
  secret: string,
  id: string,
  { SECRETS_KEY }: Pick<GatewaySettings, 'SECRETS_KEY'>,
): Uint8Array<ArrayBuffer> {
  return new Uint8Array(seal(secret, signingSecretOwner(id), SECRETS_KEY));
}

function fault(pointer: ProblemError['pointer'], detail: string, code: string): Problem {
  return Problem.fromErrors([{ pointer, code, detail }]);
}
