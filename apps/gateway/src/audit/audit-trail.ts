import { Inject, Injectable } from '@nestjs/common';
import type { Prisma } from '#database';
import { redact } from '#runtime';
import { deriveKey } from '#secrets';
import { jsonOrNull } from '#ledger';
import type { GatewaySettings } from '../settings.js';
import { SETTINGS_TOKEN } from '../tokens.js';
import { CHAIN_START, chainHash, type AuditEntry, type AuditRow } from './audit-chain.js';

/** Purpose of the key that is derived from SECRETS_KEY. */
export const AUDIT_KEY_PURPOSE = 'audit';
/** First key of the advisory locks that serialise a merchant's trail; the second is a hash of the merchant's id. */
const AUDIT_LOCK_SPACE = 0x4155; // "AU"

/** Appends to the append-only trail: one chain of keyed hashes per merchant, checked by VerifyAuditTrail. */
@Injectable()
export class AuditTrail {
  private readonly key: Buffer;

  constructor(@Inject(SETTINGS_TOKEN) { SECRETS_KEY }: Pick<GatewaySettings, 'SECRETS_KEY'>) {
    this.key = deriveKey(SECRETS_KEY, AUDIT_KEY_PURPOSE);
  }

  /**
   * Writes the record in the transaction of the change that it describes: both are there or neither is.
   *
   * Let it be the transaction's last statement (AuditedChange does): from here to the commit all other changes of the
   * merchant wait, and a transaction that took further locks behind this one could deadlock with one that waits here.
   * The isolation must be READ COMMITTED: the head is read by a statement that began after the lock was granted. Under a
   * frozen snapshot the primary key refuses the second record with the same sequence.
   */
  async append(tx: Prisma.TransactionClient, entry: AuditEntry): Promise<void> {
    await tx.$executeRaw`SELECT pg_advisory_xact_lock(${AUDIT_LOCK_SPACE}::int4, hashtext(${entry.merchantId}))`;
    const head = await readHead(tx, entry.merchantId);
    const row: AuditRow = {
      ...entry,
      before: storable(entry.before),
      after: storable(entry.after),
      sequence: head.sequence + 1n,
      atMs: head.nowMs,
    };
    const hash = chainHash(this.key, head.hash, row);
    await tx.$executeRaw`
      INSERT INTO audit_records (merchant_id, sequence, at, actor, action, target_id, before, after, address, request_id,
                                 session_id, previous_hash, hash)
      VALUES (${row.merchantId}, ${row.sequence}, ${new Date(row.atMs).toISOString()}::timestamptz, ${row.actor},
              ${row.action}, ${row.targetId}, ${jsonOrNull(row.before)}::jsonb, ${jsonOrNull(row.after)}::jsonb,
              ${row.address}, ${row.requestId}, ${row.sessionId ?? null}, ${head.hash}, ${hash})`;
  }
}

interface Head {
  sequence: bigint;
  hash: Buffer;
  /** Of the database, whole milliseconds as the column keeps them. */
  nowMs: number;
}

async function readHead(tx: Prisma.TransactionClient, merchantId: string): Promise<Head> {
  const [row] = await tx.$queryRaw<{ now_ms: number; sequence: bigint | null; hash: Uint8Array | null }[]>`
    SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now_ms, head.sequence, head.hash
      FROM (SELECT) AS here
      LEFT JOIN (SELECT sequence, hash FROM audit_records WHERE merchant_id = ${merchantId}
                  ORDER BY sequence DESC LIMIT 1) AS head ON true`;
  if (!row) throw new Error('the database did not return its time');
  return { sequence: row.sequence ?? 0n, hash: Buffer.from(row.hash ?? CHAIN_START), nowMs: row.now_ms };
}

/** As it will be read back: no undefined, no dates, no secrets. */
function storable(value: unknown): unknown {
  return value === null || value === undefined ? null : (JSON.parse(JSON.stringify(redact(value))) as unknown);
}
