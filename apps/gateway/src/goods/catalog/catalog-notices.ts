import { Inject, Injectable } from '@nestjs/common';
import { CATALOG_CHANGED_CHANNEL, PrismaService } from '#database';
import type { Logger } from '#runtime';
import { LOGGER } from '../../tokens.js';

/** Payload for a change of the classification register, which concerns all merchants. */
export const ALL_MERCHANTS = '*';

/** Tells every gateway that what it keeps of a merchant's goods is old. */
@Injectable()
export class CatalogNotices {
  constructor(
    private readonly prisma: PrismaService,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /**
   * After the commit (docs/adr/0009-notify-after-commit.md). Lost when we die in between: what is cached is believed
   * for a few seconds only (goods-catalog.ts).
   */
  async tell(merchantId: string): Promise<void> {
    try {
      await this.prisma.$executeRaw`SELECT pg_notify(${CATALOG_CHANGED_CHANNEL}, ${merchantId})`;
    } catch (error) {
      this.logger.warn({ err: error, merchant_id: merchantId }, 'telling of a changed catalogue failed');
    }
  }
}
