import { Injectable } from '@nestjs/common';
import { PrismaService } from '#database';
import { stopAddressOf } from './stop-sending.js';

export interface UnsubscribeFacts {
  merchant: string;
  /** Masked. */
  address: string;
  isEnded: boolean;
}

/** A buyer ends a merchant's messages to the address of a message. */
@Injectable()
export class Unsubscribe {
  constructor(private readonly prisma: PrismaService) {}

  /** Null: the message has been cleared away. */
  async about(messageId: string): Promise<UnsubscribeFacts | null> {
    const message = await this.find(messageId);
    if (!message) return null;
    const { merchantId, channel, addressHash, addressHint: address } = message;
    const stopped = await this.prisma.suppression.findFirst({
      where: { merchantId, channel, addressHash },
      select: { id: true },
    });
    return { merchant: await this.nameOf(merchantId), address, isEnded: stopped !== null };
  }

  /** Asked for twice it is ended once. */
  async end(messageId: string): Promise<UnsubscribeFacts | null> {
    const message = await this.find(messageId);
    if (!message) return null;
    await this.prisma.$transaction((tx) => stopAddressOf(tx, message, 'unsubscribed'));
    return { merchant: await this.nameOf(message.merchantId), address: message.addressHint, isEnded: true };
  }

  private find(id: string) {
    return this.prisma.message.findFirst({ where: { id } });
  }

  private async nameOf(id: string): Promise<string> {
    return (await this.prisma.merchant.findFirst({ where: { id }, select: { name: true } }))?.name ?? '';
  }
}
