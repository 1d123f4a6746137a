import type { Prisma } from '#database';
import { maskedAddress, type MessageChannel } from '#messages';
import { newId } from '#runtime';
import type { AddressBook } from './address-book.js';

type Tx = Pick<Prisma.TransactionClient, '$executeRaw' | '$queryRaw'>;

export type MessageSource = 'sale' | 'api' | 'page' | 'bot' | 'test';

export interface NewMessage {
  merchantId: string;
  receiptId: string;
  accountId: string;
  channel: MessageChannel;
  source: MessageSource;
  language: string;
  address: string;
}

/**
 * Writes messages and wakes their accounts. A sale's message over a channel is written once, whatever event comes again.
 * @returns their ids, in the same order; of one that was there already an id that no row has
 */
export async function insertMessages(tx: Tx, book: AddressBook, messages: readonly NewMessage[]): Promise<string[]> {
  if (messages.length === 0) return [];
  const rows = await Promise.all(messages.map((message) => rowOf(message, book)));
  await tx.$executeRaw`
    INSERT INTO messages (id, merchant_id, receipt_id, account_id, channel, source, language, address_sealed, address_hash,
                          address_hint)
    SELECT m.id, m.merchant_id, m.receipt_id, m.account_id, m.channel, m.source, m.language, decode(m.sealed, 'hex'),
           decode(m.hash, 'hex'), m.hint
      FROM json_to_recordset(${JSON.stringify(rows)}::json) AS m(
             id text, merchant_id text, receipt_id text, account_id text, channel message_channel, source message_source,
             language text, sealed text, hash text, hint text)
     ORDER BY m.id
    ON CONFLICT (receipt_id, channel) WHERE source = 'sale' DO NOTHING`;
  await wakeAccounts(tx, [...new Set(messages.map(({ accountId }) => accountId))].sort());
  return rows.map(({ id }) => id);
}

/** Something is due for them. The gateway that has one in hand sees by `wakes` that more has come. */
export async function wakeAccounts(tx: Tx, accountIds: readonly string[]): Promise<void> {
  await tx.$executeRaw`
    UPDATE message_accounts a SET due_at = least(a.due_at, now()), wakes = a.wakes + 1
      FROM (SELECT id FROM message_accounts WHERE id = ANY(${[...accountIds]}::text[]) ORDER BY id FOR NO KEY UPDATE) AS w
     WHERE a.id = w.id`;
}

async function rowOf(message: NewMessage, book: AddressBook): Promise<{ id: string } & Record<string, string>> {
  const { address, channel, merchantId, receiptId, accountId } = message;
  const id = newId('msg');
  return {
    ...{ id, merchant_id: merchantId, receipt_id: receiptId, account_id: accountId },
    ...{ channel, source: message.source, language: message.language },
    sealed: Buffer.from(book.sealAddress(id, address)).toString('hex'),
    hash: Buffer.from(await book.hash(channel, address)).toString('hex'),
    hint: maskedAddress(channel, address),
  };
}
