import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { Prisma, PrismaService } from '#database';
import { Problem } from '#problems';
import { Periodic, type Logger } from '#runtime';
import { LOGGER } from '../tokens.js';

/** A suspension is in force on every gateway within a second, as the end of a token is. */
const READ_MS = 500;

const ALL_SUSPENDED = Prisma.sql`SELECT jsonb_object_agg(id, suspended_reason) FROM merchants WHERE suspended_at IS NOT NULL`;

/**
 * The merchants that the platform has suspended, all of them, read twice a second: so a request asks no database, whatever it proves
 * itself with. While the database is away, what was read last counts; nothing is accepted then anyway.
 */
@Injectable()
export class SuspendedMerchants implements OnApplicationBootstrap, OnApplicationShutdown {
  private suspended: ReadonlyMap<string, string | null> = new Map();
  private readonly reads: Periodic;

  constructor(
    private readonly prisma: PrismaService,
    @Inject(LOGGER) logger: Logger,
  ) {
    this.reads = new Periodic(
      { name: 'reading suspended merchants', everyMs: READ_MS, isOnBeat: true, run: () => this.read() },
      logger,
    );
  }

  onApplicationBootstrap(): void {
    this.reads.start();
  }

  onApplicationShutdown(): Promise<void> {
    return this.reads.stop();
  }

  async read(): Promise<void> {
    const reasons = await this.prisma.ask<Record<string, string | null> | null>(ALL_SUSPENDED);
    this.suspended = new Map(Object.entries(reasons ?? {}));
  }

  /** @throws Problem 403 merchant_suspended */
  check(merchantId: string): void {
    const reason = this.suspended.get(merchantId);
    if (reason === undefined) return;
    const why = reason === null ? '' : `: ${reason}`;
    throw new Problem('merchant_suspended', `The merchant is suspended${why}. What was accepted is finished.`);
  }
}
