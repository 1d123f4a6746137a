import type { Prisma } from '#database';
import { notFound } from '../http/own-id.js';

export interface LockedClient {
  scopes: string[];
  signingPolicy: 'auto' | 'off' | 'writes' | 'all';
}

/**
 * Holds the client's row: changes of its keys stand one after another.
 * @throws Problem 404: missing, or another merchant's
 */
export async function lockOwnClient(
  tx: Prisma.TransactionClient,
  merchantId: string,
  clientId: string,
): Promise<LockedClient> {
  const [client] = await tx.$queryRaw<LockedClient[]>`
    SELECT scopes, signing_policy::text AS "signingPolicy" FROM oauth_clients
     WHERE id = ${clientId} AND merchant_id = ${merchantId} FOR NO KEY UPDATE`;
  if (!client) throw notFound('client');
  return client;
}
