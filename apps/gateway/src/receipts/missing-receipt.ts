import type { PrismaService } from '#database';
import { findArchiveOf } from '#ledger';
import { Problem } from '#problems';
import { notFound } from '../http/own-id.js';

type Reading = Pick<PrismaService, '$queryRaw'>;

/** What is answered about a receipt that is not in the database. */
export async function missingReceipt(database: Reading, merchantId: string, id: string): Promise<Problem> {
  const archive = await findArchiveOf(database, merchantId, id);
  return archive === null ? notFound('receipt') : receiptArchived(archive);
}

export function noSuchAddress(): Problem {
  return new Problem('not_found', 'There is no receipt at this address.');
}

/** The same for who holds its address alone. */
export async function missingAtAddress(database: Reading, id: string): Promise<Problem> {
  const isArchived = (await findArchiveOf(database, null, id)) !== null;
  if (!isArchived) return noSuchAddress();
  return new Problem(
    'receipt_archived',
    'The receipt is older than receipts are kept at this address; ask the seller.',
  );
}

export function receiptArchived(archive: string): Problem {
  const detail = `The receipt has left for the archive ${archive}; the operator of the gateway can bring it back for a time.`;
  return new Problem('receipt_archived', detail);
}

/** For what asks about a time of which receipts have left: nothing of it would be whole. @param until of the newest that has */
export function receiptsArchived(until: Date): Problem {
  const detail =
    `Receipts up to ${until.toISOString()} have left for the archive: ask about a later time, ` +
    'or have the operator of the gateway bring them back for a time.';
  return new Problem('receipt_archived', detail);
}
