import { Type } from 'class-transformer';
import { ArrayMaxSize, ArrayMinSize, IsArray, IsOptional, ValidateNested } from 'class-validator';
import { IsMetadata } from '../http/body-constraints.js';
import { ItemBody, ReceiptBody } from '../receipts/receipt-body.js';
import { IsBoundedText } from '../http/body-rules.js';

/** Of one payment, the first one included. */
const MAX_RECEIPTS = 20;

/** Another seller's receipt of the same payment: what it leaves out is as in the first one. */
export class FurtherReceiptBody {
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(500)
  @ValidateNested({ each: true })
  @Type(() => ItemBody)
  items!: ItemBody[];

  /** Our id or the merchant's own code. Left out: the first receipt's, and its branch. */
  @IsOptional()
  @IsBoundedText(128)
  cashier_id?: string;

  /** Our id or the merchant's own code. */
  @IsOptional()
  @IsBoundedText(128)
  branch_id?: string;

  /** Left out: a register of its cashier's branch, not the first receipt's. */
  @IsOptional()
  @IsBoundedText(64)
  device_id?: string;

  @IsOptional()
  @IsBoundedText(128)
  external_id?: string;

  /** At most 50 texts of the caller's own. */
  @IsOptional()
  @IsMetadata()
  metadata?: Record<string, string>;
}

/** Body of POST /v1/payments: a receipt's, and the receipts of other sellers that the same money is for. */
export class PaymentRequestBody extends ReceiptBody {
  /** All are registered, or the money goes back and none stays. Customer, message and callback are those of the first. */
  @IsOptional()
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(MAX_RECEIPTS - 1)
  @ValidateNested({ each: true })
  @Type(() => FurtherReceiptBody)
  further_receipts?: FurtherReceiptBody[];
}

/** Another seller's receipt as a body of its own, and the pointer to where it stands in the request. */
export interface PointedBody {
  pointer: string;
  body: ReceiptBody;
}

/** Each receipt of a payment as POST /v1/receipts would take it. */
export function receiptBodies(body: PaymentRequestBody): { first: ReceiptBody; further: PointedBody[] } {
  const { further_receipts: others = [], ...first } = body;
  const further = others.map((other, index) => ({
    pointer: `/further_receipts/${String(index)}`,
    body: asReceipt(first, other),
  }));
  return { first, further };
}

function asReceipt(first: ReceiptBody, other: FurtherReceiptBody): ReceiptBody {
  const { payment, customer, callback_url, notify, cashier_id: cashier, branch_id: branch } = first;
  const place =
    other.cashier_id === undefined ? { cashier_id: cashier, ...(branch !== undefined && { branch_id: branch }) } : {};
  return {
    payment,
    ...(customer !== undefined && { customer }),
    ...(callback_url !== undefined && { callback_url }),
    ...(notify !== undefined && { notify }),
    ...place,
    ...other,
    cashier_id: other.cashier_id ?? cashier,
  };
}
