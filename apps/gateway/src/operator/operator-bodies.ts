import { applyDecorators } from '@nestjs/common';
import { Type } from 'class-transformer';
import {
  IsBoolean,
  IsIn,
  IsInt,
  IsISO8601,
  IsOptional,
  IsString,
  Matches,
  Max,
  MaxLength,
  Min,
  ValidateBy,
  ValidateNested,
} from 'class-validator';
import { IsCleanText, IsWebUrl } from '../http/body-constraints.js';
import { IsBoundedText } from '../http/body-rules.js';

export const DECISIONS = ['registered', 'not_registered', 'duplicate'] as const;

export const REASON_LENGTH = { min: 5, max: 500 };
const MAX_LINK_LENGTH = 1_000;
const MAX_TERMINAL_LENGTH = 63;
/** Of a sale or refund: twelve digits, with leading zeros. */
const FISCAL_SIGN = /^\d{12}$/;
/** What a fiscal module can be called; a link may name any text. */
export const TERMINAL_ID = /^[0-9A-Za-z-]{1,63}$/;

/** Why, in a person's words; blanks around them do not count. */
function IsReason(): PropertyDecorator {
  const isLongEnough = ValidateBy(
    {
      name: 'isLongEnough',
      validator: {
        validate: (value: unknown) => typeof value === 'string' && value.trim().length >= REASON_LENGTH.min,
        defaultMessage: () => `reason must have at least ${REASON_LENGTH.min} characters`,
      },
    },
    { context: { code: 'too_short' } },
  );
  return applyDecorators(IsString(), IsCleanText(), isLongEnough, MaxLength(REASON_LENGTH.max));
}

/** With a time zone: a register's wall clock alone would be five hours off. */
function IsMoment(): PropertyDecorator {
  return applyDecorators(
    IsISO8601({ strict: true, strictSeparator: true }),
    Matches(/^[^T]{8,16}T[\d:.,]+(?:Z|[+-]\d{2}:\d{2})$/),
  );
}

function IsReceiptSeq(): PropertyDecorator {
  return applyDecorators(IsInt(), Min(1), Max(Number.MAX_SAFE_INTEGER));
}

/** A registration that one too many was made: the document that a refund has to cancel. */
export class SurplusBody {
  @IsReceiptSeq()
  receipt_seq!: number;

  @Matches(FISCAL_SIGN)
  fiscal_sign!: string;

  @IsWebUrl()
  @MaxLength(MAX_LINK_LENGTH)
  verification_url!: string;
}

/** That documents of a module which is gone have reached the OFD another way. */
export class DeliveredDocumentsBody {
  /** Of the module, as its receipts show it. */
  @IsBoundedText(MAX_TERMINAL_LENGTH)
  terminal_id!: string;

  /** The last document that was delivered; all of them where it is left out. */
  @IsOptional()
  @IsReceiptSeq()
  up_to_seq?: number | null;

  @IsReason()
  reason!: string;
}

/** What is needed depends on the decision: readDecision. */
export class ResolveBody {
  @IsIn(DECISIONS)
  decision!: (typeof DECISIONS)[number];

  @IsReason()
  reason!: string;

  /** With not_registered and send_again false: the document that the register of a rejected receipt has no more. */
  @IsOptional()
  @IsReceiptSeq()
  receipt_seq?: number | null;

  @IsOptional()
  @Matches(FISCAL_SIGN)
  fiscal_sign?: string | null;

  @IsOptional()
  @IsWebUrl()
  @MaxLength(MAX_LINK_LENGTH)
  verification_url?: string | null;

  /** The terminal that has an advance or credit, which has no link, where it is not the one that its register is known by. */
  @IsOptional()
  @Matches(TERMINAL_ID)
  terminal_id?: string | null;

  @IsOptional()
  @IsMoment()
  registered_at?: string | null;

  /** With not_registered: decide although the lost request may still reach the register. */
  @IsOptional()
  @IsBoolean()
  confirm_unsettled?: boolean | null;

  /** With not_registered: false ends the receipt as rejected, where its register is gone for good; else it is sent again. */
  @IsOptional()
  @IsBoolean()
  send_again?: boolean | null;

  /**
   * With registered or duplicate, of a receipt that is older than a restore: a link or terminal_id names a terminal of which the database knows
   * nothing, a module that was in the register for a while after the copy.
   */
  @IsOptional()
  @IsBoolean()
  confirm_terminal?: boolean | null;

  @IsOptional()
  @ValidateNested()
  @Type(() => SurplusBody)
  surplus?: SurplusBody | null;
}

export class ReasonBody {
  @IsReason()
  reason!: string;
}

export class FiscalBody {
  @Matches(FISCAL_SIGN)
  fiscal_sign!: string;

  @IsWebUrl()
  @MaxLength(MAX_LINK_LENGTH)
  verification_url!: string;

  @IsReason()
  reason!: string;
}
