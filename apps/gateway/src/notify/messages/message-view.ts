import type { Prisma } from '#database';
import type { MessageChannel } from '#messages';

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
   * `gave_up`, or `unclear` (it may have been sent, and is not sent again).
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
    ...{ id: row.id, receipt_id: row.receiptId, channel: row.channel, source: row.source, language: row.language },
    ...{ to: row.addressHint, state: row.state, reason: row.reason },
    ...{ provider_ref: row.providerRef, provider_word: row.providerWord, parts: row.parts },
    cost: row.costTiyin === null ? null : Number(row.costTiyin),
    attempt_count: row.attemptCount,
    created_at: row.createdAt.toISOString(),
    sent_at: row.sentAt?.toISOString() ?? null,
    delivered_at: row.deliveredAt?.toISOString() ?? null,
    attempts: row.attempts.map(({ number, at, durationMs, outcome, code, detail }) => ({
      ...{ number, at: at.toISOString(), duration_ms: durationMs, outcome, code, detail },
    })),
  };
}
