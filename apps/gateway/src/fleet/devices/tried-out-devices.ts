import { Inject, Injectable } from '@nestjs/common';
import { apiKeyOwner, Prisma, PrismaService } from '#database';
import { announceQuotas } from '#ledger';
import { Problem } from '#problems';
import { FairSlots, PeriodicProvider, type Logger } from '#runtime';
import { seal } from '#secrets';
import type { GatewaySettings } from '../../settings.js';
import { LOGGER, SETTINGS_TOKEN } from '../../tokens.js';
import type { DeviceBody, Transport } from './device-bodies.js';
import { patchedProfile } from './device-profile.js';

export interface NewDevice {
  id: string;
  branchId: string;
  groupId: string | null;
  transport: Transport;
  /** Null: it is not called at an address. */
  baseUrl: string | null;
  body: DeviceBody;
}

/** Devices of one merchant that are being tried out at the same time, over all gateways. */
export const MAX_TRIED_AT_ONCE = 20;
/** First key of the advisory lock under which a merchant's devices are counted. */
const COUNT_LOCK_SPACE = 0x4456; // "DV"
const LOCK_TIMEOUT_MS = 5_000;
/** Waiting for the lock holds a connection: one for each merchant, and two of this gateway's for all of them. */
const TURNS = { total: 2, perKey: 1, reserved: 1, waitingPerKey: MAX_TRIED_AT_ONCE };
const INTERVAL_MS = 60_000;
/** Far longer than any registration takes. */
const LEFT_AFTER_MINUTES = 10;
const PER_SWEEP = 200;

/**
 * Rows of devices that are not yet known to be registers: without `registered_at`, which hides them from every client. Those
 * that a dying gateway left are cleared; any number of instances may do it.
 */
@Injectable()
export class TriedOutDevices extends PeriodicProvider {
  private readonly turns = new FairSlots(TURNS);

  constructor(
    private readonly prisma: PrismaService,
    @Inject(SETTINGS_TOKEN)
    private readonly settings: Pick<GatewaySettings, 'SECRETS_KEY' | 'MAX_DEVICES_PER_MERCHANT'>,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    super(
      {
        ...{ name: 'clearing registers that were left while being tried out', everyMs: INTERVAL_MS },
        ...{ startsAfterMs: INTERVAL_MS, run: () => this.sweep() },
      },
      logger,
    );
  }

  /** @throws Problem 422 device_limit_reached, 429 too_many_requests */
  add(merchantId: string, device: NewDevice): Promise<void> {
    return this.inTurn(merchantId, (leftMs) => this.addAlone(merchantId, device, leftMs));
  }

  /** Does what inserts a row, after the merchant's other registrations at this gateway. @param insertion is given what is left of its time */
  inTurn<T>(merchantId: string, insertion: (leftMs: number) => Promise<T>): Promise<T> {
    const until = performance.now() + LOCK_TIMEOUT_MS;
    const inTime = (): Promise<T> => {
      // Those behind one that waited for the lock in vain do not each wait as long again.
      const leftMs = Math.ceil(until - performance.now());
      if (leftMs <= 0) throw tooManyAtOnce();
      return insertion(leftMs);
    };
    return this.turns.run(merchantId, inTime, tooManyAtOnce);
  }

  /** The row, while the merchant may have one more. Serialised per merchant: the count must hold until the commit. */
  async insert(tx: Prisma.TransactionClient, merchantId: string, device: NewDevice): Promise<void> {
    await tx.$executeRaw`SELECT pg_advisory_xact_lock(${COUNT_LOCK_SPACE}::int4, hashtext(${merchantId}))`;
    const [counts] = await tx.$queryRaw<{ all: number; tried: number; quota: number | null }[]>`
      SELECT count(*)::int4 AS all, count(*) FILTER (WHERE registered_at IS NULL)::int4 AS tried,
             (SELECT (quotas->>'devices')::int4 FROM merchants WHERE id = ${merchantId}) AS quota
        FROM devices WHERE merchant_id = ${merchantId} AND deleted_at IS NULL`;
    this.refuseTooMany(counts ?? { all: 0, tried: 0, quota: null });
    const { id, branchId, groupId, transport, baseUrl, body } = device;
    // Not polled while it is tried out: its state would be published before it has an owner.
    const apiKeySealed = seal(body.api_key ?? '', apiKeyOwner(id), this.settings.SECRETS_KEY);
    await tx.$executeRaw`
      INSERT INTO devices (id, merchant_id, branch_id, group_id, name, model, transport, base_url, api_key_sealed, profile,
                           close_at, registered_at, state, poll_due_at)
      VALUES (${id}, ${merchantId}, ${branchId}, ${groupId}, ${body.name}, ${body.model ?? ''},
              ${transport}::device_transport, ${baseUrl}, ${apiKeySealed},
              ${JSON.stringify(patchedProfile({}, body.profile ?? {}))}::jsonb, ${body.close_at ?? null}, NULL,
              'unreachable', now() + make_interval(mins => ${LEFT_AFTER_MINUTES}::int4))`;
    const { all = 0, quota = null } = counts ?? {};
    if (quota !== null) await announceQuotas(tx, [{ merchantId, quota: 'devices', limit: quota, used: all + 1 }]);
  }

  /** The register was refused; a row that is registered stays. */
  async forget(deviceId: string): Promise<void> {
    try {
      await this.clear([deviceId]);
    } catch (error) {
      // No client sees the row, and the sweep deletes it.
      this.logger.warn({ err: error, device_id: deviceId }, 'a register that was tried out is left to be cleared');
    }
  }

  /** @returns how many were cleared */
  async sweep(): Promise<number> {
    const rows = await this.prisma.$queryRaw<{ id: string }[]>`
      SELECT id FROM devices WHERE registered_at IS NULL
         AND created_at < now() - make_interval(mins => ${LEFT_AFTER_MINUTES}::int4) LIMIT ${PER_SWEEP}`;
    if (rows.length === 0) return 0;
    const cleared = await this.clear(rows.map(({ id }) => id));
    // Another gateway may have been first.
    if (cleared > 0) this.logger.info({ cleared }, 'registers that were left while being tried out are cleared');
    return cleared;
  }

  private async addAlone(merchantId: string, device: NewDevice, leftMs: number): Promise<void> {
    try {
      await this.prisma.$transaction(async (tx) => {
        await tx.$queryRaw`SELECT set_config('lock_timeout', ${String(leftMs)}, true)`;
        await this.insert(tx, merchantId, device);
      });
    } catch (error) {
      // The merchant's registrations at other gateways hold the lock.
      if (sqlStateOf(error) === '55P03') throw tooManyAtOnce();
      throw error;
    }
  }

  private async clear(ids: string[]): Promise<number> {
    const [, cleared] = await this.prisma.$transaction([
      this.prisma.$executeRaw`
        DELETE FROM device_tasks
         WHERE device_id IN (SELECT id FROM devices WHERE id = ANY(${ids}::text[]) AND registered_at IS NULL)`,
      this.prisma.$executeRaw`DELETE FROM devices WHERE id = ANY(${ids}::text[]) AND registered_at IS NULL`,
    ]);
    return cleared;
  }

  private refuseTooMany({ all, tried, quota }: { all: number; tried: number; quota: number | null }): void {
    if (tried >= MAX_TRIED_AT_ONCE) throw tooManyAtOnce();
    const most = Math.min(quota ?? Number.MAX_SAFE_INTEGER, this.settings.MAX_DEVICES_PER_MERCHANT);
    if (all >= most) throw new Problem('device_limit_reached', `A merchant can have ${most} registers here.`);
  }
}

export function tooManyAtOnce(): Problem {
  const detail = `Up to ${MAX_TRIED_AT_ONCE} registers are asked who they are at a time, and others wait before this one; go on a little later.`;
  return new Problem('too_many_requests', detail, { retryAfterSeconds: 5 });
}

/** The SQLSTATE of a failed raw statement; null when the error is none of PostgreSQL's. */
function sqlStateOf(error: unknown): string | null {
  if (!(error instanceof Prisma.PrismaClientKnownRequestError)) return null;
  const failure = error.meta?.['driverAdapterError'];
  if (typeof failure !== 'object' || failure === null || !('cause' in failure)) return null;
  const { cause } = failure;
  if (typeof cause !== 'object' || cause === null || !('originalCode' in cause)) return null;
  return typeof cause.originalCode === 'string' ? cause.originalCode : null;
}
