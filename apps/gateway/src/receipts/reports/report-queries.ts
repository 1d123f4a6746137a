import { IsIn, IsOptional } from 'class-validator';
import { Prisma } from '#database';
import type { Span } from '#ledger';
import { Problem } from '#problems';
import { PageQuery } from '../../http/paging.js';
import { FIRST_MOMENT_MS, IsDay, IsPlainText, LAST_MOMENT_MS } from '../../http/query-rules.js';

export const TURNOVER_GROUPS = ['day', 'device', 'branch', 'cashier', 'vat'] as const;
export type TurnoverGroup = (typeof TURNOVER_GROUPS)[number];

export class TurnoverQuery {
  @IsIn(TURNOVER_GROUPS)
  by!: TurnoverGroup;

  /** Days of Tashkent, both within. Default: the last 31 days. */
  @IsOptional()
  @IsDay()
  from?: string;

  @IsOptional()
  @IsDay()
  to?: string;
}

export class ReconciliationQuery extends PageQuery {
  /** Days of Tashkent on which shifts were opened, both within. Default: the last 31 days. */
  @IsOptional()
  @IsDay()
  from?: string;

  @IsOptional()
  @IsDay()
  to?: string;

  @IsOptional()
  @IsPlainText(64)
  device_id?: string;

  /** `different`: only shifts in which something differs. */
  @IsOptional()
  @IsIn(['all', 'different'])
  show?: 'all' | 'different';
}

const REPORT_LOCK_SPACE = 0x5250; // "RP"

/**
 * A condition that is asked first: one statement of a merchant's reports at a time in the whole installation, so that reports through several gateways take
 * one of the database's processors and not one for each gateway. It waits (ReportDatabase), then it is 503 with Retry-After. Also on a standby:
 * advisory locks are no writes.
 */
export function inItsTurn(merchantId: string): Prisma.Sql {
  return Prisma.sql`(SELECT pg_advisory_xact_lock(${REPORT_LOCK_SPACE}::int4, hashtext(${merchantId}))) IS NOT NULL`;
}

/** Whole days of Tashkent. */
export interface Period {
  from: string;
  to: string;
  fromMs: number;
  /** The first moment after it. */
  endMs: number;
}

const DAY_MS = 86_400_000;
/** Tashkent is UTC+5 all year round. */
const OFFSET_MS = 5 * 3_600_000;
const DEFAULT_DAYS = 31;
const MAX_DAYS = 366;

/** @throws Problem 422 when it ends before it begins or is longer than a year */
export function periodOf(query: { from?: string; to?: string }, now: Date): Period {
  const today = new Date(now.getTime() + OFFSET_MS).toISOString().slice(0, 10);
  const toMs = startOf(query.to ?? (query.from === undefined || query.from <= today ? today : query.from));
  const fromMs = query.from === undefined ? toMs - (DEFAULT_DAYS - 1) * DAY_MS : startOf(query.from);
  const days = (toMs - fromMs) / DAY_MS + 1;
  if (days < 1) throw fault('from must not be after to');
  if (days > MAX_DAYS) throw fault(`the period must not be longer than ${MAX_DAYS} days`);
  return { from: dayOf(fromMs), to: dayOf(toMs), fromMs, endMs: toMs + DAY_MS };
}

/** What was registered in it. */
export function spanOf({ fromMs, endMs }: Pick<Period, 'fromMs' | 'endMs'>): Span {
  return { of: 'registered_at', from: new Date(fromMs), to: new Date(Math.min(endMs, LAST_MOMENT_MS)) };
}

function startOf(day: string): number {
  return Math.max(Date.parse(`${day}T00:00:00Z`) - OFFSET_MS, FIRST_MOMENT_MS);
}

function dayOf(startMs: number): string {
  return new Date(startMs + OFFSET_MS).toISOString().slice(0, 10);
}

function fault(detail: string): Problem {
  return Problem.at('/from', 'out_of_range', detail);
}
