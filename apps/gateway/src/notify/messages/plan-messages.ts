import { Injectable } from '@nestjs/common';
import type { Prisma, StoredNotify } from '#database';
import type { ReceiptCustomer } from '#fiscal-domain';
import { findBuyers, type Buyer } from '#ledger';
import { readEmail, readPhone, type MessageChannel } from '#messages';
import { AddressBook } from './address-book.js';
import { chatOfPhone } from './chat-of-phone.js';
import { insertMessages, type NewMessage } from './message-rows.js';

/** What a buyer gets a message of: a document that its register has recorded, and no other. */
export const MESSAGE_TYPES = ['receipt.registered', 'refund.registered'];

export interface PlannedForBuyer {
  merchant_id: string;
  subject_id: string;
  notify: StoredNotify | null;
}

interface Account {
  id: string;
  merchant_id: string;
  channel: MessageChannel;
}

/** Makes messages of the events that deliveries are made of, in the same transaction: once for each event, whichever program dies. */
@Injectable()
export class PlanMessages {
  constructor(private readonly book: AddressBook) {}

  async plan(tx: Prisma.TransactionClient, events: readonly PlannedForBuyer[]): Promise<void> {
    const wanted = new Map(
      events.flatMap((event) => (event.notify ? [[event.subject_id, event.notify] as const] : [])),
    );
    if (wanted.size === 0) return;
    const buyers = await findBuyers(tx, [...wanted.keys()]);
    const accounts = await tx.$queryRaw<Account[]>`
      SELECT id, merchant_id, channel::text FROM message_accounts
       WHERE merchant_id = ANY(${[...new Set(buyers.map((buyer) => buyer.merchant_id))]}::text[]) AND deleted_at IS NULL`;
    const found: NewMessage[] = [];
    for (const buyer of buyers) {
      const notify = wanted.get(buyer.id);
      if (notify) found.push(...(await this.messagesOf(tx, buyer, notify, accounts)));
    }
    await insertMessages(tx, this.book, found);
  }

  private async messagesOf(
    tx: Prisma.TransactionClient,
    { id: receiptId, merchant_id: merchantId, customer }: Buyer,
    { channels, language }: StoredNotify,
    accounts: readonly Account[],
  ): Promise<NewMessage[]> {
    const messages: NewMessage[] = [];
    for (const channel of channels) {
      const account = accounts.find((one) => one.merchant_id === merchantId && one.channel === channel);
      const address = account ? await this.addressOf(tx, account, customer) : null;
      // An account may have been removed since the sale, a chat not been begun yet.
      if (account && address !== null) {
        messages.push({
          ...{ merchantId, receiptId, channel, language, address },
          accountId: account.id,
          source: 'sale',
        });
      }
    }
    return messages;
  }

  private async addressOf(
    tx: Prisma.TransactionClient,
    account: Account,
    customer: ReceiptCustomer | null,
  ): Promise<string | null> {
    if (account.channel === 'email') return addressOrNull(readEmail(customer?.email ?? ''));
    const phone = addressOrNull(readPhone(customer?.phone ?? ''));
    if (phone === null || account.channel === 'sms') return phone;
    const hash = await this.book.hash('sms', phone);
    const chat = await chatOfPhone(tx, account.id, hash);
    return chat ? this.book.openChat(chat.id, chat.chat_sealed) : null;
  }
}

function addressOrNull(reading: ReturnType<typeof readEmail>): string | null {
  return reading.kind === 'ok' ? reading.address : null;
}
