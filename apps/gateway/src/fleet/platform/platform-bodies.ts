import { applyDecorators } from '@nestjs/common';
import { IsIn, IsInt, IsOptional, Matches, Max, Min } from 'class-validator';
import { IsEmailShaped } from '../../http/body-constraints.js';
import { AreSomeOf, IsGivenOrAbsent, IsName, IsNested, IsOwnCode } from '../../http/body-rules.js';
import { PageQuery } from '../../http/paging.js';
import { MERCHANT_ROLES, type MerchantRole } from '../../http/roles.js';
import { MERCHANT_MODES, type MerchantMode } from '../merchants/merchant-settings.js';

const MOST = 1_000_000_000;
const MOST_BYTES = Number.MAX_SAFE_INTEGER;

function IsQuota(most: number): PropertyDecorator {
  return applyDecorators(IsOptional(), IsInt(), Min(0), Max(most));
}

/** What a merchant may use; null takes a quota away. */
export class QuotasBody {
  /** Sales that are accepted by day of Tashkent. */
  @IsQuota(MOST)
  receipts_per_day?: number | null;

  @IsQuota(MOST)
  devices?: number | null;

  @IsQuota(MOST)
  clients?: number | null;

  /** Documents of receipts that are kept. */
  @IsQuota(MOST_BYTES)
  storage_bytes?: number | null;
}

export class PlatformMerchantBody {
  @IsOwnCode()
  code!: string;

  @IsName()
  name!: string;

  @Matches(/^\d{9}$/, { message: 'tin must have nine digits' })
  tin!: string;

  /** For ever; `live` unless it is said. */
  @IsGivenOrAbsent()
  @IsIn(MERCHANT_MODES)
  mode?: MerchantMode;

  @IsGivenOrAbsent()
  @IsNested(() => QuotasBody)
  quotas?: QuotasBody;
}

export class PlatformMerchantPatch {
  @IsGivenOrAbsent()
  @IsName()
  name?: string;

  /** What is named is changed. */
  @IsGivenOrAbsent()
  @IsNested(() => QuotasBody)
  quotas?: QuotasBody;
}

export class SuspendBody {
  /** The merchant's clients read it. */
  @IsName(256)
  reason!: string;
}

export class PlatformInvitationBody {
  @IsEmailShaped()
  email!: string;

  /** The merchant's owner unless it is said. */
  @IsGivenOrAbsent()
  @AreSomeOf(MERCHANT_ROLES, { least: 1, most: MERCHANT_ROLES.length })
  roles?: MerchantRole[];
}

export class PlatformMerchantsQuery extends PageQuery {
  @IsOptional()
  @IsIn(MERCHANT_MODES)
  mode?: MerchantMode;

  @IsOptional()
  @IsIn(['true', 'false'])
  suspended?: 'true' | 'false';
}

export class UsageQuery {
  /** `YYYY-MM`; the newest month unless it is said. */
  @IsOptional()
  @Matches(/^20\d{2}-(0[1-9]|1[0-2])$/, { message: 'month must be YYYY-MM' })
  from?: string;

  @IsOptional()
  @Matches(/^20\d{2}-(0[1-9]|1[0-2])$/, { message: 'month must be YYYY-MM' })
  to?: string;
}
