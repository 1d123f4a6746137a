import type { Prisma } from '#database';
import { announceQuotas } from '#ledger';
import { Problem } from '#problems';

/** First key of the advisory lock under which a merchant's clients are counted. */
const COUNT_LOCK_SPACE = 0x434c; // "CL"

/** Before one more client that is not disabled. Serialised per merchant: the count must hold until the commit. @throws Problem 422 client_limit_reached */
export async function countClient(tx: Prisma.TransactionClient, merchantId: string): Promise<void> {
  await tx.$executeRaw`SELECT pg_advisory_xact_lock(${COUNT_LOCK_SPACE}::int4, hashtext(${merchantId}))`;
  const [row] = await tx.$queryRaw<{ quota: number | null; count: number }[]>`
    SELECT (quotas->>'clients')::int4 AS quota,
           (SELECT count(*)::int4 FROM oauth_clients WHERE merchant_id = m.id AND disabled_at IS NULL) AS count
      FROM merchants m WHERE id = ${merchantId}`;
  const quota = row?.quota ?? null;
  if (quota === null || !row) return;
  if (row.count >= quota)
    throw new Problem('client_limit_reached', `The merchant may have ${quota} clients that are not disabled.`);
  await announceQuotas(tx, [{ merchantId, quota: 'clients', limit: quota, used: row.count + 1 }]);
}
