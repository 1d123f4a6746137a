import { createHash, createPublicKey, randomBytes, sign, verify, type KeyObject } from 'node:crypto';
import { LINK_PROTOCOL, type Json } from './frames.js';

/** The relay's first word: sign this, for this relay alone. */
export interface Challenge {
  type: 'challenge';
  /** Host under which registers dial this relay. */
  relay: string;
  /** 32 random bytes in base64url, used once. */
  nonce: string;
}

/** Who the register is, proven by its key. With `code` it leaves that key: the first time. */
export interface Hello {
  type: 'hello';
  deviceId: string;
  /** Ed25519, raw 32 bytes in base64url. */
  publicKey: string;
  signature: string;
  code?: string;
  /** It passes `traceparent` on. An older one refuses a call with a header that it does not know. */
  takesTrace?: boolean;
}

export const REFUSALS = [
  /** The answer to the challenge does not fit the key, or is meant for another relay. */
  'signature_wrong',
  'key_unknown',
  'key_revoked',
  /** Missing, of another register, or replaced by a newer one. */
  'code_unknown',
  'code_used',
  'code_expired',
  /** This key belongs to another register, or was revoked: enrol with a fresh one. */
  'key_taken',
  /** Deleted, or not reached by a link. */
  'device_unknown',
  'device_disabled',
  'busy',
] as const;
export type LinkRefusal = (typeof REFUSALS)[number];

export type Verdict =
  | { type: 'accepted'; epoch: string; heartbeatMs: number }
  | { type: 'refused'; reason: LinkRefusal };

const NONCE_BYTES = 32;
const KEY_BYTES = 32;
const SIGNATURE_BYTES = 64;

export function newChallenge(relay: string): Challenge {
  return { type: 'challenge', relay, nonce: randomBytes(NONCE_BYTES).toString('base64url') };
}

/** Host and port of a link's URL, as both ends name the relay. The default port is left out. */
export function relayIdentityOf(linkUrl: string): string {
  return new URL(linkUrl).host;
}

export interface HelloOptions {
  deviceId: string;
  privateKey: KeyObject;
  code?: string | undefined;
}

export function answerChallenge(challenge: Challenge, { deviceId, privateKey, code }: HelloOptions): Hello {
  const hello = {
    type: 'hello' as const,
    deviceId,
    publicKey: rawPublicKeyOf(privateKey),
    ...(code && { code }),
    takesTrace: true,
  };
  return { ...hello, signature: sign(null, signedText(challenge, hello), privateKey).toString('base64url') };
}

/** Whether the hello answers this very challenge; false for anything odd. */
export function isAnswerTo(challenge: Challenge, hello: Hello): boolean {
  const signature = Buffer.from(hello.signature, 'base64url');
  if (signature.length !== SIGNATURE_BYTES || !decodePublicKey(hello)) return false;
  try {
    const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: hello.publicKey }, format: 'jwk' });
    return verify(null, signedText(challenge, hello), key, signature);
  } catch {
    // 32 bytes that are no point of the curve: fails closed.
    return false;
  }
}

/** The raw key; null when it is none. */
export function decodePublicKey({ publicKey }: { publicKey: string }): Buffer | null {
  const bytes = Buffer.from(publicKey, 'base64url');
  return bytes.length === KEY_BYTES && bytes.toString('base64url') === publicKey ? bytes : null;
}

export function readChallenge(header: Json): Challenge | null {
  const { type, relay, nonce } = header;
  return type === 'challenge' && typeof relay === 'string' && typeof nonce === 'string' ? { type, relay, nonce } : null;
}

export function readHello(header: Json): Hello | null {
  const { type, deviceId, publicKey, signature, code, takesTrace } = header;
  if (type !== 'hello' || typeof deviceId !== 'string' || !/^dev_[0-9a-z]{26}$/.test(deviceId)) return null;
  if (typeof publicKey !== 'string' || typeof signature !== 'string') return null;
  if (code !== undefined && typeof code !== 'string') return null;
  const more = { ...(code !== undefined && { code }), ...(takesTrace === true && { takesTrace }) };
  return { type, deviceId, publicKey, signature, ...more };
}

export function readVerdict(header: Json): Verdict | null {
  const { type, epoch, heartbeatMs, reason } = header;
  if (type === 'accepted' && typeof epoch === 'string' && typeof heartbeatMs === 'number') {
    return { type, epoch, heartbeatMs };
  }
  const refusal = REFUSALS.find((one) => one === reason);
  return type === 'refused' && refusal ? { type, reason: refusal } : null;
}

/** The relay's name is in it, so that a relay in the middle cannot pass the signature on to the real one. */
function signedText({ relay, nonce }: Challenge, { deviceId, code }: Omit<Hello, 'signature'>): Buffer {
  const codeHash = code === undefined ? '' : createHash('sha256').update(code).digest('hex');
  return Buffer.from([LINK_PROTOCOL, relay, deviceId, nonce, codeHash].join('\n'));
}

function rawPublicKeyOf(privateKey: KeyObject): string {
  const { x } = createPublicKey(privateKey).export({ format: 'jwk' });
  if (typeof x !== 'string') throw new TypeError('not an Ed25519 key');
  return x;
}
