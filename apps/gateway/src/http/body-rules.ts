import { applyDecorators } from '@nestjs/common';
import { Type } from 'class-transformer';
import {
  ArrayMaxSize,
  ArrayMinSize,
  ArrayUnique,
  IsArray,
  IsIn,
  IsInt,
  IsObject,
  IsString,
  Matches,
  Max,
  MaxLength,
  Min,
  MinLength,
  ValidateBy,
  ValidateIf,
  ValidateNested,
} from 'class-validator';
import { ID_PREFIXES, isId, MAX_TIYIN } from '#fiscal-domain';
import { IsCleanText, IsWebUrl } from './body-constraints.js';

/** As decorators that stand one under the other, which take effect from the last to the first: their faults come in that order. */
function stacked(...rules: PropertyDecorator[]): PropertyDecorator {
  return applyDecorators(...rules.toReversed());
}

export function IsTextUpTo(maxLength: number): PropertyDecorator {
  return stacked(IsString(), MaxLength(maxLength), IsCleanText());
}

/** The same, and not empty. */
export function IsBoundedText(maxLength: number, minLength = 1): PropertyDecorator {
  return stacked(IsString(), MinLength(minLength), MaxLength(maxLength), IsCleanText());
}

/** The same of a secret: whatever characters it has, they are only compared. */
export function IsFilledText(maxLength: number): PropertyDecorator {
  return stacked(IsString(), MinLength(1), MaxLength(maxLength));
}

/** A sum of money. */
export function IsTiyin(least: number): PropertyDecorator {
  return stacked(IsInt(), Min(least), Max(MAX_TIYIN));
}

export function IsWholeNumber(least: number, most: number): PropertyDecorator {
  return stacked(IsInt(), Min(least), Max(most));
}

/** An address on the web. */
export function IsLink(maxLength: number): PropertyDecorator {
  return stacked(IsString(), MaxLength(maxLength), IsWebUrl());
}

/** Texts, none of them empty. */
export function AreTexts(
  { most, length }: { most: number; length: number },
  rule: (options: { each: true }) => PropertyDecorator = IsCleanText,
): PropertyDecorator {
  const each = { each: true } as const;
  return stacked(
    IsArray(),
    ArrayMaxSize(most),
    IsString(each),
    MinLength(1, each),
    MaxLength(length, each),
    rule(each),
  );
}

/** Some of these values, each once. */
export function AreSomeOf(
  values: readonly unknown[],
  { least, most }: { least?: number; most?: number } = {},
): PropertyDecorator {
  const sizes = [
    ...(least === undefined ? [] : [ArrayMinSize(least)]),
    ...(most === undefined ? [] : [ArrayMaxSize(most)]),
  ];
  return stacked(IsArray(), ...sizes, ArrayUnique(), IsIn(values, { each: true }));
}

/** At least one object with rules of its own. */
export function AreNested(type: () => new () => object, most: number): PropertyDecorator {
  return stacked(IsArray(), ArrayMinSize(1), ArrayMaxSize(most), ValidateNested({ each: true }), Type(type));
}

/** An object with rules of its own. */
export function IsNested(type: () => new () => object): PropertyDecorator {
  return stacked(IsObject(), ValidateNested(), Type(type));
}

/** In a PATCH: may be left out, but is not taken away by null. */
export function IsGivenOrAbsent(): PropertyDecorator {
  return ValidateIf((_body, value) => value !== undefined);
}

/** A text for people. */
export function IsName(maxLength = 128): PropertyDecorator {
  return applyDecorators(IsString(), MinLength(1), MaxLength(maxLength), IsCleanText(), IsNotBlank());
}

/** The merchant's own code for something; never the form of one of our ids, which stand in the same places. */
export function IsOwnCode(): PropertyDecorator {
  const isNoId = ValidateBy(
    {
      name: 'isNoId',
      validator: {
        validate: (value: unknown) => typeof value !== 'string' || !ID_PREFIXES.some((prefix) => isId(prefix, value)),
        defaultMessage: () => 'code must not look like an id of this API',
      },
    },
    { context: { code: 'invalid_value' } },
  );
  return applyDecorators(IsString(), MinLength(1), MaxLength(128), IsCleanText(), IsNotBlank(), isNoId);
}

/** Our id of something, or the merchant's code for it. */
export function IsIdOrCode(): PropertyDecorator {
  return applyDecorators(IsString(), MinLength(1), MaxLength(128), IsCleanText());
}

/** `HH:MM`, Tashkent. */
export function IsTimeOfDay(): PropertyDecorator {
  return Matches(/^([01]\d|2[0-3]):[0-5]\d$/, {
    message: ({ property }) => `${property} must be a time from 00:00 to 23:59, HH:MM`,
  });
}

function IsNotBlank(): PropertyDecorator {
  return ValidateBy(
    {
      name: 'isNotBlank',
      validator: {
        validate: (value: unknown) => typeof value !== 'string' || value.trim() === value,
        defaultMessage: (args) => `${args?.property ?? 'it'} must not begin or end with a space`,
      },
    },
    { context: { code: 'invalid_text' } },
  );
}
