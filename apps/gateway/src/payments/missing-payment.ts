import type { PrismaService } from '#database';
import { archivedPaymentsWithin, findArchiveOfPayment, type PaymentSpan } from '#ledger';
import { Problem } from '#problems';
import { notFound } from '../http/own-id.js';

type Reading = Pick<PrismaService, '$queryRaw'>;

/** What is answered about a payment that is not in the database. */
export async function missingPayment(database: Reading, merchantId: string, id: string): Promise<Problem> {
  const archive = await findArchiveOfPayment(database, merchantId, id);
  return archive === null ? notFound('payment') : paymentArchived(archive);
}

export function paymentArchived(archive: string): Problem {
  const detail = `The payment has left with its receipts for the archive ${archive}; the operator of the gateway can bring it back for a time.`;
  return new Problem('receipt_archived', detail);
}

/**
 * What is read of this time, all of it: nothing of a time from which payments have left. Asked before for what comes back meanwhile, and once more for
 * what leaves.
 * @throws Problem 410
 */
export async function readWholeTime<T>(database: Reading, span: PaymentSpan, read: () => Promise<T>): Promise<T> {
  await expectAllHere(database, span);
  const found = await read();
  await expectAllHere(database, span);
  return found;
}

async function expectAllHere(database: Reading, span: PaymentSpan): Promise<void> {
  const until = await archivedPaymentsWithin(database, span);
  if (until === null) return;
  const detail =
    `Payments of this time up to ${until.toISOString()} have left for the archive: ask about a later one, ` +
    'or have the operator of the gateway bring them back for a time.';
  throw new Problem('receipt_archived', detail);
}
