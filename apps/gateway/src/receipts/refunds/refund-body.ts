import { Type } from 'class-transformer';
import {
  ArrayMaxSize,
  ArrayMinSize,
  IsArray,
  IsIn,
  IsInt,
  IsOptional,
  IsString,
  Matches,
  Max,
  MaxLength,
  Min,
  MinLength,
  ValidateNested,
} from 'class-validator';
import { IsMarkingCode, IsMetadata, IsQuantity, IsWebUrl } from '../../http/body-constraints.js';
import { PaymentBody } from '../receipt-body.js';
import { IsBoundedText, IsNested, IsTiyin } from '../../http/body-rules.js';

/** A part of one line of the sale: a quantity of it, or a sum of it. */
export class RefundLineBody {
  /** The sale's line, from 1. */
  @IsInt()
  @Min(1)
  @Max(500)
  line!: number;

  /** JSON number or decimal text, > 0, at most 3 decimals. Either this or `sum`. */
  @IsOptional()
  @IsQuantity()
  qty?: number | string;

  /** Tiyin of the line's total. Consumes the proportional quantity, rounded to 0.001. */
  @IsOptional()
  @IsTiyin(1)
  sum?: number;

  /** Marking codes of the returned pieces, one per piece; may be left out when all that is left comes back. */
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(300)
  @IsString({ each: true })
  @MinLength(1, { each: true })
  @MaxLength(128, { each: true })
  @IsMarkingCode({ each: true })
  labels?: string[];
}

/** One of the three: whose lines come back. */
export class SellerBody {
  /** Of lines with this `commission`. */
  @IsOptional()
  @Matches(/^\d{9}$/)
  tin?: string;

  @IsOptional()
  @Matches(/^\d{14}$/)
  pinfl?: string;

  /** Of lines without `commission`: the merchant's own goods. */
  @IsOptional()
  @IsIn([true])
  own?: true;
}

/** Body of POST /v1/receipts/{id}/refunds. None at all: everything that is left goes back as it was paid. */
export class RefundBody {
  /** Left out: all that is left of all lines. */
  @IsOptional()
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(500)
  @ValidateNested({ each: true })
  @Type(() => RefundLineBody)
  lines?: RefundLineBody[];

  /** All that is left of one seller's lines, instead of `lines`. */
  @IsOptional()
  @IsNested(() => SellerBody)
  seller?: SellerBody;

  /** Left out: in the proportion in which the sale was paid. */
  @IsOptional()
  @IsNested(() => PaymentBody)
  payment?: PaymentBody;

  @IsOptional()
  @IsBoundedText(128)
  external_id?: string;

  @IsOptional()
  @IsString()
  @MaxLength(2048)
  @IsWebUrl()
  callback_url?: string;

  /** At most 50 texts of the caller's own. */
  @IsOptional()
  @IsMetadata()
  metadata?: Record<string, string>;
}
