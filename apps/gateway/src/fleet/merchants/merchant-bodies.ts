import { IsBoolean, IsIn, IsOptional, IsString, Matches, MaxLength } from 'class-validator';
import { MAX_UNITS } from '#fiscal-domain';
import { CHANNELS, MESSAGE_LANGUAGES, type MessageChannel, type MessageLanguage } from '#messages';
import {
  AreSomeOf,
  IsGivenOrAbsent,
  IsName,
  IsNested,
  IsTimeOfDay,
  IsTiyin,
  IsWholeNumber,
} from '../../http/body-rules.js';
import { UNSUPPORTED_FIELDS, type UnsupportedFields } from './merchant-settings.js';

export class DefaultGoodsBody {
  @Matches(/^\d{17}$/)
  spic!: string;

  @Matches(/^\d{1,20}$/)
  package_code!: string;

  /** Unit-of-measure code: OKEI, or as the register of goods numbers it. */
  @IsWholeNumber(0, MAX_UNITS)
  units!: number;

  @IsIn([0, 12])
  vat_percent!: number;
}

export class RequirementsBody {
  @IsGivenOrAbsent()
  @IsBoolean()
  external_id?: boolean;
}

export class NotifyDefaultBody {
  /** Empty: receipts are sent only where a sale asks for it. */
  @IsGivenOrAbsent()
  @AreSomeOf(CHANNELS, { most: 3 })
  channels?: MessageChannel[];

  /** Null: Uzbek. */
  @IsOptional()
  @IsIn(MESSAGE_LANGUAGES)
  language?: MessageLanguage | null;
}

/** Line breaks belong to a text of several lines; other control characters do not, nor half a character, which cannot be stored. */
const BRAND_TEXT = /^[^\u0000-\u0009\u000b-\u001f\u007f-\u009f\ud800-\udfff]*$/u;

export class BrandBody {
  /** At most four lines above the seller's name; empty: none. */
  @IsGivenOrAbsent()
  @IsString()
  @MaxLength(200)
  @Matches(BRAND_TEXT, { message: 'header must not contain control characters' })
  @IsFewLines()
  header?: string;

  /** At most four lines below everything else; empty: none. */
  @IsGivenOrAbsent()
  @IsString()
  @MaxLength(200)
  @Matches(BRAND_TEXT, { message: 'footer must not contain control characters' })
  @IsFewLines()
  footer?: string;

  /** PNG in base64, at most 576 × 288 dots and 64 KiB. Null: none. */
  @IsOptional()
  @IsString()
  @MaxLength(90_000)
  @Matches(/^[A-Za-z0-9+/]*={0,2}$/)
  logo?: string | null;
}

/** A receipt is no poster. */
function IsFewLines(): PropertyDecorator {
  return Matches(/^[^\n]*(\n[^\n]*){0,3}$/, { message: ({ property }) => `${property} must have at most four lines` });
}

export class FourEyesBody {
  /** Decisions about unknown receipts of more than this, in tiyin, need a second user; null: none do. */
  @IsOptional()
  @IsTiyin(0)
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
  @IsNested(() => DefaultGoodsBody)
  default_goods?: DefaultGoodsBody | null;

  /** Tashkent; null: the default. */
  @IsOptional()
  @IsTimeOfDay()
  time_of_close?: string | null;

  @IsGivenOrAbsent()
  @IsNested(() => RequirementsBody)
  requirements?: RequirementsBody;

  /** A receipt with a seller, buyer or wallet that its register does not take into the fiscal document: `refuse` or `omit`. */
  @IsGivenOrAbsent()
  @IsIn(UNSUPPORTED_FIELDS)
  unsupported_fields?: UnsupportedFields;

  /** How buyers get receipts of sales that say nothing of it (docs/messages.md). */
  @IsGivenOrAbsent()
  @IsNested(() => NotifyDefaultBody)
  notify?: NotifyDefaultBody;

  /** What a second user has to approve. While anything of it is set, changing it needs one too. */
  @IsGivenOrAbsent()
  @IsNested(() => FourEyesBody)
  four_eyes?: FourEyesBody;
}
