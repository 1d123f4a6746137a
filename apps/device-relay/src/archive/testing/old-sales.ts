import type pg from 'pg';
import { sampleDocument } from '#database/testing';
import { firstIdAt } from '#runtime';

const DAY_MS = 86_400_000;
const OLD = 400;
let made = 0;

export interface OldSale {
  daysAgo?: number;
  status?: string;
  state?: string;
  ofd?: string;
  refundOf?: string;
  register?: string;
  /** Unset: one of its own, whose newest registration this is. */
  terminal?: string;
}

/** A receipt with one attempt. @returns the ids of both */
export async function insertOldSale(
  owner: pg.Client,
  sale: OldSale = {},
): Promise<{ receiptId: string; attemptId: string }> {
  const {
    daysAgo = OLD,
    status = 'registered',
    state = 'registered',
    ofd = 'sent',
    refundOf,
    register = 'dev_1',
    terminal,
  } = sale;
  made += 1;
  const at = new Date(Date.now() - daysAgo * DAY_MS + made);
  const end = String(made).padStart(16, '0');
  const [receiptId, attemptId] = [`${firstIdAt('rcp', at)}${end}`, `${firstIdAt('att', at)}${end}`];
  const fiscal =
    status === 'registered' ? [terminal ?? `T${made}`, made, at, 'answer', ofd, at] : Array<null>(6).fill(null);
  await owner.query(
    `INSERT INTO receipts (id, merchant_id, client_id, operation, body_hash, type, status, document, total_tiyin, vat_total_tiyin,
                           created_at, updated_at, refund_of, lane_place, device_id,
                           terminal_id, receipt_seq, registered_at, evidence, ofd_status, ofd_deadline_at)
     VALUES ($1, 'mer_1', 'cli_1', 'receipts', '\\x00', $2, $3, $4, 1, 0, $5, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`,
    [
      receiptId,
      refundOf ? 'refund' : 'sale',
      status,
      sampleDocument(),
      at,
      refundOf ?? null,
      made,
      register,
      ...fiscal,
    ],
  );
  await owner.query(
    `INSERT INTO attempts (id, receipt_id, device_id, number, state, baseline, request, relay_id, created_at, closed_at, http_status, outcome)
     VALUES ($1, $2, $3, 1, $4::attempt_state, '{"reading": {"n": 1}}', $5, 'rly_1', $6, CASE WHEN $4 <> 'open' THEN $6::timestamptz END,
             200, '{"kind": "registered", "text": "чек"}')`,
    [attemptId, receiptId, register, state, Buffer.from([0, 10, 255, made % 256]), at],
  );
  return { receiptId, attemptId };
}
