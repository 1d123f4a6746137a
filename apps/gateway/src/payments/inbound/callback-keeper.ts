import { Inject, Injectable, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import { Prisma, PrismaService } from '#database';
import { Periodic, type Logger } from '#runtime';
import type { GatewaySettings } from '../../settings.js';
import { LOGGER, SETTINGS_TOKEN } from '../../tokens.js';
import { CallbackSeal } from './kept-calls.js';

const EVERY_MS = 10 * 60_000;
/** Few enough that no other statement waits for their rows. */
const AT_ONCE = 200;

/**
 * Seals what an earlier version kept of providers' calls in clear, also while one still runs beside this one, and clears what is
 * older than PROVIDER_CALLBACK_KEEP_DAYS. Gateways that do so at the same time take different rows; one that dies leaves a row
 * as it was or sealed, never half.
 */
@Injectable()
export class CallbackKeeper implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly rounds: Periodic;

  constructor(
    private readonly prisma: PrismaService,
    private readonly seals: CallbackSeal,
    @Inject(SETTINGS_TOKEN) private readonly settings: Pick<GatewaySettings, 'PROVIDER_CALLBACK_KEEP_DAYS'>,
    @Inject(LOGGER) logger: Logger,
  ) {
    const run = (): Promise<boolean> => this.work();
    this.rounds = new Periodic({ name: 'sealing and clearing kept calls', everyMs: EVERY_MS, run }, logger);
  }

  onApplicationBootstrap(): void {
    this.rounds.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.rounds.stop();
  }

  /** @returns whether there may be more at once */
  async sealOld(): Promise<boolean> {
    return this.prisma.$transaction(async (tx) => {
      const rows = await tx.$queryRaw<{ id: bigint; received_at: Date; body: Uint8Array }[]>`
        SELECT id, received_at, body FROM provider_callbacks WHERE body IS NOT NULL
         ORDER BY id LIMIT ${AT_ONCE}::int4 FOR UPDATE SKIP LOCKED`;
      if (rows.length === 0) return false;
      const sealed = rows.map(({ body, ...row }) => ({
        ...row,
        ...this.seals.seal(Buffer.from(body).toString('utf8')),
      }));
      await tx.$executeRaw`
        UPDATE provider_callbacks c SET body = NULL, reference = s.reference, body_sealed = decode(s.sealed, 'hex')
          FROM unnest(${sealed.map(({ id }) => id)}::int8[], ${sealed.map((each) => each.received_at)}::timestamptz(3)[],
                      ${sealed.map(({ reference }) => reference)}::text[],
                      ${sealed.map((each) => each.sealed.toString('hex'))}::text[]) AS s (id, received_at, reference, sealed)
         WHERE c.id = s.id AND c.received_at = s.received_at
           AND c.received_at BETWEEN ${earliest(rows)}::timestamptz(3) AND ${latest(rows)}::timestamptz(3)`;
      return rows.length === AT_ONCE;
    });
  }

  /** @returns whether there may be more at once */
  async clearOld(): Promise<boolean> {
    const old = Prisma.sql`received_at < now() - make_interval(days => ${this.settings.PROVIDER_CALLBACK_KEEP_DAYS}::int4)`;
    return this.prisma.$transaction(async (tx) => {
      const rows = await tx.$queryRaw<{ id: bigint; received_at: Date }[]>`
        SELECT id, received_at FROM provider_callbacks WHERE body_sealed IS NOT NULL AND ${old}
         ORDER BY received_at LIMIT ${AT_ONCE}::int4 FOR UPDATE SKIP LOCKED`;
      if (rows.length === 0) return false;
      await tx.$executeRaw`
        UPDATE provider_callbacks SET body_sealed = NULL
         WHERE id = ANY(${rows.map(({ id }) => id)}::int8[])
           AND received_at BETWEEN ${earliest(rows)}::timestamptz(3) AND ${latest(rows)}::timestamptz(3)`;
      return rows.length === AT_ONCE;
    });
  }

  private async work(): Promise<boolean> {
    const hasMoreToSeal = await this.sealOld();
    return (await this.clearOld()) || hasMoreToSeal;
  }
}

/** Of a batch: the months in which its rows are, so that others are not read. */
function earliest(rows: readonly { received_at: Date }[]): Date {
  return new Date(Math.min(...rows.map((row) => row.received_at.getTime())));
}

function latest(rows: readonly { received_at: Date }[]): Date {
  return new Date(Math.max(...rows.map((row) => row.received_at.getTime())));
}
