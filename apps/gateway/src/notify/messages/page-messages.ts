import { Injectable } from '@nestjs/common';
import { PrismaService, type Prisma } from '#database';
import { findOwner } from '#ledger';
import { Problem } from '#problems';
import { readEmail, readPhone } from '#messages';
import { missingAtAddress } from '../../receipts/missing-receipt.js';
import { ReceiptMessages } from './receipt-messages.js';
import { stopAddressOf } from './stop-sending.js';

/**
 * What a reader of a page may have sent: a link that was passed on must be no way to spend a merchant's money, or to fill the mailbox
 * of another person.
 */
const MAX_OF_RECEIPT = { email: 3, sms: 1 } as const;
const MAX_TO_ADDRESS_A_DAY = 5;
const MAX_OF_MERCHANT_AN_HOUR = 200;

export type PageChannel = keyof typeof MAX_OF_RECEIPT;

/** What a reader of a receipt's page asks for. */
@Injectable()
export class PageMessages {
  constructor(
    private readonly prisma: PrismaService,
    private readonly messages: ReceiptMessages,
  ) {}

  /** @returns the masked address @throws Problem 404, 409, 422, 429 */
  async send(
    receiptId: string,
    { channel, to, language }: { channel: PageChannel; to: string; language: 'uz' | 'ru' | 'en' },
  ): Promise<string> {
    const merchantId = await findOwner(this.prisma, receiptId);
    if (merchantId === null) throw await missingAtAddress(this.prisma, receiptId);
    const reading = channel === 'email' ? readEmail(to) : readPhone(to);
    if (reading.kind === 'invalid') {
      throw Problem.at('/to', 'invalid_format', `to ${reading.reason}`);
    }
    const sent = await this.messages.send(
      merchantId,
      receiptId,
      { channel, to: reading.address, language },
      {
        source: 'page',
        admit: (tx, addressHash) => refuseTooMany(tx, { merchantId, receiptId, channel, addressHash }),
      },
    );
    return sent.to;
  }

  /** No more messages of the merchant go to the addresses to which this receipt was sent. @returns them, masked */
  async stop(receiptId: string): Promise<string[]> {
    const sent = await this.prisma.message.findMany({
      where: { receiptId, source: { in: ['sale', 'api'] } },
      take: 20,
    });
    await this.prisma.$transaction(async (tx) => {
      for (const message of sent) await stopAddressOf(tx, message, 'stopped');
    });
    return [...new Set(sent.map(({ addressHint }) => addressHint))];
  }
}

/**
 * Behind the lock of the merchant's account. An address is of no merchant, so it has a lock of its own, always taken last.
 * @throws Problem 429
 */
async function refuseTooMany(
  tx: Prisma.TransactionClient,
  {
    merchantId,
    receiptId,
    channel,
    addressHash,
  }: { merchantId: string; receiptId: string; channel: PageChannel; addressHash: Uint8Array<ArrayBuffer> },
): Promise<void> {
  const place = `messages to ${Buffer.from(addressHash).toString('hex')}`;
  await tx.$executeRaw`SELECT pg_advisory_xact_lock(hashtextextended(${place}, 0))`;
  const ofReceipt = await tx.message.count({ where: { receiptId, channel, source: 'page' } });
  const toAddress = await tx.message.count({ where: { addressHash, source: 'page', createdAt: { gt: ago(24) } } });
  const ofMerchant = await tx.message.count({ where: { merchantId, source: 'page', createdAt: { gt: ago(1) } } });
  if (ofReceipt < MAX_OF_RECEIPT[channel] && toAddress < MAX_TO_ADDRESS_A_DAY && ofMerchant < MAX_OF_MERCHANT_AN_HOUR)
    return;
  throw new Problem('too_many_requests', 'It has been sent often enough; the link above stays.', {
    retryAfterSeconds: 3_600,
  });
}

function ago(hours: number): Date {
  return new Date(Date.now() - hours * 3_600_000);
}
