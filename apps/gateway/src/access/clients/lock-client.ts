import type { Prisma } from '#database';
import { notFound } from '../../http/own-id.js';
import { refuseStrongerClient, type Administrator } from './client-administrator.js';
import type { OauthClientRow } from './client-view.js';

/**
 * A client that is about to be changed, held until the end of the transaction. Every change of a client and of its keys
 * begins here, so that none of them is open to a token with fewer scopes than the client has.
 * @throws Problem 404; 403 scope_not_held
 */
export async function lockClient(
  tx: Prisma.TransactionClient,
  administrator: Administrator,
  id: string,
): Promise<OauthClientRow> {
  const { merchantId } = administrator;
  await tx.$queryRaw`SELECT id FROM oauth_clients WHERE id = ${id} AND merchant_id = ${merchantId} FOR NO KEY UPDATE`;
  return changeableClient(tx, administrator, id);
}

/**
 * The client, if the caller may change it; for what costs much before the change.
 * @throws Problem 404; 403 scope_not_held
 */
export async function changeableClient(
  database: Prisma.TransactionClient,
  administrator: Administrator,
  id: string,
): Promise<OauthClientRow> {
  const { merchantId } = administrator;
  const row = await database.oauthClient.findFirst({ where: { id, merchantId } });
  if (!row) throw notFound('client');
  refuseStrongerClient(administrator, row.scopes);
  return row;
}
