import { Injectable } from '@nestjs/common';
import { Prisma, PrismaService } from '#database';
import { insertEvents } from '#ledger';
import type { MessageChannel, MessageProviderCode } from '#messages';
import { newId } from '#runtime';
import { ACCOUNT_LEASE_SECONDS } from './message-schedule.js';

/** An account that this process sends for until its lease ends. */
export interface ClaimedAccount {
  id: string;
  merchant_id: string;
  channel: MessageChannel;
  provider: MessageProviderCode;
  per_minute: number;
  quiet_from: string | null;
  quiet_until: string | null;
  failures: number;
  wakes: bigint;
  lease_until: Date;
}

export interface DueMessage {
  id: string;
  merchant_id: string;
  receipt_id: string;
  channel: MessageChannel;
  source: string;
  language: string;
  address_sealed: Uint8Array | null;
  state: 'pending' | 'sending' | 'unclear';
  provider_ref: string | null;
  attempt_count: number;
  ask_count: number;
  tried_at: Date | null;
  is_suppressed: boolean;
}

/** What a try, a question or a report changes. */
export interface MessageChange {
  state: 'pending' | 'unclear' | 'sent' | 'delivered' | 'failed';
  reason: string | null;
  /** Until the next try or question; 0 where there is none. */
  delayMs: number;
  providerRef: string | null;
  providerWord: string | null;
  parts: number | null;
  costTiyin: number | null;
}

export interface AttemptEnd {
  number: number;
  durationMs: number;
  outcome: string;
  code: string | null;
  detail: string | null;
}

type StateBefore = 'pending' | 'sending' | 'unclear' | 'sent' | 'failed';

/** What is announced when a message comes to a state. */
const EVENTS: Readonly<Record<MessageChange['state'], string | null>> = {
  pending: null,
  unclear: null,
  sent: 'message.sent',
  delivered: 'message.delivered',
  failed: 'message.failed',
};

export const NO_CHANGE_BESIDE = {
  reason: null,
  delayMs: 0,
  providerRef: null,
  providerWord: null,
  parts: null,
  costTiyin: null,
};

/** Messages and their accounts; everything that is due is due on the database's clock. */
@Injectable()
export class MessageRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** Accounts with something due, those first that have waited longest. */
  claimAccounts(limit: number): Promise<ClaimedAccount[]> {
    return this.prisma.$queryRaw<ClaimedAccount[]>`
      UPDATE message_accounts SET lease_until = now() + make_interval(secs => ${ACCOUNT_LEASE_SECONDS}::int4)
       WHERE id IN (SELECT id FROM message_accounts
                     WHERE due_at <= now() AND (lease_until IS NULL OR lease_until <= now())
                       AND (blocked_until IS NULL OR blocked_until <= now())
                       AND disabled_at IS NULL AND deleted_at IS NULL
                     ORDER BY due_at LIMIT ${limit} FOR NO KEY UPDATE SKIP LOCKED)
      RETURNING id, merchant_id, channel::text, provider, per_minute, quiet_from, quiet_until, failures, wakes, lease_until`;
  }

  /** @param isQuiet only what a buyer or a person waits for at this moment */
  due(accountId: string, limit: number, isQuiet: boolean): Promise<DueMessage[]> {
    return this.prisma.$queryRaw<DueMessage[]>`
      SELECT m.id, m.merchant_id, m.receipt_id, m.channel::text, m.source::text, m.language, m.address_sealed, m.state::text,
             m.provider_ref, m.attempt_count, m.ask_count, m.tried_at,
             EXISTS (SELECT FROM suppressions s WHERE s.merchant_id = m.merchant_id AND s.channel = m.channel
                        AND s.address_hash = m.address_hash) AS is_suppressed
        FROM messages m
       WHERE m.account_id = ${accountId} AND m.state = ANY (ARRAY['pending', 'sending', 'unclear']::message_state[])
         AND m.due_at <= now() AND (NOT ${isQuiet}::boolean OR m.source = ANY (ARRAY['page', 'bot', 'test']::message_source[]))
       ORDER BY m.due_at, m.id LIMIT ${limit}`;
  }

  /**
   * The intent: a try is open before its first byte leaves. Of two gateways that both think they hold the account, one finds it so.
   * @returns the number of the try; null: another one has it
   */
  async begin(message: DueMessage): Promise<number | null> {
    const rows = await this.prisma.$queryRaw<{ number: number }[]>`
      WITH begun AS (
        UPDATE messages SET state = 'sending', attempt_count = attempt_count + 1, tried_at = now(),
                            due_at = now() + make_interval(secs => ${ACCOUNT_LEASE_SECONDS}::int4)
         WHERE id = ${message.id} AND state = 'pending' AND attempt_count = ${message.attempt_count}
        RETURNING id, attempt_count
      )
      INSERT INTO message_attempts (message_id, number) SELECT id, attempt_count FROM begun RETURNING number`;
    return rows[0]?.number ?? null;
  }

  /** How an open try ended, what follows from it, and its event, together. */
  async end(message: Pick<DueMessage, 'id'>, attempt: AttemptEnd, change: MessageChange): Promise<void> {
    const { number, durationMs, outcome, code, detail } = attempt;
    await this.prisma.$executeRaw`
      WITH moved AS (${this.moved(message.id, change, ['sending'], { condition: Prisma.sql`AND attempt_count = ${number}` })}),
      tried AS (
        UPDATE message_attempts SET duration_ms = ${durationMs}::int4, outcome = ${outcome}, code = ${code}, detail = ${detail}
         WHERE message_id = ${message.id} AND number = ${number} AND outcome IS NULL
      )
      ${announced(change)}`;
  }

  /** Without a try: a question was answered, or a message is not to be sent at all. */
  async settle(
    messageId: string,
    change: MessageChange,
    { from, asked = false }: { from: readonly StateBefore[]; asked?: boolean },
  ): Promise<void> {
    const more = asked ? Prisma.sql`, ask_count = ask_count + 1` : Prisma.empty;
    await this.prisma.$executeRaw`
      WITH moved AS (${this.moved(messageId, change, from, { more })}) ${announced(change)}`;
  }

  private moved(
    id: string,
    change: MessageChange,
    from: readonly StateBefore[],
    { condition = Prisma.empty, more = Prisma.empty }: { condition?: Prisma.Sql; more?: Prisma.Sql },
  ): Prisma.Sql {
    const { state, reason, delayMs, providerRef, providerWord, parts, costTiyin } = change;
    const isOpen = state === 'pending' || state === 'unclear';
    return Prisma.sql`
      UPDATE messages
         SET state = ${state}::message_state, reason = ${reason},
             due_at = now() + make_interval(secs => ${delayMs / 1_000}::float8),
             provider_ref = coalesce(${providerRef}, provider_ref), provider_word = coalesce(${providerWord}, provider_word),
             parts = coalesce(${parts}::int2, parts), cost_tiyin = coalesce(${costTiyin}::int8, cost_tiyin),
             sent_at = CASE WHEN ${state} IN ('sent', 'delivered') THEN coalesce(sent_at, now()) ELSE sent_at END,
             delivered_at = CASE WHEN ${state} = 'delivered' THEN now() ELSE delivered_at END,
             finished_at = CASE WHEN ${isOpen}::boolean THEN NULL ELSE coalesce(finished_at, now()) END ${more}
       WHERE id = ${id} AND state = ANY (${[...from]}::message_state[]) ${condition}
      RETURNING id, merchant_id, receipt_id, channel, source`;
  }

  /**
   * Releases an account and says when it is due next, as that of a webhook (delivery.repository.ts).
   * @param blockMs for how long nothing is sent there, whatever is due
   */
  async release(
    account: ClaimedAccount,
    result: 'succeeded' | 'failed' | 'nothing',
    { blockMs, quietMs }: { blockMs: number; quietMs: number },
  ): Promise<void> {
    const health = {
      succeeded: Prisma.sql`failing_since = NULL, failures = 0,`,
      failed: Prisma.sql`failing_since = coalesce(failing_since, now()), failures = failures + 1,`,
      nothing: Prisma.empty,
    }[result];
    await this.prisma.$executeRaw`
      UPDATE message_accounts a
         SET ${health} lease_until = NULL,
             blocked_until = CASE WHEN ${blockMs}::float8 > 0 THEN now() + make_interval(secs => ${blockMs / 1_000}::float8) END,
             due_at = CASE WHEN wakes <> ${account.wakes} THEN now()
                           ELSE (SELECT CASE WHEN min(m.due_at) IS NOT NULL
                                             THEN greatest(min(m.due_at), now() + make_interval(secs => ${quietMs / 1_000}::float8)) END
                                   FROM messages m
                                  WHERE m.account_id = ${account.id}
                                    AND m.state = ANY (ARRAY['pending', 'sending', 'unclear']::message_state[])) END
       WHERE id = ${account.id} AND lease_until = ${account.lease_until}::timestamptz`;
  }
}

/** The event of what the part `moved` has moved; without one the statement still moves it. */
function announced({ state, reason }: MessageChange): Prisma.Sql {
  const type = EVENTS[state];
  if (type === null) return Prisma.sql`SELECT id FROM moved`;
  return insertEvents(Prisma.sql`
    SELECT ${newId('evt')}, merchant_id, ${type}, receipt_id,
           jsonb_build_object('message_id', id, 'receipt_id', receipt_id, 'channel', channel, 'source', source,
                              'reason', ${reason}::text) FROM moved`);
}
