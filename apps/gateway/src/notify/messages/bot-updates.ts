import { timingSafeEqual } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { PrismaService, type Prisma } from '#database';
import { holdReceipt } from '#ledger';
import {
  maskedAddress,
  readPhone,
  readTelegramUpdate,
  TelegramClient,
  type MessageLanguage,
  type TelegramReply,
  type TelegramUpdate,
} from '#messages';
import { newId, sha256 } from '#runtime';
import { ReceiptUrls } from '../../receipts/receipt-url.js';
import { AddressBook } from './address-book.js';
import { reader } from './account-rows.js';
import { BOT_WORDS, botLanguage } from './bot-words.js';
import type { OpenMessageAccount } from './message-accounts.js';
import { MessageReach } from './message-reach.js';
import { insertMessages } from './message-rows.js';
import { stopAddress } from './stop-sending.js';

/** Of one bot, each with a phone of its own: as many buyers as a chain has, and not as many as a made-up list of them. */
const MAX_CHATS = 200_000;
/** Of one receipt to one chat: a link that is opened again and again sends no more. */
const MAX_OF_CHAT = 5;

type Update<Kind extends TelegramUpdate['kind']> = Extract<TelegramUpdate, { kind: Kind }>;
type Words = (typeof BOT_WORDS)[MessageLanguage];

interface Conversation {
  account: OpenMessageAccount;
  chatId: string;
  chatHash: Uint8Array<ArrayBuffer>;
  language: MessageLanguage;
}

/**
 * What buyers say to a merchant's bot. A receipt comes to the chat that opens its link with the bot; receipts of a phone come only to the
 * chat whose owner has proven it to Telegram.
 */
@Injectable()
export class BotUpdates {
  constructor(
    private readonly prisma: PrismaService,
    private readonly book: AddressBook,
    private readonly urls: ReceiptUrls,
    private readonly reach: MessageReach,
  ) {}

  /** Whether Telegram has sent it: with the secret that the merchant gave it (`secret_token`). */
  isFromTelegram({ values }: OpenMessageAccount, secret: string | undefined): boolean {
    const expected = Buffer.from(sha256(values['webhook_secret'] ?? ''));
    return secret !== undefined && timingSafeEqual(Buffer.from(sha256(secret)), expected);
  }

  async handle(account: OpenMessageAccount, body: unknown): Promise<void> {
    const update = readTelegramUpdate(body);
    if (!update || update.kind === 'other') return;
    const { chatId } = update;
    const chatHash = await this.book.hash('telegram', chatId);
    const conversation = { account, chatId, chatHash, language: botLanguage(update.language) };
    const reply = await this.replyTo(update, conversation);
    await this.say(account, { chatId, ...reply });
  }

  private replyTo(
    update: Exclude<TelegramUpdate, { kind: 'other' }>,
    conversation: Conversation,
  ): Promise<Omit<TelegramReply, 'chatId'>> {
    switch (update.kind) {
      case 'start':
        return this.start(update, conversation);
      case 'stop':
        return this.stop(conversation);
      case 'own_contact':
        return this.prove(update, conversation);
      case 'foreign_contact':
        return Promise.resolve(withButton(BOT_WORDS[conversation.language], (words) => words.foreign));
    }
  }

  private async start(
    { payload }: Update<'start'>,
    conversation: Conversation,
  ): Promise<Omit<TelegramReply, 'chatId'>> {
    const words = BOT_WORDS[conversation.language];
    const { merchantId } = conversation.account;
    const [isProven, merchant] = await Promise.all([
      this.begin(conversation),
      this.prisma.merchant.findFirst({ where: { id: merchantId }, select: { name: true } }),
    ]);
    const receiptId = payload === null ? null : this.urls.receiptIdOf(receiptToken(payload));
    const isSent = receiptId === null || (await this.sendReceipt(receiptId, conversation));
    const lines = [words.welcome.replace('{merchant}', () => merchant?.name ?? ''), ...(isSent ? [] : [words.notYet])];
    if (isProven) return { text: lines.join('\n\n'), keyboard: null };
    return withButton(words, () => [...lines, words.offer].join('\n\n'));
  }

  /** Coming back is consent. A chat without a phone gets no row of its own: anyone may open one. @returns whether a phone has been proven here */
  private begin({ account, chatHash, language }: Conversation): Promise<boolean> {
    return this.prisma.$transaction(async (tx) => {
      await endSuppression(tx, account.merchantId, chatHash);
      const proven = await tx.botChat.updateMany({
        where: { accountId: account.id, chatHash, phoneHash: { not: null } },
        data: { language, usedAt: new Date() },
      });
      return proven.count > 0;
    });
  }

  /** @returns whether the receipt is registered, and so on its way or sent already */
  private async sendReceipt(
    receiptId: string,
    { account, chatId, chatHash, language }: Conversation,
  ): Promise<boolean> {
    const { id: accountId, merchantId } = account;
    return this.prisma.$transaction(async (tx) => {
      if ((await holdReceipt(tx, merchantId, receiptId)) !== 'registered') return false;
      // Two openings at the same time count each other.
      await tx.$queryRaw`SELECT id FROM message_accounts WHERE id = ${accountId} FOR NO KEY UPDATE`;
      const sent = await tx.message.findMany({
        where: { receiptId, accountId, addressHash: chatHash },
        select: { state: true },
      });
      const isWaiting = sent.some(({ state }) => state === 'pending' || state === 'sending');
      if (isWaiting || sent.length >= MAX_OF_CHAT) return true;
      const message = {
        merchantId,
        receiptId,
        accountId,
        language,
        channel: 'telegram',
        source: 'bot',
        address: chatId,
      } as const;
      await insertMessages(tx, this.book, [message]);
      return true;
    });
  }

  /** The newest chat that proves a phone has it: another one of the same phone has changed hands. */
  private async prove(
    { phone }: Update<'own_contact'>,
    conversation: Conversation,
  ): Promise<Omit<TelegramReply, 'chatId'>> {
    const words = BOT_WORDS[conversation.language];
    const reading = readPhone(phone);
    if (reading.kind === 'invalid') return { text: words.noPhone, keyboard: { kind: 'none' } };
    const phoneHash = await this.book.hash('sms', reading.address);
    const isKept = await this.keep(conversation, phoneHash);
    return { text: isKept ? words.proven : words.full, keyboard: { kind: 'none' } };
  }

  /** @returns false: the bot has as many chats as it may have */
  private keep(
    { account, chatId, chatHash, language }: Conversation,
    phoneHash: Uint8Array<ArrayBuffer>,
  ): Promise<boolean> {
    const { id: accountId, merchantId } = account;
    return this.prisma.$transaction(async (tx) => {
      await lockAccount(tx, accountId);
      await endSuppression(tx, merchantId, chatHash);
      await tx.botChat.deleteMany({ where: { accountId, phoneHash, chatHash: { not: chatHash } } });
      const id = newId('cht');
      const kept = await tx.$executeRaw`
        INSERT INTO bot_chats (id, merchant_id, account_id, chat_hash, chat_sealed, language, phone_hash)
        SELECT ${id}, ${merchantId}, ${accountId}, ${chatHash}, ${this.book.sealChat(id, chatId)}, ${language}, ${phoneHash}
         WHERE EXISTS (SELECT FROM bot_chats WHERE account_id = ${accountId} AND chat_hash = ${chatHash})
            OR (SELECT count(*) FROM (SELECT FROM bot_chats WHERE account_id = ${accountId} LIMIT ${MAX_CHATS}) AS kept) < ${MAX_CHATS}
        ON CONFLICT (account_id, chat_hash) DO UPDATE
          SET phone_hash = EXCLUDED.phone_hash, language = EXCLUDED.language, used_at = now()`;
      return kept > 0;
    });
  }

  private async stop({ account, chatId, chatHash, language }: Conversation): Promise<Omit<TelegramReply, 'chatId'>> {
    const { id: accountId, merchantId } = account;
    const addressHint = maskedAddress('telegram', chatId);
    await this.prisma.$transaction(async (tx) => {
      // What stays is the digest of the suppressed address: it keeps others from writing there.
      await tx.botChat.deleteMany({ where: { accountId, chatHash } });
      const address = { merchantId, channel: 'telegram', addressHash: chatHash, addressHint } as const;
      await stopAddress(tx, { ...address, reason: 'stopped', messageId: null });
    });
    return { text: BOT_WORDS[language].stopped, keyboard: { kind: 'none' } };
  }

  /** Once: what a chat does not get is said again when it asks again. */
  private async say({ values }: OpenMessageAccount, reply: TelegramReply): Promise<void> {
    const read = reader('telegram', values);
    await new TelegramClient({ apiUrl: read('api_url'), token: read('token') }, this.reach).reply(reply);
  }
}

/** A start parameter has no dot: it stands as an underscore at the same place (telegramStart of receipt-html.ts). */
function receiptToken(payload: string): string {
  return `${payload.slice(0, 26)}.${payload.slice(27)}`;
}

function withButton(words: Words, text: (words: Words) => string): Omit<TelegramReply, 'chatId'> {
  return { text: text(words), keyboard: { kind: 'contact', label: words.share } };
}

async function endSuppression(
  tx: Prisma.TransactionClient,
  merchantId: string,
  addressHash: Uint8Array<ArrayBuffer>,
): Promise<void> {
  await tx.suppression.deleteMany({
    where: { merchantId, channel: 'telegram', addressHash, reason: { in: ['stopped', 'bounce'] } },
  });
}

async function lockAccount(tx: Prisma.TransactionClient, id: string): Promise<void> {
  await tx.$queryRaw`SELECT id FROM message_accounts WHERE id = ${id} FOR NO KEY UPDATE`;
}
