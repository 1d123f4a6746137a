import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { decodeBytes } from '#runtime';

/** Key-encryption keys by id. New values are sealed with `active`; the others only open what they once sealed. */
export interface Keyring {
  readonly active: string;
  readonly keys: ReadonlyMap<string, Buffer>;
}

/** The sealed value is damaged, belongs to another row, or its key is not in the ring. */
export class EnvelopeError extends Error {
  override readonly name = 'EnvelopeError';
}

const VERSION = 1;
const KEY_BYTES = 32;
const IV_BYTES = 12;
const TAG_BYTES = 16;
const WRAPPED_BYTES = IV_BYTES + KEY_BYTES + TAG_BYTES;

/**
 * Reads `SECRETS_KEY`: `id:key[,id:key…]`, each key 32 bytes in base64 or hex, the first one active. A bare key has
 * the id `1`.
 * @throws Error whose message completes "SECRETS_KEY must be …" and repeats no key
 */
export function parseKeyring(text: string): Keyring {
  const keys = new Map<string, Buffer>();
  for (const entry of text.split(',')) {
    const colon = entry.indexOf(':');
    const id = colon < 0 ? '1' : entry.slice(0, colon).trim();
    const key = decodeBytes(entry.slice(colon + 1).trim(), KEY_BYTES);
    if (!/^[A-Za-z0-9_-]{1,32}$/.test(id) || !key || keys.has(id)) {
      throw new Error('32 bytes in base64 or hex, or a list id:key,id:key of such with different ids');
    }
    keys.set(id, key);
  }
  const [active = ''] = keys.keys();
  return { active, keys };
}

/**
 * Encrypts with AES-256-GCM under a random data key, which is wrapped by the ring's active key.
 * @param aad who the value belongs to, e.g. `devices|dev_01…|api_key_sealed`: it opens nowhere else
 *
 * Layout: version, length of key id, key id, wrapped data key (iv, key, tag), iv, ciphertext, tag.
 */
export function seal(plaintext: string, aad: string, keyring: Keyring): Buffer {
  const header = headerOf(keyring.active);
  const dataKey = randomBytes(KEY_BYTES);
  const bound = Buffer.concat([header, Buffer.from(aad)]);
  const wrapped = encrypt(dataKey, keyOf(keyring, keyring.active), bound);
  const sealed = encrypt(Buffer.from(plaintext), dataKey, bound);
  return Buffer.concat([header, wrapped, sealed]);
}

/** @throws EnvelopeError when the value cannot be opened; never answers something else than what was sealed */
export function open(sealed: Uint8Array, aad: string, keyring: Keyring): string {
  const blob = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength);
  const idLength = blob[1] ?? 0;
  const headerLength = 2 + idLength;
  if (blob[0] !== VERSION || blob.length < headerLength + WRAPPED_BYTES + IV_BYTES + TAG_BYTES) {
    throw new EnvelopeError('not a sealed value');
  }
  const header = blob.subarray(0, headerLength);
  const keyId = header.subarray(2).toString('latin1');
  const bound = Buffer.concat([header, Buffer.from(aad)]);
  const body = blob.subarray(headerLength);
  const dataKey = decrypt(body.subarray(0, WRAPPED_BYTES), keyOf(keyring, keyId), bound);
  return decrypt(body.subarray(WRAPPED_BYTES), dataKey, bound).toString('utf8');
}

/** Id of the key that a value is sealed with; null when it is no sealed value. */
export function sealedWith(sealed: Uint8Array): string | null {
  const idLength = sealed[1] ?? 0;
  if (sealed[0] !== VERSION || idLength === 0 || sealed.length < 2 + idLength) return null;
  return Buffer.from(sealed.subarray(2, 2 + idLength)).toString('latin1');
}

/** A key for one purpose, derived from the key with this id (the active one unless given) by HKDF-SHA-256. */
export function deriveKey(keyring: Keyring, purpose: string, keyId: string = keyring.active): Buffer {
  return Buffer.from(hkdfSync('sha256', keyOf(keyring, keyId), '', `fiscal-gateway|${purpose}`, KEY_BYTES));
}

function headerOf(keyId: string): Buffer {
  return Buffer.concat([Buffer.from([VERSION, keyId.length]), Buffer.from(keyId, 'latin1')]);
}

function keyOf(keyring: Keyring, id: string): Buffer {
  const key = keyring.keys.get(id);
  if (!key) throw new EnvelopeError(`SECRETS_KEY holds no key with the id ${JSON.stringify(id)}`);
  return key;
}

function encrypt(plain: Buffer, key: Buffer, aad: Buffer): Buffer {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, iv, { authTagLength: TAG_BYTES }).setAAD(aad);
  const body = Buffer.concat([cipher.update(plain), cipher.final()]);
  return Buffer.concat([iv, body, cipher.getAuthTag()]);
}

function decrypt(sealed: Buffer, key: Buffer, aad: Buffer): Buffer {
  const iv = sealed.subarray(0, IV_BYTES);
  const tag = sealed.subarray(sealed.length - TAG_BYTES);
  // The tag's length is fixed: Node 20 would else accept one cut to 4 bytes.
  const decipher = createDecipheriv('aes-256-gcm', key, iv, { authTagLength: TAG_BYTES }).setAAD(aad).setAuthTag(tag);
  try {
    return Buffer.concat([decipher.update(sealed.subarray(IV_BYTES, sealed.length - TAG_BYTES)), decipher.final()]);
  } catch (error) {
    throw new EnvelopeError('the sealed value is damaged or belongs to another row', { cause: error });
  }
}
