/** Where a receipt stands. Which moves are legal, and who may make them: libs/ledger/src/moves.ts. */
export const RECEIPT_STATUSES = [
  'awaiting_payment',
  'accepted',
  'sending',
  'registered',
  'rejected',
  'unknown',
  'cancelled',
] as const;
export type ReceiptStatus = (typeof RECEIPT_STATUSES)[number];
