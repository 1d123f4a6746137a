import { Injectable } from '@nestjs/common';
import { PrismaService, type Prisma, type StoredReceiptDocument } from '#database';
import { findReceipt, holdReceipt } from '#ledger';
import { Problem } from '#problems';
import { readAddress, readEmail, readPhone, type MessageChannel, type MessageLanguage } from '#messages';
import { pageOf, pageRequest, type Page } from '../../http/paging.js';
import { missingReceipt } from '../../receipts/missing-receipt.js';
import { AddressBook } from './address-book.js';
import type { AccountRow } from './account-rows.js';
import { chatOfPhone } from './chat-of-phone.js';
import { MessageAccounts } from './message-accounts.js';
import type { MessagesQuery, SendReceiptBody } from './message-bodies.js';
import { insertMessages, type MessageSource } from './message-rows.js';
import { messageView, WITH_ATTEMPTS, type MessageView } from './message-view.js';

/** Of one receipt, from all sources together. */
const MAX_OF_RECEIPT = 20;

/** Who asks for a message, and what bounds that. */
export interface Asking {
  source: MessageSource;
  /** Throws where it is too often. What is counted there holds: no other message of the account is being written. */
  admit?: (tx: Prisma.TransactionClient, addressHash: Uint8Array<ArrayBuffer>) => Promise<void>;
}

interface RegisteredReceipt {
  id: string;
  merchantId: string;
  document: StoredReceiptDocument;
}

/** Messages of receipts: sent on request, and read. */
@Injectable()
export class ReceiptMessages {
  constructor(
    private readonly prisma: PrismaService,
    private readonly accounts: MessageAccounts,
    private readonly book: AddressBook,
  ) {}

  /**
   * One more message of a receipt; while one to the same address is still to be sent, that one.
   * @throws Problem 404, 409, 410, 422; what `admit` throws
   */
  async send(
    merchantId: string,
    receiptId: string,
    body: SendReceiptBody,
    { source, admit }: Asking,
  ): Promise<MessageView> {
    const receipt = await this.registered(merchantId, receiptId);
    const account = await this.accounts.ofChannel(merchantId, body.channel);
    if (!account) throw Problem.at('/channel', 'channel_not_configured', `There is no account for ${body.channel}.`);
    if (account.disabledAt !== null)
      throw new Problem('account_disabled', account.disabledReason ?? 'The account is disabled.');
    const address = await this.addressOf(account, body, receipt.document);
    const hash = await this.book.hash(body.channel, address);
    const language: MessageLanguage = body.language ?? receipt.document.notify?.language ?? 'uz';
    const id = await this.prisma.$transaction(async (tx) => {
      if ((await holdReceipt(tx, merchantId, receiptId)) === null)
        throw await missingReceipt(tx, merchantId, receiptId);
      // Two at the same time count each other.
      await tx.$queryRaw`SELECT id FROM message_accounts WHERE id = ${account.id} FOR NO KEY UPDATE`;
      await admit?.(tx, hash);
      const of = { receiptId, channel: body.channel, addressHash: hash, source };
      const waiting = await tx.message.findFirst({ where: { ...of, OR: standing(account.id) } });
      if (waiting) return waiting.id;
      const stopped = await tx.suppression.findFirst({
        where: { merchantId, channel: body.channel, addressHash: hash },
      });
      if (stopped) throw new Problem('address_suppressed', `No messages go to this address: ${stopped.reason}.`);
      if ((await tx.message.count({ where: { receiptId } })) >= MAX_OF_RECEIPT)
        throw new Problem('message_limit_reached', `A receipt is sent at most ${MAX_OF_RECEIPT} times.`);
      const message = {
        merchantId,
        receiptId,
        channel: body.channel,
        source,
        language,
        address,
        accountId: account.id,
      };
      const [made = ''] = await insertMessages(tx, this.book, [message]);
      return made;
    });
    const row = await this.prisma.message.findFirstOrThrow({ where: { id }, include: WITH_ATTEMPTS });
    return messageView(row);
  }

  /** Newest first. @throws Problem 404, 410 */
  async ofReceipt(merchantId: string, receiptId: string, query: MessagesQuery): Promise<Page<MessageView>> {
    if (!(await findReceipt(this.prisma, merchantId, receiptId)))
      throw await missingReceipt(this.prisma, merchantId, receiptId);
    return this.page({ receiptId }, query);
  }

  /** Newest first. */
  ofMerchant(merchantId: string, query: MessagesQuery): Promise<Page<MessageView>> {
    return this.page({ merchantId }, query);
  }

  private async page(
    where: { receiptId: string } | { merchantId: string },
    query: MessagesQuery,
  ): Promise<Page<MessageView>> {
    const { limit, afterId } = pageRequest(query, 'msg');
    const rows = await this.prisma.message.findMany({
      where: {
        ...where,
        ...(query.state !== undefined && { state: query.state }),
        ...(afterId !== null && { id: { lt: afterId } }),
      },
      ...{ orderBy: { id: 'desc' }, take: limit + 1, include: WITH_ATTEMPTS },
    });
    return pageOf(rows, limit, messageView);
  }

  /** @throws Problem 404, 410; 409: what is not registered is no receipt */
  private async registered(merchantId: string, id: string): Promise<RegisteredReceipt> {
    const row = await findReceipt(this.prisma, merchantId, id);
    if (!row) throw await missingReceipt(this.prisma, merchantId, id);
    if (row.status !== 'registered') throw new Problem('receipt_not_registered', 'Only a registered receipt is sent.');
    return { id, merchantId, document: row.document };
  }

  private async addressOf(
    account: AccountRow,
    body: SendReceiptBody,
    { customer }: StoredReceiptDocument,
  ): Promise<string> {
    const { channel } = body;
    // Documents of earlier releases may hold null for an address that was not given.
    const given = body.to ?? (channel === 'email' ? customer?.email : customer?.phone) ?? null;
    if (given === null) throw Problem.at('/to', 'required', 'The receipt’s customer has no such address: name one.');
    const reading = channel === 'email' ? readEmail(given) : readPhone(given);
    if (reading.kind === 'invalid') throw Problem.at('/to', 'invalid_format', `to ${reading.reason}`);
    return channel === 'telegram' ? this.chatOf(account.id, reading.address) : reading.address;
  }

  private async chatOf(accountId: string, phone: string): Promise<string> {
    const phoneHash = await this.book.hash('sms', phone);
    const chat = await chatOfPhone(this.prisma, accountId, phoneHash);
    if (!chat) throw Problem.at('/to', 'invalid_value', 'No buyer has proven this phone to the bot.');
    return this.book.openChat(chat.id, chat.chat_sealed);
  }
}

/** One that waits for an account that was deleted since is never sent; one that it has tried to send may have arrived. */
function standing(accountId: string): Prisma.MessageWhereInput[] {
  return [{ state: { in: ['sending', 'unclear'] } }, { state: 'pending', accountId }];
}

/** @throws Problem 422 */
export function addressOrThrow(channel: MessageChannel, text: string, pointer: string): string {
  const reading = readAddress(channel, text);
  if (reading.kind === 'ok') return reading.address;
  throw Problem.at(pointer, 'invalid_format', `${pointer.slice(1)} ${reading.reason}`);
}
