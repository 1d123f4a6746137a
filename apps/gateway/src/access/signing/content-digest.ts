import { createHash, hash, timingSafeEqual } from 'node:crypto';
import { pipeline, Transform, type Readable, type TransformCallback } from 'node:stream';
import { bytesOf, readCanonicalDictionary } from './structured-dictionary.js';

/** The algorithms of RFC 9530 that are good for anything today, by the names of `node:crypto`. */
const HASHES = [
  ['sha-256', 'sha256'],
  ['sha-512', 'sha512'],
] as const;

interface ClaimedDigest {
  name: string;
  /** By the name of `node:crypto`. */
  algorithm: string;
  claimed: Buffer | null;
}

export type DigestReading =
  | { kind: 'digests'; digests: readonly ClaimedDigest[] }
  | { kind: 'unusable'; detail: string };
export type DigestVerdict = { kind: 'matches' } | { kind: 'differs'; detail: string };

/** Content-Digest (RFC 9530): the digests that we know, at least one. */
export function readContentDigest(field: string): DigestReading {
  const dictionary = readCanonicalDictionary(field);
  if (!dictionary) return { kind: 'unusable', detail: 'Content-Digest is not a dictionary in canonical form.' };
  const digests: ClaimedDigest[] = [];
  for (const [name, algorithm] of HASHES) {
    if (dictionary.has(name)) digests.push({ name, algorithm, claimed: bytesOf(dictionary, name) });
  }
  if (digests.length > 0) return { kind: 'digests', digests };
  return { kind: 'unusable', detail: 'Content-Digest needs sha-256 or sha-512.' };
}

/** Content-Digest against the bytes as they came: every digest that we know must fit. */
export function checkContentDigest(field: string, body: Buffer): DigestVerdict {
  const reading = readContentDigest(field);
  if (reading.kind === 'unusable') return { kind: 'differs', detail: reading.detail };
  return compare(reading.digests, (algorithm) => hash(algorithm, body, 'buffer'));
}

/**
 * The same for a body that is read by its handler: the stream ends with the error instead of its end when it was not what
 * was signed. Nothing may be done with its content before that end.
 * @param refuse makes the error
 */
export function digestChecked(source: Readable, field: string, refuse: (detail: string) => Error): Readable {
  const reading = readContentDigest(field);
  const digests = reading.kind === 'digests' ? reading.digests : [];
  const hashes = new Map(digests.map(({ algorithm }) => [algorithm, createHash(algorithm)]));
  const check = new Transform({
    transform: (chunk: Buffer, _encoding, done: TransformCallback) => {
      for (const each of hashes.values()) each.update(chunk);
      done(null, chunk);
    },
    flush: (done) => {
      const verdict: DigestVerdict =
        reading.kind === 'unusable'
          ? { kind: 'differs', detail: reading.detail }
          : compare(digests, (algorithm) => hashes.get(algorithm)?.digest());
      done(verdict.kind === 'matches' ? null : refuse(verdict.detail));
    },
  });
  // Whatever ends either of them ends the other; the reader learns it from the stream itself.
  pipeline(source, check, () => undefined);
  return check;
}

function compare(
  digests: readonly ClaimedDigest[],
  digestOf: (algorithm: string) => Buffer | undefined,
): DigestVerdict {
  for (const { name, algorithm, claimed } of digests) {
    const actual = digestOf(algorithm);
    if (!actual || claimed?.length !== actual.length || !timingSafeEqual(claimed, actual)) {
      return { kind: 'differs', detail: `Content-Digest ${name} is not that of the body received.` };
    }
  }
  return { kind: 'matches' };
}
