import { createHash } from 'node:crypto';
import { isSameHex } from '../same-hex.js';

/** The fields of a notification that its signature covers: not the sums. */
export interface OctoSigned {
  uuid: string;
  status: string;
  hashKey: string;
}

/** How a shop's notifications are signed: the documents say `nested`; other clients were seen with `flat`. */
export type OctoSignature = { kind: 'nested'; secret: string } | { kind: 'flat'; uniqueKey: string };

/** `sha1(sha1(secret, hash_key), uuid, status)`, or `sha1(unique_key, uuid, status)`; letters may come in either case. */
export function octoSignatures(signed: OctoSigned, by: OctoSignature): string[] {
  if (by.kind === 'flat') return [sha1(`${by.uniqueKey}${signed.uuid}${signed.status}`)];
  const inner = sha1(`${by.secret}${signed.hashKey}`);
  const rest = `${signed.uuid}${signed.status}`;
  // In which case the inner hash goes into the outer one is not said.
  return [sha1(`${inner}${rest}`), sha1(`${inner.toUpperCase()}${rest}`)];
}

export function isOctoSigned(signed: OctoSigned, signature: string, by: OctoSignature): boolean {
  return octoSignatures(signed, by).some((expected) => isSameHex(expected, signature));
}

function sha1(text: string): string {
  return createHash('sha1').update(text).digest('hex');
}
