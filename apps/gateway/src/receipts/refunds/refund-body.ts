import { IsIn, IsOptional, Matches } from 'class-validator';
import { IsMarkingCode, IsMetadata, IsQuantity } from '../../http/body-constraints.js';
import { PaymentBody } from '../receipt-body.js';
import { AreNested, AreTexts, IsBoundedText, IsLink, IsNested, IsTiyin, IsWholeNumber } from '../../http/body-rules.js';

/** A part of one line of the sale: a quantity of it, or a sum of it. */
export class RefundLineBody {
  /** The sale's line, from 1. */
  @IsWholeNumber(1, 500)
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
  @AreTexts({ most: 300, length: 128 }, IsMarkingCode)
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
  @AreNested(() => RefundLineBody, 500)
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
  @IsLink(2048)
  callback_url?: string;

  /** At most 50 texts of the caller's own. */
  @IsOptional()
  @IsMetadata()
  metadata?: Record<string, string>;
}
