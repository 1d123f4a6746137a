import type { Prisma } from '#database';
import type { MessageChannel } from '#messages';
import { viewOfColumns } from '../../http/view-of-columns.js';

/** A message as the API shows it: of the address only what recognises it. */
export interface MessageView {
  id: string;
  receipt_id: string;
  channel: MessageChannel;
  source: 'sale' | 'api' | 'page' | 'bot' | 'test';
  language: string;
  /** Masked. */
  to: string;
  state: 'pending' | 'sending' | 'unclear' | 'sent' | 'delivered' | 'failed';
  /**
   * Why it failed: `refused`, `address_refused`, `address_suppressed`, `address_erased`, `not_delivered`, `not_registered`,
   * `gave_up`, `sandbox` (nothing is sent there), or `unclear` (it may have been sent, and is not sent again).
   */
  reason: string | null;
  provider_ref: string | null;
  provider_word: string | null;
  /** Parts of an SMS that are billed, and what they cost in tiyin, where the provider says. */
  parts: number | null;
  cost: number | null;
  attempt_count: number;
  created_at: string;
  sent_at: string | null;
  delivered_at: string | null;
  /** Oldest first. */
  attempts: MessageAttemptView[];
}

export interface MessageAttemptView {
  number: number;
  at: string;
  duration_ms: number | null;
  /** `sent`, `address_refused`, `refused`, `account_refused`, `not_now`, `unclear`, `interrupted`; null: it is open. */
  outcome: string | null;
  code: string | null;
  /** The beginning of what the provider answered, without addresses. */
  detail: string | null;
}

export type MessageRow = Prisma.MessageGetPayload<{ include: { attempts: true } }>;

export const WITH_ATTEMPTS = { attempts: { orderBy: { number: 'asc' } } } as const;

export function messageView(row: MessageRow): MessageView {
  return {
    ...viewOfColumns(row, 'id', 'receiptId', 'channel', 'source', 'language', 'state', 'reason'),
    to: row.addressHint,
    ...viewOfColumns(row, 'providerRef', 'providerWord', 'parts', 'attemptCount', 'createdAt', 'sentAt', 'deliveredAt'),
    cost: row.costTiyin === null ? null : Number(row.costTiyin),
    attempts: row.attempts.map((attempt) =>
      viewOfColumns(attempt, 'number', 'at', 'durationMs', 'outcome', 'code', 'detail'),
    ),
  };
}
