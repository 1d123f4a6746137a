import { IsBoolean, IsIn, IsOptional, Matches, ValidateBy } from 'class-validator';
import { MAX_UNITS, textProblem } from '#fiscal-domain';
import { IsMetadata } from '../../http/body-constraints.js';
import { AreTexts, IsBoundedText, IsNested, IsTiyin, IsWholeNumber } from '../../http/body-rules.js';

export const LANGUAGES = ['ru', 'uz', 'en'] as const;
export type Language = (typeof LANGUAGES)[number];
export type Names = Partial<Record<Language, string>>;

const MAX_NAME_LENGTH = 512;
const MAX_KEYS = 30;

export class ProductCommissionBody {
  @IsOptional()
  @Matches(/^\d{9}$/, { message: 'tin must have 9 digits' })
  tin?: string | null;

  @IsOptional()
  @Matches(/^\d{14}$/, { message: 'pinfl must have 14 digits' })
  pinfl?: string | null;
}

/** One product as callers send it, by API and in files. Null is the same as absent. */
export class ProductInput {
  @IsBoundedText(128)
  sku!: string;

  /** A text, or texts by language. */
  @IsNames()
  name!: string | Names;

  @IsOptional()
  @AreTexts({ most: MAX_KEYS, length: MAX_NAME_LENGTH })
  aliases?: string[] | null;

  @IsOptional()
  @AreTexts({ most: MAX_KEYS, length: 63 })
  barcodes?: string[] | null;

  @Matches(/^\d{17}$/, { message: 'spic must have 17 digits' })
  spic!: string;

  /** Absent: the only one that the classification register has for the code. */
  @IsOptional()
  @Matches(/^\d{1,20}$/, { message: 'package_code must have 1 to 20 digits' })
  package_code?: string | null;

  /** Unit-of-measure code: OKEI, or as the register of goods numbers it. Absent: the register's. */
  @IsOptional()
  @IsWholeNumber(0, MAX_UNITS)
  units?: number | null;

  @IsOptional()
  @IsIn([0, 12])
  vat_percent?: number | null;

  /** Tiyin per unit, VAT included; for the merchant's own use. */
  @IsOptional()
  @IsTiyin(0)
  price?: number | null;

  @IsOptional()
  @IsBoolean()
  marked?: boolean | null;

  @IsOptional()
  @IsBoolean()
  cash_allowed?: boolean | null;

  /** 0 resale, 1 own production, 2 service. */
  @IsOptional()
  @IsIn([0, 1, 2])
  owner_type?: number | null;

  @IsOptional()
  @IsNested(() => ProductCommissionBody)
  commission?: ProductCommissionBody | null;

  @IsOptional()
  @IsMetadata()
  attributes?: Record<string, string> | null;
}

function IsNames(): PropertyDecorator {
  return ValidateBy(
    {
      name: 'isNames',
      validator: {
        validate: (value: unknown) => namesFault(value) === null,
        defaultMessage: (args) => namesFault(args?.value) ?? 'name is not valid',
      },
    },
    { context: { code: 'invalid_text' } },
  );
}

function namesFault(value: unknown): string | null {
  if (typeof value === 'string') return nameFault(value);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return 'name must be a text, or texts by language (ru, uz, en)';
  const entries = Object.entries(value).filter(([, name]) => name !== undefined && name !== null);
  const foreign = entries.find(([language]) => !LANGUAGES.some((known) => known === language));
  if (foreign) return 'name knows the languages ru, uz and en';
  if (entries.length === 0) return 'name must have a text in one language at least';
  return entries.map(([, name]) => nameFault(name)).find((fault) => fault !== null) ?? null;
}

function nameFault(name: unknown): string | null {
  if (typeof name !== 'string') return 'name must be a text';
  if (name.trim() === '') return 'name must not be empty';
  if (name.length > MAX_NAME_LENGTH) return `name must have at most ${MAX_NAME_LENGTH} characters`;
  return textProblem(name) === null
    ? null
    : 'name must not contain control characters, broken Unicode or long runs of marks';
}
