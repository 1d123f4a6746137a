import { Inject, Injectable } from '@nestjs/common';
import { CATALOG_CHANGED_CHANNEL, PrismaService } from '#database';
import type { Logger } from '#runtime';
import { LOGGER } from '../../tokens.js';

/** Payload for a change of the classification register, which concerns all merchants. */
export const ALL_MERCHANTS = '*';

/** Notifies every gateway that what it has cached of a merchant's goods is old. */
@Injectable()
export class CatalogNotices {
  constructor(
    private readonly prisma: PrismaService,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /**
   * After the commit (docs/adr/0009-notify-after-commit.md). Lost when the process dies in between: a cached entry is used
   * for a few seconds only (goods-catalog.ts).
   */
  async publish(merchantId: string): Promise<void> {
    try {
      await this.prisma.$executeRaw`SELECT pg_notify(${CATALOG_CHANGED_CHANNEL}, ${merchantId})`;
    } catch (error) {
      this.logger.warn({ err: error, merchant_id: merchantId }, 'the notice of a changed catalogue failed');
    }
  }
}
