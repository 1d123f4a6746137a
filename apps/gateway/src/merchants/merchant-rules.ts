import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { PrismaService } from '#database';
import { readMerchantSettings, type MerchantSettings } from './merchant-settings.js';

/** A change of settings is felt by every gateway within this time. */
const TTL_MS = 1_000;

/** Settings of merchants as every receipt needs them, kept for a moment. */
@Injectable()
export class MerchantRules {
  private readonly settings = new LRUCache<string, MerchantSettings>({
    max: 10_000,
    ttl: TTL_MS,
    fetchMethod: (merchantId) => this.read(merchantId),
  });

  constructor(private readonly prisma: PrismaService) {}

  async of(merchantId: string): Promise<MerchantSettings> {
    return this.settings.get(merchantId) ?? (await this.settings.forceFetch(merchantId));
  }

  private async read(merchantId: string): Promise<MerchantSettings> {
    const [row] = await this.prisma.$queryRaw<{ settings: unknown }[]>`
      SELECT settings FROM merchants WHERE id = ${merchantId}`;
    return readMerchantSettings(row?.settings);
  }
}
