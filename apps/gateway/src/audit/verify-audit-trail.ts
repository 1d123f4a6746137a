import { Inject, Injectable } from '@nestjs/common';
import { PrismaService } from '#database';
import { deriveKey } from '#secrets';
import type { GatewaySettings } from '../settings.js';
import { SETTINGS_TOKEN } from '../tokens.js';
import { CHAIN_START, chainHash } from './audit-chain.js';
import { AUDIT_KEY_PURPOSE } from './audit-trail.js';

/** A place in the chain; kept outside the database it shows later that the tail was not cut. */
export interface AuditHead {
  sequence: bigint;
  hash: Buffer;
}

export type AuditVerdict =
  | { kind: 'intact'; records: bigint; head: AuditHead }
  | {
      kind: 'broken';
      /** The first sequence that is not as it was written. */
      sequence: bigint;
      /**
       * `missing`: no such record. `altered`: its contents are not what was hashed. `unchained`: it is genuine, but what
       * stands before it is not what stood there (an older copy was put back). `cut`: the trail ends before a head that
       * was seen, or reads differently there.
       */
      fault: 'missing' | 'altered' | 'unchained' | 'cut';
    };

interface StoredRow {
  sequence: bigint;
  at_ms: number;
  actor: string;
  action: string;
  target_id: string;
  before: unknown;
  after: unknown;
  address: string | null;
  request_id: string | null;
  session_id: string | null;
  previous_hash: Uint8Array;
  hash: Uint8Array;
}

const PAGE = 1_000;
/** Records whose hashes a gateway computes in one go. */
const TURN = 100;

/** Before the first record. */
export const TRAIL_START: AuditHead = { sequence: 0n, hash: CHAIN_START };

/** A part of a trail, up to its last record that is as it was written. */
export interface VerifiedPart {
  head: AuditHead;
  broken: Omit<Extract<AuditVerdict, { kind: 'broken' }>, 'kind'> | null;
  /** The trail goes on behind it. */
  hasMore: boolean;
}

/** Reads a merchant's trail and finds the first record that is altered, missing or out of place. */
@Injectable()
export class VerifyAuditTrail {
  /** One per key of the ring: records outlive a rotation of SECRETS_KEY. */
  private readonly keys: Buffer[];

  constructor(
    private readonly prisma: PrismaService,
    @Inject(SETTINGS_TOKEN) { SECRETS_KEY }: Pick<GatewaySettings, 'SECRETS_KEY'>,
  ) {
    this.keys = [...SECRETS_KEY.keys.keys()].map((keyId) => deriveKey(SECRETS_KEY, AUDIT_KEY_PURPOSE, keyId));
  }

  /** @param seen heads from earlier (audit-heads.ts): nothing in the chain itself shows that its end was cut off */
  async verifyAuditTrail(merchantId: string, seen: readonly AuditHead[] = []): Promise<AuditVerdict> {
    const seenAt = new Map<bigint, Buffer[]>();
    for (const { sequence, hash } of seen) seenAt.set(sequence, [...(seenAt.get(sequence) ?? []), hash]);
    let head = TRAIL_START;
    for (;;) {
      const page = await this.readPage(merchantId, head.sequence);
      for (const row of page) {
        const fault = this.faultOf(merchantId, row, head);
        if (fault !== null) return { kind: 'broken', sequence: head.sequence + 1n, fault };
        head = { sequence: row.sequence, hash: Buffer.from(row.hash) };
        if (seenAt.get(head.sequence)?.some((hash) => !head.hash.equals(hash))) {
          return { kind: 'broken', sequence: head.sequence, fault: 'cut' };
        }
      }
      if (page.length < PAGE) break;
    }
    const { sequence: end } = head;
    if (seen.some(({ sequence }) => sequence > end))
      return { kind: 'broken', sequence: head.sequence + 1n, fault: 'cut' };
    return { kind: 'intact', records: head.sequence, head };
  }

  /**
   * At most `limit` records behind `from`, which was seen as a head before: where the trail no longer has it, it was cut.
   * Between records that were read together other requests have their turn.
   */
  async verifyPart(merchantId: string, from: AuditHead, limit: number): Promise<VerifiedPart> {
    const kept = from.sequence === 0n ? from.hash : await this.hashAt(merchantId, from.sequence);
    if (!kept?.equals(from.hash))
      return { head: TRAIL_START, broken: { sequence: from.sequence, fault: 'cut' }, hasMore: false };
    let head = from;
    for (const end = from.sequence + BigInt(limit); head.sequence < end;) {
      const wanted = Math.min(TURN, Number(end - head.sequence));
      const rows = await this.readPage(merchantId, head.sequence, wanted);
      for (const row of rows) {
        const fault = this.faultOf(merchantId, row, head);
        if (fault !== null) return { head, broken: { sequence: head.sequence + 1n, fault }, hasMore: false };
        head = { sequence: row.sequence, hash: Buffer.from(row.hash) };
      }
      if (rows.length < wanted) return { head, broken: null, hasMore: false };
    }
    return { head, broken: null, hasMore: (await this.readPage(merchantId, head.sequence, 1)).length > 0 };
  }

  private async hashAt(merchantId: string, sequence: bigint): Promise<Buffer | null> {
    const [row] = await this.prisma.$queryRaw<{ hash: Uint8Array }[]>`
      SELECT hash FROM audit_records WHERE merchant_id = ${merchantId} AND sequence = ${sequence}`;
    return row ? Buffer.from(row.hash) : null;
  }

  private faultOf(merchantId: string, row: StoredRow, previous: AuditHead): 'missing' | 'altered' | 'unchained' | null {
    if (row.sequence !== previous.sequence + 1n) return 'missing';
    const { at_ms: atMs, target_id: targetId, request_id: requestId, actor, action, before, after, address } = row;
    const record = {
      ...{ merchantId, sequence: row.sequence, atMs, actor, action, targetId },
      ...{ before, after, address, requestId, sessionId: row.session_id },
    };
    const stored = Buffer.from(row.hash);
    const isGenuine = this.keys.some((key) => chainHash(key, row.previous_hash, record).equals(stored));
    if (!isGenuine) return 'altered';
    return previous.hash.equals(Buffer.from(row.previous_hash)) ? null : 'unchained';
  }

  private readPage(merchantId: string, after: bigint, limit = PAGE): Promise<StoredRow[]> {
    return this.prisma.$queryRaw<StoredRow[]>`
      SELECT sequence, (extract(epoch FROM at) * 1000)::float8 AS at_ms, actor, action, target_id, before, after,
             address, request_id, session_id, previous_hash, hash
        FROM audit_records
       WHERE merchant_id = ${merchantId} AND sequence > ${after}
       ORDER BY sequence LIMIT ${limit}`;
  }
}
