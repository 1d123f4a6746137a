import { Type } from 'class-transformer';
import { IsBoolean, IsIn, IsInt, IsObject, IsOptional, Matches, Max, Min, ValidateNested } from 'class-validator';
import { MAX_TIYIN, MAX_UNITS } from '#fiscal-domain';
import { IsGivenOrAbsent, IsName, IsTimeOfDay } from '../../http/body-rules.js';
import { UNSUPPORTED_FIELDS, type UnsupportedFields } from './merchant-settings.js';

export class DefaultGoodsBody {
  @Matches(/^\d{17}$/)
  spic!: string;

  @Matches(/^\d{1,20}$/)
  package_code!: string;

  /** Unit-of-measure code: OKEI, or as the register of goods numbers it. */
  @IsInt()
  @Min(0)
  @Max(MAX_UNITS)
  units!: number;

  @IsIn([0, 12])
  vat_percent!: number;
}

export class RequirementsBody {
  @IsGivenOrAbsent()
  @IsBoolean()
  external_id?: boolean;
}

export class FourEyesBody {
  /** Decisions about unknown receipts of more than this, in tiyin, need a second user; null: none do. */
  @IsOptional()
  @IsInt()
  @Min(0)
  @Max(MAX_TIYIN)
  unknown_above?: number | null;

  /** Changes of accounts at payment providers need a second user. */
  @IsGivenOrAbsent()
  @IsBoolean()
  provider_accounts?: boolean;
}

export class MerchantPatch {
  @IsGivenOrAbsent()
  @IsName()
  name?: string;

  /** Null: none. */
  @IsOptional()
  @IsObject()
  @ValidateNested()
  @Type(() => DefaultGoodsBody)
  default_goods?: DefaultGoodsBody | null;

  /** Tashkent; null: the default. */
  @IsOptional()
  @IsTimeOfDay()
  time_of_close?: string | null;

  @IsGivenOrAbsent()
  @IsObject()
  @ValidateNested()
  @Type(() => RequirementsBody)
  requirements?: RequirementsBody;

  /** A receipt with a seller, buyer or wallet that its register does not take into the fiscal document: `refuse` or `omit`. */
  @IsGivenOrAbsent()
  @IsIn(UNSUPPORTED_FIELDS)
  unsupported_fields?: UnsupportedFields;

  /** What a second user has to approve. While anything of it is set, changing it needs one too. */
  @IsGivenOrAbsent()
  @IsObject()
  @ValidateNested()
  @Type(() => FourEyesBody)
  four_eyes?: FourEyesBody;
}
