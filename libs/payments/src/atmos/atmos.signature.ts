import { createHash } from 'node:crypto';

/** The fields of a callback exactly as they came, as text. */
export interface AtmosSigned {
  storeId: string;
  transactionId: string;
  invoice: string;
  amount: string;
}

/** md5 of store, transaction, invoice, sum and the account's api_key. */
export function atmosSign({ storeId, transactionId, invoice, amount }: AtmosSigned, apiKey: string): string {
  return createHash('md5').update(`${storeId}${transactionId}${invoice}${amount}${apiKey}`).digest('hex');
}
