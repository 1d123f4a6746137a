import type { Prisma } from '#database';

export interface ProvenChat {
  id: string;
  chat_sealed: Uint8Array;
}

/** The chat whose owner has proven this phone. It is used with that, which is noted once a day: not each receipt writes its row. */
export async function chatOfPhone(
  db: Pick<Prisma.TransactionClient, '$queryRaw'>,
  accountId: string,
  phoneHash: Uint8Array<ArrayBuffer>,
): Promise<ProvenChat | null> {
  const [chat] = await db.$queryRaw<ProvenChat[]>`
    WITH chat AS (
      SELECT id, chat_sealed, used_at FROM bot_chats
       WHERE account_id = ${accountId} AND phone_hash = ${phoneHash} AND stopped_at IS NULL
    ), used AS (
      -- Who holds the row changes the chat itself: it is waited for by no planning of events, and noted with the next receipt.
      UPDATE bot_chats SET used_at = now()
       WHERE id = (SELECT b.id FROM bot_chats b JOIN chat USING (id) WHERE chat.used_at < now() - interval '1 day'
                      FOR NO KEY UPDATE OF b SKIP LOCKED)
    )
    SELECT id, chat_sealed FROM chat`;
  return chat ?? null;
}
