import { at, keeper, runToEnd, sell } from './aged-attempts.js';
import type { OldSale } from './old-sales.js';

const TERMINAL = 'UZ000000000001';

/** A receipt of eight years ago whose attempt has left, at a terminal that has sold since. @returns its id */
export async function insertReceipt(sale: OldSale = {}): Promise<string> {
  const { receiptId } = await sell({ daysAgo: 3_010, terminal: TERMINAL, ...sale });
  await at.owner.query('DELETE FROM attempts WHERE receipt_id = $1', [receiptId]);
  return receiptId;
}

/** The newest registration of the terminal, which stays. */
export const newestReceipt = (): Promise<string> => insertReceipt({ daysAgo: 1 });

export const keepReceipts = (options: Parameters<typeof keeper>[0] = {}): Promise<void> => runToEnd(keeper(options));

export async function receipts(): Promise<{ id: string; row: string }[]> {
  return (
    await at.owner.query<{ id: string; row: string }>('SELECT id, receipt_line(r) AS row FROM receipts r ORDER BY id')
  ).rows;
}

export async function ids(): Promise<string[]> {
  return (await receipts()).map(({ id }) => id);
}
