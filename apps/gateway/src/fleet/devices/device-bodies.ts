import { applyDecorators } from '@nestjs/common';
import { IsIn, IsInt, IsOptional, IsString, Matches, Max, MaxLength, Min, MinLength } from 'class-validator';
import type { VatRule } from '#fiscal-domain';
import { IsGivenOrAbsent, IsIdOrCode, IsName, IsNested, IsTextUpTo, IsTimeOfDay } from '../../http/body-rules.js';
import { PageQuery } from '../../http/paging.js';
import { IsCleanText } from '../../http/body-constraints.js';
import { IsPlainText } from '../../http/query-rules.js';

export const DEVICE_STATES = [
  'online',
  'degraded',
  'unreachable',
  'blocked',
  'expired',
  'replaced',
  'disabled',
  'claimed_elsewhere',
] as const;

/** How a register is reached. */
export const TRANSPORTS = ['http', 'link', 'emulated'] as const;
export type Transport = (typeof TRANSPORTS)[number];

const DAY_MS = 86_400_000;

function IsMilliseconds(min: number, max: number): PropertyDecorator {
  return applyDecorators(IsInt(), Min(min), Max(max));
}

/** Goes into a header: printable ASCII. */
export function IsApiKey(): PropertyDecorator {
  return applyDecorators(IsString(), MinLength(1), MaxLength(512), Matches(/^[\x21-\x7e]*$/));
}

function IsBaseUrl(): PropertyDecorator {
  return applyDecorators(IsString(), MinLength(1), MaxLength(512), IsCleanText());
}

/** How the register is treated; null puts a field back to its default (GET shows what holds). */
export class ProfileBody {
  @IsOptional()
  @IsMilliseconds(1_000, 600_000)
  send_timeout_ms?: number | null;

  @IsOptional()
  @IsMilliseconds(500, 120_000)
  call_timeout_ms?: number | null;

  @IsOptional()
  @IsMilliseconds(1_000, 3_600_000)
  settle_ms?: number | null;

  @IsOptional()
  @IsMilliseconds(0, 60_000)
  pacing_ms?: number | null;

  @IsOptional()
  @IsMilliseconds(60_000, 7 * DAY_MS)
  park_after_ms?: number | null;

  @IsOptional()
  @IsMilliseconds(1_000, 7 * DAY_MS)
  failover_after_ms?: number | null;

  @IsOptional()
  @IsIn(['unit', 'line', 'line-net'])
  vat_rule?: VatRule | null;

  @IsOptional()
  @IsIn(['exclusive', 'shared'])
  sharing?: 'exclusive' | 'shared' | null;
}

export class DeviceBody {
  /** Our id or the merchant's code. */
  @IsIdOrCode()
  branch_id!: string;

  /** Our id or the merchant's code. */
  @IsOptional()
  @IsIdOrCode()
  group_id?: string | null;

  @IsName()
  name!: string;

  /** Model of the register, for people. */
  @IsGivenOrAbsent()
  @IsTextUpTo(128)
  model?: string;

  /** `http`: the relay calls it. `link`: it dials in. `emulated`: every register of a sandbox, and no other. */
  @IsGivenOrAbsent()
  @IsIn(TRANSPORTS)
  transport?: Transport;

  /** Needed for http, refused for the others. */
  @IsOptional()
  @IsBaseUrl()
  base_url?: string | null;

  /** Of the register; an emulated one has none. */
  @IsGivenOrAbsent()
  @IsApiKey()
  api_key?: string;

  @IsGivenOrAbsent()
  @IsNested(() => ProfileBody)
  profile?: ProfileBody;

  /** Tashkent; null: the merchant's. */
  @IsOptional()
  @IsTimeOfDay()
  close_at?: string | null;
}

export class DevicePatch {
  @IsGivenOrAbsent()
  @IsIdOrCode()
  branch_id?: string;

  @IsOptional()
  @IsIdOrCode()
  group_id?: string | null;

  @IsGivenOrAbsent()
  @IsName()
  name?: string;

  @IsGivenOrAbsent()
  @IsTextUpTo(128)
  model?: string;

  @IsGivenOrAbsent()
  @IsBaseUrl()
  base_url?: string;

  @IsGivenOrAbsent()
  @IsApiKey()
  api_key?: string;

  @IsGivenOrAbsent()
  @IsNested(() => ProfileBody)
  profile?: ProfileBody;

  @IsOptional()
  @IsTimeOfDay()
  close_at?: string | null;
}

export class DevicesQuery extends PageQuery {
  /** Our id or the merchant's code. */
  @IsOptional()
  @IsIdOrCode()
  branch_id?: string;

  @IsOptional()
  @IsIdOrCode()
  group_id?: string;

  @IsOptional()
  @IsIn(DEVICE_STATES)
  state?: (typeof DEVICE_STATES)[number];

  /** `true`: those for which something is to be done, in every state but `online` and `disabled`. */
  @IsOptional()
  @IsIn(['true', 'false'])
  attention?: string;

  /** In the name, the terminal, or the name or code of the branch; small and capital letters are the same. */
  @IsOptional()
  @IsPlainText(128)
  q?: string;
}
