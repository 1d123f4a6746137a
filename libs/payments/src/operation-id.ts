import { createHash } from 'node:crypto';

/** Of our own making: no other system derives operation ids from it. */
const NAMESPACE = Buffer.from('6f0c2a1c5a4e4d0f9a3b7f1f64c1d2e8', 'hex');

/**
 * A UUID (version 5) that always is the same for the same parts: the key under which a provider recognises a repeated call.
 * Parts are divided by a separator that none of them holds.
 */
export function operationId(...parts: readonly string[]): string {
  const bytes = createHash('sha1').update(NAMESPACE).update(parts.join('\n')).digest().subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x50, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = bytes.toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export function isUuid(text: string): boolean {
  return UUID.test(text);
}
