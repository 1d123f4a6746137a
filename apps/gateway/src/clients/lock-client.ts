import type { Prisma } from '#database';
import { notFound } from '../http/own-id.js';
import type { OauthClientRow } from './client-view.js';

/** The merchant's own client, held until the end of the transaction. @throws Problem 404 */
export async function lockClient(
  tx: Prisma.TransactionClient,
  merchantId: string,
  id: string,
): Promise<OauthClientRow> {
  await tx.$queryRaw`SELECT id FROM oauth_clients WHERE id = ${id} AND merchant_id = ${merchantId} FOR NO KEY UPDATE`;
  const row = await tx.oauthClient.findFirst({ where: { id, merchantId } });
  if (!row) throw notFound('client');
  return row;
}
