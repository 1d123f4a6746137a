import { Inject, Injectable } from '@nestjs/common';
import { PrismaService } from '#database';
import type { GatewaySettings } from '../../settings.js';
import { SETTINGS_TOKEN } from '../../tokens.js';

/** Few enough that no other writer waits for their rows. */
const AT_ONCE = 500;

/**
 * Removes deliveries, with their attempts, once their last attempt is older than WEBHOOK_KEEP_DAYS; also those that were to go
 * to an endpoint that has been deleted for so long. What is still to be sent is never touched, and events stay: a client that
 * reads the log misses nothing.
 */
@Injectable()
export class ClearDeliveries {
  constructor(
    private readonly prisma: PrismaService,
    @Inject(SETTINGS_TOKEN) private readonly settings: Pick<GatewaySettings, 'WEBHOOK_KEEP_DAYS'>,
  ) {}

  /** @returns whether there may be more at once */
  async execute(): Promise<boolean> {
    const days = this.settings.WEBHOOK_KEEP_DAYS;
    // Gateways that clear at the same time take different rows. Attempts go in the same statement: never one without the other.
    const removed = await this.prisma.$executeRaw`
      WITH finished AS MATERIALIZED (
        SELECT id FROM webhook_deliveries
         WHERE state <> 'pending' AND finished_at < now() - make_interval(days => ${days}::int4)
         ORDER BY finished_at LIMIT ${AT_ONCE} FOR UPDATE SKIP LOCKED
      ), abandoned AS MATERIALIZED (
        SELECT d.id FROM webhook_endpoints e JOIN webhook_deliveries d ON d.endpoint_id = e.id
         WHERE e.deleted_at < now() - make_interval(days => ${days}::int4) AND d.state = 'pending'
         LIMIT ${AT_ONCE} FOR UPDATE OF d SKIP LOCKED
      ), old AS (
        SELECT id FROM finished UNION ALL SELECT id FROM abandoned
      ), tried AS (
        DELETE FROM webhook_attempts a USING old WHERE a.delivery_id = old.id
      )
      DELETE FROM webhook_deliveries d USING old WHERE d.id = old.id`;
    return removed >= AT_ONCE;
  }
}
