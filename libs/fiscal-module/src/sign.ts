import { createHash, createHmac, type KeyObject } from 'node:crypto';

/** What the first document and the first Z-report have in place of a predecessor's digest. */
export const NO_DIGEST = '0'.repeat(64);
const SIGN_SPACE = 10n ** 12n;

/** SHA-256, hex, of a canonical payload. The payload names its predecessor's digest: that makes the chain. */
export function digestOf(payload: string): string {
  return createHash('sha256').update(payload).digest('hex');
}

/** The 12-digit fiscal sign: a keyed digest over the document and the sign before it. */
export function signOf(key: KeyObject, digest: string, previousSign: string): string {
  const mac = createHmac('sha256', key).update(`${previousSign}|${digest}`).digest();
  return (mac.readBigUInt64BE(0) % SIGN_SPACE).toString().padStart(12, '0');
}
