import { IsIn, IsOptional, Matches } from 'class-validator';
import { MAX_TIYIN, MAX_UNITS, type PaymentMethod } from '#fiscal-domain';
import { CHANNELS, MESSAGE_LANGUAGES, type MessageChannel, type MessageLanguage } from '#messages';
import { IsEmailShaped, IsMarkingCode, IsMetadata, IsQuantity } from '../http/body-constraints.js';
import {
  AreNested,
  AreSomeOf,
  AreTexts,
  IsBoundedText,
  IsLink,
  IsNested,
  IsTextUpTo,
  IsTiyin,
  IsWholeNumber,
} from '../http/body-rules.js';

/** Money of the API: integer tiyin. Signs are the fiscal rules' business (E-012, E-008), size is ours. */
const MIN_TIYIN = -MAX_TIYIN;

export class CommissionBody {
  @IsOptional()
  @Matches(/^\d{9}$/)
  tin?: string;

  @IsOptional()
  @Matches(/^\d{14}$/)
  pinfl?: string;
}

export class ItemBody {
  @IsTextUpTo(512)
  name!: string;

  /** Per unit, tiyin, VAT included. */
  @IsTiyin(MIN_TIYIN)
  price!: number;

  /** JSON number or decimal text, > 0, at most 3 decimals. */
  @IsQuantity()
  qty!: number | string;

  @IsOptional()
  @IsBoundedText(128)
  sku?: string;

  @IsOptional()
  @Matches(/^\d{17}$/)
  spic?: string;

  @IsOptional()
  @Matches(/^\d{1,20}$/)
  package_code?: string;

  /** Unit-of-measure code: OKEI, or as the register of goods numbers it. */
  @IsOptional()
  @IsWholeNumber(0, MAX_UNITS)
  units?: number;

  /** Which percents there are is the register's rule (E-015); outside of these bounds it is none at all. */
  @IsOptional()
  @IsWholeNumber(0, 100)
  vat_percent?: number;

  @IsOptional()
  @IsBoundedText(63)
  barcode?: string;

  /** Marking codes, one per piece. */
  @IsOptional()
  @AreTexts({ most: 300, length: 128 }, IsMarkingCode)
  labels?: string[];

  /** Tiyin off the line. */
  @IsOptional()
  @IsTiyin(0)
  discount?: number;

  @IsOptional()
  @IsNested(() => CommissionBody)
  commission?: CommissionBody;
}

export class PaymentBody {
  @IsIn(['cash', 'card', 'wallet', 'mixed', 'online'])
  method!: PaymentMethod;

  /** Empty is as good as none: money that has been taken needs no label. */
  @IsOptional()
  @IsTextUpTo(64)
  provider?: string;

  /** Only with `mixed`. */
  @IsOptional()
  @IsTiyin(MIN_TIYIN)
  cash?: number;

  /** Only with `mixed`. */
  @IsOptional()
  @IsTiyin(MIN_TIYIN)
  card?: number;

  /** Only with `online`, as all that follow: a token of the provider's for a card. Never a card's number. */
  @IsOptional()
  @Matches(/^[\x21-\x7e]{8,1024}$/)
  token?: string;

  /** Whom the provider asks to pay. */
  @IsOptional()
  @Matches(/^998\d{9}$/)
  phone?: string;

  /** What a till read off the customer's wallet (Click Pass). */
  @IsOptional()
  @Matches(/^[\x21-\x7e]{8,512}$/)
  qr_code?: string;

  /** What the provider has sent to the customer, where it wants it back. */
  @IsOptional()
  @Matches(/^\d{4,8}$/)
  otp?: string;

  /** Only with the provider `auto`: the first four to eight digits of the customer's card, for the merchant's rules. Kept nowhere. */
  @IsOptional()
  @Matches(/^\d{4,8}$/)
  card_range?: string;

  /** Where the provider's page leads the customer afterwards. */
  @IsOptional()
  @IsLink(500)
  return_url?: string;

  /** `manual`: the sale is made, and the money taken, only after POST /v1/payments/{id}/capture. */
  @IsOptional()
  @IsIn(['auto', 'manual'])
  capture?: 'auto' | 'manual';
}

export class CustomerBody {
  @IsOptional()
  @Matches(/^\+?\d{7,15}$/)
  phone?: string;

  @IsOptional()
  @IsEmailShaped()
  email?: string;

  @IsOptional()
  @Matches(/^\d{9}$/)
  tin?: string;

  @IsOptional()
  @Matches(/^\d{14}$/)
  pinfl?: string;
}

/** How the buyer gets the receipt once it is registered (docs/messages.md). */
export class NotifyBody {
  /** Empty: not at all, whatever the merchant's default is. */
  @AreSomeOf(CHANNELS, { most: 3 })
  channels!: MessageChannel[];

  /** Left out: the merchant's default, then Uzbek. */
  @IsOptional()
  @IsIn(MESSAGE_LANGUAGES)
  language?: MessageLanguage;
}

/** Body of POST /v1/receipts: the specification's `items`, `payment`, `cashier_id`, and what this API adds. */
export class ReceiptBody {
  @IsOptional()
  @IsIn(['sale', 'advance', 'credit'])
  type?: 'sale' | 'advance' | 'credit';

  @AreNested(() => ItemBody, 500)
  items!: ItemBody[];

  @IsNested(() => PaymentBody)
  payment!: PaymentBody;

  /** Our id or the merchant's own code. */
  @IsBoundedText(128)
  cashier_id!: string;

  /** Our id or the merchant's own code. */
  @IsOptional()
  @IsBoundedText(128)
  branch_id?: string;

  @IsOptional()
  @IsBoundedText(64)
  device_id?: string;

  @IsOptional()
  @IsBoundedText(128)
  external_id?: string;

  @IsOptional()
  @IsNested(() => CustomerBody)
  customer?: CustomerBody;

  @IsOptional()
  @IsLink(2048)
  callback_url?: string;

  /** At most 50 texts of the caller's own. */
  @IsOptional()
  @IsMetadata()
  metadata?: Record<string, string>;

  /** Left out: as the merchant's default says. */
  @IsOptional()
  @IsNested(() => NotifyBody)
  notify?: NotifyBody;
}
