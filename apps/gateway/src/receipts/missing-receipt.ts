import type { PrismaService } from '#database';
import { archivedWithin, findArchiveOf, type Span } from '#ledger';
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

/**
 * For what asks about times of which receipts have left: nothing of it would be whole.
 * @throws Problem 410
 */
export async function expectWhole(database: Reading, merchantId: string, spans: readonly Span[]): Promise<void> {
  for (const span of spans) {
    const until = await archivedWithin(database, merchantId, span);
    if (until === null) continue;
    const detail =
      `Receipts of this time up to ${until.toISOString()} have left for the archive: ask about a later one, ` +
      'or have the operator of the gateway bring them back for a time.';
    throw new Problem('receipt_archived', detail);
  }
}

/**
 * What is read of these times, all of it. Asked before for what comes back meanwhile, and once more for what leaves.
 * @throws Problem 410
 */
export async function readWhole<T>(
  database: Reading,
  { merchantId, spans }: { merchantId: string; spans: readonly Span[] },
  read: () => Promise<T>,
): Promise<T> {
  await expectWhole(database, merchantId, spans);
  const found = await read();
  await expectWhole(database, merchantId, spans);
  return found;
}

/** The sale was brought back, and a refund of it was not: what is left of a sale is counted from its refunds. */
export function refundArchived(archive: string): Problem {
  const detail = `A refund of the receipt is in the archive ${archive}: the operator of the gateway has to bring it back before.`;
  return new Problem('receipt_archived', detail);
}
