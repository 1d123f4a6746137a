import { createHmac, randomBytes } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { chatOwner, messageAddressOwner, messageKeyOwner, PrismaService } from '#database';
import { addressKey, type MessageChannel } from '#messages';
import { open, seal } from '#secrets';
import type { GatewaySettings } from '../../settings.js';
import { SETTINGS_TOKEN } from '../../tokens.js';

const KEY_ID = 'addresses';
const KEY_BYTES = 32;

/**
 * Addresses of buyers: sealed where they are kept, and found by a keyed digest. The digest's key is the installation's own and
 * outlives a change of SECRETS_KEY, so that an address which was stopped stays so.
 */
@Injectable()
export class AddressBook {
  private key: Promise<Buffer> | null = null;

  constructor(
    private readonly prisma: PrismaService,
    @Inject(SETTINGS_TOKEN) private readonly settings: Pick<GatewaySettings, 'SECRETS_KEY'>,
  ) {}

  async hash(channel: MessageChannel, address: string): Promise<Uint8Array<ArrayBuffer>> {
    const digest = createHmac('sha256', await this.hashKey()).update(`${channel}|${addressKey(channel, address)}`);
    return new Uint8Array(digest.digest());
  }

  sealAddress(messageId: string, address: string): Uint8Array<ArrayBuffer> {
    return new Uint8Array(seal(address, messageAddressOwner(messageId), this.settings.SECRETS_KEY));
  }

  openAddress(messageId: string, sealed: Uint8Array): string {
    return open(sealed, messageAddressOwner(messageId), this.settings.SECRETS_KEY);
  }

  sealChat(id: string, chat: string): Uint8Array<ArrayBuffer> {
    return new Uint8Array(seal(chat, chatOwner(id), this.settings.SECRETS_KEY));
  }

  openChat(id: string, sealed: Uint8Array): string {
    return open(sealed, chatOwner(id), this.settings.SECRETS_KEY);
  }

  private hashKey(): Promise<Buffer> {
    this.key ??= this.readKey().catch((error: unknown) => {
      this.key = null;
      throw error;
    });
    return this.key;
  }

  /** Made by the first gateway that needs it; of two that come together, one writes it and both read it. */
  private async readKey(): Promise<Buffer> {
    const ring = this.settings.SECRETS_KEY;
    const made = seal(randomBytes(KEY_BYTES).toString('base64'), messageKeyOwner(KEY_ID), ring);
    await this.prisma.$executeRaw`
      INSERT INTO message_keys (id, key_sealed) VALUES (${KEY_ID}, ${made}) ON CONFLICT DO NOTHING`;
    const row = await this.prisma.messageKey.findFirstOrThrow({ where: { id: KEY_ID } });
    return Buffer.from(open(row.keySealed, messageKeyOwner(KEY_ID), ring), 'base64');
  }
}
