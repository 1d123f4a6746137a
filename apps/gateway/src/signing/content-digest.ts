import { createHash, timingSafeEqual } from 'node:crypto';
import { bytesOf, readCanonicalDictionary } from './structured-dictionary.js';

/** The algorithms of RFC 9530 that are good for anything today, by the names of `node:crypto`. */
const HASHES = { 'sha-256': 'sha256', 'sha-512': 'sha512' } as const;

export type DigestVerdict = { kind: 'matches' } | { kind: 'differs'; detail: string };

/**
 * Content-Digest (RFC 9530) against the bytes as they came: every digest that we know must fit, and at least one must be
 * there.
 */
export function checkContentDigest(field: string, body: Buffer): DigestVerdict {
  const digests = readCanonicalDictionary(field);
  if (!digests) return { kind: 'differs', detail: 'Content-Digest is not a dictionary in canonical form.' };
  let checked = 0;
  for (const [name, hash] of Object.entries(HASHES)) {
    if (!digests.has(name)) continue;
    const claimed = bytesOf(digests, name);
    const actual = createHash(hash).update(body).digest();
    if (claimed?.length !== actual.length || !timingSafeEqual(claimed, actual)) {
      return { kind: 'differs', detail: `Content-Digest ${name} is not that of the ${body.length} bytes received.` };
    }
    checked += 1;
  }
  if (checked > 0) return { kind: 'matches' };
  return { kind: 'differs', detail: 'Content-Digest needs sha-256 or sha-512.' };
}
