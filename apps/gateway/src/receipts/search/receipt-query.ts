import { IsIn, IsOptional, IsString, Matches, MaxLength } from 'class-validator';
import { RECEIPT_TYPES, type ReceiptStatus, type ReceiptType } from '#fiscal-domain';
import type { PageQuery } from '../../http/paging.js';
import { IsPlainText, IsTimestamp, IsTiyinText } from '../../http/query-rules.js';

export const RECEIPT_STATUSES = [
  ...(['awaiting_payment', 'accepted', 'sending', 'registered', 'rejected', 'unknown', 'cancelled'] as const),
] satisfies ReceiptStatus[];

/** What receipts are searched by; everything that is given must hold. `from` is within, `to` is not. */
export class ReceiptFilterQuery {
  @IsOptional()
  @IsPlainText(128)
  external_id?: string;

  @IsOptional()
  @IsIn(RECEIPT_STATUSES)
  status?: ReceiptStatus;

  @IsOptional()
  @IsIn(RECEIPT_TYPES)
  type?: ReceiptType;

  @IsOptional()
  @IsPlainText(64)
  device_id?: string;

  /** Our id or the merchant's own code. */
  @IsOptional()
  @IsPlainText(128)
  branch_id?: string;

  /** Our id or the merchant's own code. */
  @IsOptional()
  @IsPlainText(128)
  cashier_id?: string;

  /** Tiyin, both ends within. */
  @IsOptional()
  @IsTiyinText()
  total_min?: string;

  @IsOptional()
  @IsTiyinText()
  total_max?: string;

  @IsOptional()
  @IsTimestamp()
  created_from?: string;

  @IsOptional()
  @IsTimestamp()
  created_to?: string;

  /** With `receipt_seq` the document that a buyer has: both stand on it and in its verification link. */
  @IsOptional()
  @IsPlainText(64)
  terminal_id?: string;

  /** Needs `terminal_id`: each terminal counts by itself. */
  @IsOptional()
  @Matches(/^[1-9]\d{0,15}$/, { message: 'receipt_seq must be a number from 1 on, of at most 16 digits' })
  receipt_seq?: string;

  /** When the register registered it; these receipts come in the order of their registration. */
  @IsOptional()
  @IsTimestamp()
  registered_from?: string;

  @IsOptional()
  @IsTimestamp()
  registered_to?: string;
}

export class ReceiptQuery extends ReceiptFilterQuery implements PageQuery {
  /** 1–100, default 20. */
  @IsOptional()
  @Matches(/^([1-9]\d?|100)$/, { message: 'limit must be a number from 1 to 100' })
  limit?: string;

  /** `next_cursor` of the page before. */
  @IsOptional()
  @IsString()
  @MaxLength(100)
  cursor?: string;
}

export const EXPORT_FORMATS = ['csv', 'ndjson', 'xlsx'] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

export class ExportQuery extends ReceiptFilterQuery {
  /** Default ndjson. */
  @IsOptional()
  @IsIn(EXPORT_FORMATS)
  format?: ExportFormat;
}
