import { Injectable } from '@nestjs/common';
import { Prisma, PrismaService, StatementGroup } from '#database';
import { storableJson } from '#fiscal-domain';
import { insertEvents } from '#ledger';
import type { MessageChannel, MessageProviderCode } from '#messages';
import { isTracing, newId } from '#runtime';
import { MAY_BE_CLAIMED } from '../may-be-claimed.js';
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
  /** Of its receipt, where the request for it was sampled. */
  trace_parent: string | null;
}

/** Read while this program traces only. */
const TRACE_PARENT = Prisma.sql`(SELECT r.trace_parent FROM receipts r WHERE r.id = m.receipt_id)`;
const NO_TRACE_PARENT = Prisma.sql`NULL`;

/** Counted no further: a provider that is away for days must not make the count expensive. */
const MAX_COUNTED = 10_000;

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

type Beginning = Pick<DueMessage, 'id' | 'attempt_count'>;

interface End {
  id: string;
  attempt: AttemptEnd;
  change: MessageChange;
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
  // Of all accounts at work: what begins or ends together is written together.
  private readonly beginnings = new StatementGroup((group: readonly Beginning[]) => this.beginAll(group));
  private readonly ends = new StatementGroup((group: readonly End[]) => this.endAll(group));

  constructor(private readonly prisma: PrismaService) {}

  /** Whether there is an account to be claimed. */
  isAnyDue(): Promise<boolean> {
    return this.prisma.ask<boolean>(Prisma.sql`SELECT EXISTS (SELECT FROM message_accounts WHERE ${MAY_BE_CLAIMED})`);
  }

  /**
   * Accounts with something due, those first that have waited longest.
   * @param except those that this process is at: what outlives its lease is not begun a second time
   */
  claimAccounts(limit: number, except: readonly string[] = []): Promise<ClaimedAccount[]> {
    return this.prisma.$queryRaw<ClaimedAccount[]>`
      UPDATE message_accounts SET lease_until = now() + make_interval(secs => ${ACCOUNT_LEASE_SECONDS}::int4)
       WHERE id IN (SELECT id FROM message_accounts
                     WHERE ${MAY_BE_CLAIMED} AND id <> ALL(${[...except]}::text[])
                     ORDER BY due_at LIMIT ${limit} FOR NO KEY UPDATE SKIP LOCKED)
      RETURNING id, merchant_id, channel::text, provider, per_minute, quiet_from, quiet_until, failures, wakes, lease_until`;
  }

  /** @param isQuiet only what a buyer or a person waits for at this moment */
  due(accountId: string, limit: number, isQuiet: boolean): Promise<DueMessage[]> {
    return this.prisma.$queryRaw<DueMessage[]>`
      SELECT m.id, m.merchant_id, m.receipt_id, m.channel::text, m.source::text, m.language, m.address_sealed, m.state::text,
             m.provider_ref, m.attempt_count, m.ask_count, m.tried_at,
             EXISTS (SELECT FROM suppressions s WHERE s.merchant_id = m.merchant_id AND s.channel = m.channel
                        AND s.address_hash = m.address_hash) AS is_suppressed,
             ${isTracing() ? TRACE_PARENT : NO_TRACE_PARENT} AS trace_parent
        FROM messages m
       WHERE m.account_id = ${accountId} AND m.state = ANY (ARRAY['pending', 'sending', 'unclear']::message_state[])
         AND m.due_at <= now() AND (NOT ${isQuiet}::boolean OR m.source = ANY (ARRAY['page', 'bot', 'test']::message_source[]))
       ORDER BY m.due_at, m.id LIMIT ${limit}`;
  }

  /**
   * Those whose time has come, up to a bound. Account by account, as the index is kept: over all accounts at once, a million messages
   * that a provider which is away will get later would be read at each count. What waited for a deleted account is never sent, and no
   * one can do anything about it.
   */
  async countDue(): Promise<number> {
    const [row] = await this.prisma.$queryRaw<{ count: number }[]>`
      SELECT count(*)::int4 AS count
        FROM (SELECT FROM message_accounts a,
                     LATERAL (SELECT FROM messages m
                               WHERE m.account_id = a.id AND m.state = ANY (ARRAY['pending', 'sending', 'unclear']::message_state[])
                                 AND m.due_at <= now() LIMIT ${MAX_COUNTED}) one
               WHERE a.deleted_at IS NULL
               LIMIT ${MAX_COUNTED}) m`;
    return row?.count ?? 0;
  }

  /**
   * The intent: a try is open before its first byte leaves. Of two gateways that both think they hold the account, one finds it so.
   * @returns the number of the try; null: another one has it
   */
  begin({ id, attempt_count }: Pick<DueMessage, 'id' | 'attempt_count'>): Promise<number | null> {
    return this.beginnings.one({ id, attempt_count });
  }

  /** How an open try ended, what follows from it, and its event, together. */
  async end(message: Pick<DueMessage, 'id'>, attempt: AttemptEnd, change: MessageChange): Promise<void> {
    await this.ends.one({ id: message.id, attempt, change });
  }

  private async beginAll(group: readonly Beginning[]): Promise<(number | null)[]> {
    const rows = await this.prisma.$queryRaw<{ id: string; number: number }[]>`
      WITH asked AS (
        SELECT a.id, a.attempt_count FROM json_to_recordset(${JSON.stringify(group)}::json) AS a(id text, attempt_count int4)
      ),
      -- In one order, so that two gateways never wait for each other.
      locked AS (SELECT m.id FROM messages m WHERE m.id = ANY (ARRAY(SELECT id FROM asked)) ORDER BY m.id FOR NO KEY UPDATE),
      begun AS (
        UPDATE messages m SET state = 'sending', attempt_count = m.attempt_count + 1, tried_at = now(),
                              due_at = now() + make_interval(secs => ${ACCOUNT_LEASE_SECONDS}::int4)
          FROM asked a JOIN locked l ON l.id = a.id
         WHERE m.id = a.id AND m.state = 'pending' AND m.attempt_count = a.attempt_count
        RETURNING m.id, m.attempt_count
      )
      INSERT INTO message_attempts (message_id, number) SELECT id, attempt_count FROM begun RETURNING message_id AS id, number`;
    const numbers = new Map(rows.map(({ id, number }) => [id, number]));
    return group.map(({ id }) => numbers.get(id) ?? null);
  }

  private async endAll(group: readonly End[]): Promise<true[]> {
    await this.prisma.$executeRaw`
      WITH ended AS (
        SELECT * FROM json_to_recordset(${storableJson(JSON.stringify(group.map(endRow)))}::json) AS e(
               id text, number int4, duration_ms int4, outcome text, code text, detail text, state message_state, reason text,
               delay_seconds float8, provider_ref text, provider_word text, parts int2, cost_tiyin int8, is_open boolean,
               event_id text, event_type text)
      ),
      locked AS (SELECT m.id FROM messages m WHERE m.id = ANY (ARRAY(SELECT id FROM ended)) ORDER BY m.id FOR NO KEY UPDATE),
      moved AS (
        UPDATE messages m SET ${CHANGED}
          FROM ended e JOIN locked l ON l.id = e.id
         WHERE m.id = e.id AND m.state = 'sending' AND m.attempt_count = e.number
        RETURNING m.id, m.merchant_id, m.receipt_id, m.channel, m.source, e.reason, e.event_id, e.event_type
      ),
      tried AS (
        UPDATE message_attempts t SET duration_ms = e.duration_ms, outcome = e.outcome, code = e.code, detail = e.detail
          FROM ended e WHERE t.message_id = e.id AND t.number = e.number AND t.outcome IS NULL
      )
      ${ANNOUNCED}`;
    return group.map(() => true);
  }

  /** Without a try: a question was answered, or a message is not to be sent at all. */
  async settle(
    messageId: string,
    change: MessageChange,
    { from, asked = false }: { from: readonly StateBefore[]; asked?: boolean },
  ): Promise<void> {
    await this.prisma.$executeRaw`
      WITH moved AS (
        UPDATE messages m SET ${CHANGED}, ask_count = m.ask_count + ${asked ? 1 : 0}::int4
          FROM json_to_record(${storableJson(JSON.stringify(changeRow(change)))}::json) AS e(
               state message_state, reason text, delay_seconds float8, provider_ref text, provider_word text, parts int2,
               cost_tiyin int8, is_open boolean, event_id text, event_type text)
         WHERE m.id = ${messageId} AND m.state = ANY (${[...from]}::message_state[])
        RETURNING m.id, m.merchant_id, m.receipt_id, m.channel, m.source, e.reason, e.event_id, e.event_type
      )
      ${ANNOUNCED}`;
  }

  /**
   * Ends what has been due for longer than `days` behind an account that is disabled: nothing else would, and its buyer wants no receipt of so
   * long ago. By the index of what is due; what another writer holds is left for the next time.
   * @returns how many there were
   */
  async endWaitingOfDisabled(days: number, limit: number): Promise<number> {
    return this.prisma.$transaction(async (tx) => {
      const waiting = await tx.$queryRaw<{ id: string; state: string }[]>(waitingOfDisabled(days, limit));
      if (waiting.length === 0) return 0;
      const ends = waiting.map(({ id, state }) => {
        const reason = state === 'pending' ? 'gave_up' : 'unclear';
        return { ...changeRow({ ...NO_CHANGE_BESIDE, state: 'failed', reason }), id };
      });
      await tx.$executeRaw`
        WITH ended AS (
          SELECT * FROM json_to_recordset(${JSON.stringify(ends)}::json) AS e(
                 id text, state message_state, reason text, delay_seconds float8, provider_ref text, provider_word text, parts int2,
                 cost_tiyin int8, is_open boolean, event_id text, event_type text)
        ),
        moved AS (
          UPDATE messages m SET ${CHANGED} FROM ended e WHERE m.id = e.id
          RETURNING m.id, m.merchant_id, m.receipt_id, m.channel, m.source, e.reason, e.event_id, e.event_type
        ),
        tried AS (
          UPDATE message_attempts t SET duration_ms = 0, outcome = 'interrupted'
            FROM ended e WHERE t.message_id = e.id AND t.outcome IS NULL
        )
        ${ANNOUNCED}`;
      return waiting.length;
    });
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

/** A try that is under way is due when its lease is over, and so not among them. */
export function waitingOfDisabled(days: number, limit: number): Prisma.Sql {
  return Prisma.sql`
    SELECT m.id, m.state::text FROM message_accounts a JOIN messages m ON m.account_id = a.id
     WHERE a.disabled_at IS NOT NULL AND a.deleted_at IS NULL
       AND m.state = ANY (ARRAY['pending', 'sending', 'unclear']::message_state[])
       AND m.due_at < now() - make_interval(days => ${days}::int4)
     LIMIT ${limit} FOR UPDATE OF m SKIP LOCKED`;
}

/** What a row `e` of `changeRow` makes of its message. */
const CHANGED = Prisma.sql`
  state = e.state, reason = e.reason, due_at = now() + make_interval(secs => e.delay_seconds),
  provider_ref = coalesce(e.provider_ref, m.provider_ref), provider_word = coalesce(e.provider_word, m.provider_word),
  parts = coalesce(e.parts, m.parts), cost_tiyin = coalesce(e.cost_tiyin, m.cost_tiyin),
  sent_at = CASE WHEN e.state IN ('sent', 'delivered') THEN coalesce(m.sent_at, now()) ELSE m.sent_at END,
  delivered_at = CASE WHEN e.state = 'delivered' THEN now() ELSE m.delivered_at END,
  finished_at = CASE WHEN e.is_open THEN NULL ELSE coalesce(m.finished_at, now()) END`;

/** The events of what the part `moved` has moved, where that is announced. */
const ANNOUNCED = insertEvents(Prisma.sql`
  SELECT event_id, merchant_id, event_type, receipt_id,
         jsonb_build_object('message_id', id, 'receipt_id', receipt_id, 'channel', channel, 'source', source, 'reason', reason)
    FROM moved WHERE event_type IS NOT NULL`);

function changeRow(change: MessageChange): Record<string, unknown> {
  const { state, reason, delayMs, providerRef, providerWord, parts, costTiyin } = change;
  return {
    ...{ state, reason, delay_seconds: delayMs / 1_000, provider_ref: providerRef, provider_word: providerWord, parts },
    ...{ cost_tiyin: costTiyin, is_open: state === 'pending' || state === 'unclear' },
    ...{ event_id: newId('evt'), event_type: EVENTS[state] },
  };
}

function endRow({ id, attempt, change }: End): Record<string, unknown> {
  const { number, durationMs, outcome, code, detail } = attempt;
  return { ...changeRow(change), id, number, duration_ms: durationMs, outcome, code, detail };
}
