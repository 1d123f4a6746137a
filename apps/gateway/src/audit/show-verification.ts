import { Injectable } from '@nestjs/common';
import { Problem } from '#problems';
import { sha256 } from '#runtime';
import type { AuditVerificationQuery } from './audit-query.js';
import { TRAIL_START, VerifyAuditTrail, type AuditHead, type AuditVerdict } from './verify-audit-trail.js';

/** What was found in one part of the trail. */
export interface AuditVerificationView {
  /** `intact`: every record of this part is as it was written. */
  state: 'intact' | 'broken';
  /** So many records were read and found intact. */
  records: number;
  /** The first record that is not as it was written; null: none. */
  broken: AuditBreakView | null;
  /** The last record that is intact, and its hash, hex: an auditor compares them with the heads that were published. */
  head: AuditHeadView;
  /** Names this place: given again, the next part, now or on another day. It shows then that the end was not cut off. */
  cursor: string;
  /** Whether records stand behind it. */
  has_more: boolean;
}

export interface AuditBreakView {
  sequence: number;
  /** `missing`: no such record. `altered`: not what was hashed. `unchained`: genuine, but not in this place. `cut`: gone since `cursor`. */
  fault: Extract<AuditVerdict, { kind: 'broken' }>['fault'];
}

export interface AuditHeadView {
  /** 0: before the first record. */
  sequence: number;
  hash: string;
}

const DEFAULT_LIMIT = 1_000;
const SEQUENCE_BYTES = 8;
const HASH_BYTES = 32;
const TRAIL_BYTES = 8;

/** GET /v1/audit/verification: the merchant's own trail, part by part, so that no call costs more than its limit. */
@Injectable()
export class ShowVerification {
  constructor(private readonly verifier: VerifyAuditTrail) {}

  /** @throws Problem 422 for a cursor that is none of this call */
  async execute(merchantId: string, { limit, cursor }: AuditVerificationQuery): Promise<AuditVerificationView> {
    const from = cursor === undefined ? TRAIL_START : readCursor(cursor, merchantId);
    const size = limit === undefined ? DEFAULT_LIMIT : Number(limit);
    const { head, broken, hasMore } = await this.verifier.verifyPart(merchantId, from, size);
    return {
      state: broken === null ? 'intact' : 'broken',
      records: Math.max(0, Number(head.sequence - from.sequence)),
      broken: broken && { sequence: Number(broken.sequence), fault: broken.fault },
      head: { sequence: Number(head.sequence), hash: head.hash.toString('hex') },
      cursor: cursorOf(head, merchantId),
      has_more: hasMore,
    };
  }
}

function cursorOf({ sequence, hash }: AuditHead, merchantId: string): string {
  const place = Buffer.alloc(SEQUENCE_BYTES);
  place.writeBigInt64BE(sequence);
  return Buffer.concat([place, hash, trailOf(merchantId)]).toString('base64url');
}

function readCursor(cursor: string, merchantId: string): AuditHead {
  const bytes = Buffer.from(cursor, 'base64url');
  const end = SEQUENCE_BYTES + HASH_BYTES;
  const isMine = bytes.length === end + TRAIL_BYTES && bytes.subarray(end).equals(trailOf(merchantId));
  const sequence = isMine ? bytes.readBigInt64BE() : -1n;
  if (sequence === 0n) return TRAIL_START;
  if (sequence > 0n) return { sequence, hash: bytes.subarray(SEQUENCE_BYTES, end) };
  throw Problem.at('/cursor', 'invalid_value', 'cursor must be a cursor of this call');
}

/** Whose trail it is: a place of another one's, which is not in this one, would look like a trail that was cut. */
function trailOf(merchantId: string): Buffer {
  return sha256(merchantId).subarray(0, TRAIL_BYTES);
}
