import { Injectable } from '@nestjs/common';
import { growingCache } from '#runtime';
import { SalesDatabase, StatementGroup } from '#database';
import type { MessageChannel } from '#messages';
import { readMerchantSettings, type MerchantSettings } from './merchant-settings.js';

/** What a receipt of a merchant is held to. */
export interface ReceiptTerms extends MerchantSettings {
  /** The secret that signs callbacks has been shown to a client. */
  hasCallbackSecret: boolean;
  /** For which it has an account, also one that is disabled. */
  messageChannels: readonly MessageChannel[];
}

interface TermsRow {
  id: string;
  settings: unknown;
  has_callback_secret: boolean;
  message_channels: MessageChannel[];
}

/** A change of settings is felt by every gateway within this time. */
const TTL_MS = 1_000;

/** Settings of merchants as every receipt needs them, kept for a moment; those of many merchants are read by one statement. */
@Injectable()
export class MerchantRules {
  private readonly settings = growingCache<string, ReceiptTerms>(10_000, {
    ttl: TTL_MS,
    fetchMethod: (merchantId) => this.rows.one(merchantId),
  });
  private readonly rows = new StatementGroup((ids: readonly string[]) => this.read(ids));

  constructor(private readonly prisma: SalesDatabase) {}

  async of(merchantId: string): Promise<ReceiptTerms> {
    return this.settings.get(merchantId) ?? (await this.settings.forceFetch(merchantId));
  }

  /** A client that has just been shown the secret is not refused because of an older cached value. */
  async hasCallbackSecret(merchantId: string): Promise<boolean> {
    if ((await this.of(merchantId)).hasCallbackSecret) return true;
    return (await this.settings.forceFetch(merchantId, { forceRefresh: true })).hasCallbackSecret;
  }

  /** An account that was made a moment ago counts. */
  async messageChannels(merchantId: string, wanted: readonly MessageChannel[]): Promise<readonly MessageChannel[]> {
    const { messageChannels } = await this.of(merchantId);
    if (wanted.every((channel) => messageChannels.includes(channel))) return messageChannels;
    return (await this.settings.forceFetch(merchantId, { forceRefresh: true })).messageChannels;
  }

  private async read(ids: readonly string[]): Promise<ReceiptTerms[]> {
    const rows = await this.prisma.$queryRaw<TermsRow[]>`
      SELECT m.id, m.settings, EXISTS (SELECT FROM webhook_secrets s WHERE s.owner_id = m.id) AS has_callback_secret,
             ARRAY(SELECT a.channel::text FROM message_accounts a
                    WHERE a.merchant_id = m.id AND a.deleted_at IS NULL) AS message_channels
        FROM merchants m WHERE m.id = ANY(${[...ids]}::text[])`;
    const found = new Map(rows.map((row) => [row.id, row]));
    return ids.map((id) => {
      const row = found.get(id);
      return {
        ...readMerchantSettings(row?.settings),
        hasCallbackSecret: row?.has_callback_secret ?? false,
        messageChannels: row?.message_channels ?? [],
      };
    });
  }
}
