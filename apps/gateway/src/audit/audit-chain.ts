import { createHmac } from 'node:crypto';
import { canonicalJson } from '#runtime';

/** What is to be recorded. */
export interface AuditEntry {
  merchantId: string;
  /** Who decided: a client's or user's id, or a program's name. */
  actor: string;
  /** `<what>.<verb>`, e.g. `attempt.resolve`. */
  action: string;
  targetId: string;
  /** JSON values; what looks like a secret is redacted. Null = nothing. */
  before: unknown;
  after: unknown;
  /** The caller's IP address. */
  address: string | null;
  /** Of a person; left out or null: a client of the API or a program. */
  sessionId?: string | null;
  requestId: string | null;
}

/** One record of the trail, without its place in the chain of hashes. */
export interface AuditRow extends AuditEntry {
  /** From 1, without gaps, per merchant. */
  sequence: bigint;
  /** Database clock, ms since 1970. */
  atMs: number;
}

/** What the first record of a merchant names as its predecessor. */
export const CHAIN_START: Buffer = Buffer.alloc(32);

/**
 * HMAC-SHA-256 over the previous record's hash and this record. Keyed, so that one who can write to the database, but
 * does not hold the key, cannot compute a new chain behind a change.
 */
export function chainHash(key: Buffer, previousHash: Uint8Array, row: AuditRow): Buffer {
  // Named one by one: a field that the table does not keep must not get into the hash.
  const { merchantId, atMs, actor, action, targetId, before, after, address, requestId, sessionId = null } = row;
  const sequence = String(row.sequence);
  const hashed = {
    ...{ merchantId, sequence, atMs, actor, action, targetId, before, after, address, requestId },
    // Records from before there were sessions keep their hashes.
    ...(sessionId !== null && { sessionId }),
  };
  return createHmac('sha256', key).update(previousHash).update(canonicalJson(hashed)).digest();
}
