import { Injectable } from '@nestjs/common';
import { Prisma, PrismaService, type DeviceBusiness, type DeviceReading } from '#database';
import { firstOfdDeadline } from '#ledger';
import type { PageRequest } from '../../http/paging.js';
import type { LockedDeviceRow } from './device-rows.js';

export interface DeviceRow extends Omit<LockedDeviceRow, 'profile' | 'resting_seconds'> {
  state_since: Date;
  registered_at: Date;
  last_seen_at: Date | null;
  journal_id: string | null;
  capabilities: string[];
  profile: unknown;
  /** When the relay closes the open shift; null = it is closed or empty, or it has not been read yet. */
  close_due_at: Date | null;
  subscription_expires_at: Date | null;
  business: DeviceBusiness | null;
  reading: DeviceReading | null;
  reading_at: Date | null;
  /** Of the classification register here; null = there is none. */
  newest_classifier: number | null;
  /** Accepted receipts, up to MAX_COUNTED. */
  waiting: number;
  oldest_accepted_at: Date | null;
  open_attempt_id: string | null;
  due_at: Date | null;
  due_reason: string | null;
  /** Registered receipts that the OFD has not got yet. */
  next_ofd_deadline: Date | null;
  now: Date;
}

export interface DeviceFilter {
  branchId: string | null;
  groupId: string | null;
  state: string | null;
  attention: boolean;
  search: string | null;
}

export const EVERY_DEVICE: DeviceFilter = {
  branchId: null,
  groupId: null,
  state: null,
  attention: false,
  search: null,
};

/** A lane's length is counted no further than this: the view of a device must not cost more the worse it goes. */
export const MAX_COUNTED = 10_000;

/** What a person calls a register: its name, its terminal, or its shop. */
function isNamed(merchantId: string, search: string): Prisma.Sql {
  const within = (text: Prisma.Sql): Prisma.Sql => Prisma.sql`position(lower(${search}) IN lower(${text})) > 0`;
  return Prisma.sql`(${within(Prisma.sql`d.name`)} OR ${within(Prisma.sql`coalesce(d.terminal_id, '')`)}
    OR d.branch_id IN (SELECT b.id FROM branches b
                        WHERE b.merchant_id = ${merchantId} AND (${within(Prisma.sql`b.name`)} OR ${within(Prisma.sql`b.code`)})))`;
}

/** Devices as people see them: registered, not deleted, with what waits in their lanes. */
@Injectable()
export class DeviceRepository {
  constructor(private readonly prisma: PrismaService) {}

  async find(merchantId: string, deviceId: string): Promise<DeviceRow | null> {
    const [row] = await this.read(Prisma.sql`d.merchant_id = ${merchantId} AND d.id = ${deviceId}`, 1);
    return row ?? null;
  }

  list(merchantId: string, filter: DeviceFilter, { limit, afterId }: PageRequest): Promise<DeviceRow[]> {
    const { branchId, groupId, state, attention, search } = filter;
    const where = Prisma.sql`
      d.merchant_id = ${merchantId} AND d.id > ${afterId ?? ''}
      AND (${branchId}::text IS NULL OR d.branch_id = ${branchId})
      AND (${groupId}::text IS NULL OR d.group_id = ${groupId})
      AND (${state}::text IS NULL OR d.state = ${state}::device_state)
      AND (NOT ${attention} OR d.state NOT IN ('online', 'disabled'))
      ${search === null ? Prisma.empty : Prisma.sql`AND ${isNamed(merchantId, search)}`}`;
    return this.read(where, limit + 1);
  }

  private read(where: Prisma.Sql, limit: number): Promise<DeviceRow[]> {
    return this.prisma.$queryRaw<DeviceRow[]>`
      WITH page AS MATERIALIZED (
        SELECT d.* FROM devices d
         WHERE ${where} AND d.deleted_at IS NULL AND d.registered_at IS NOT NULL
         ORDER BY d.id LIMIT ${limit}
      )
      SELECT p.id, p.name, p.model, p.branch_id, p.group_id, p.transport, p.base_url, p.state, p.state_reason,
             p.state_since, p.draining_since, p.registered_at, p.last_seen_at, p.terminal_id, p.journal_id,
             p.capabilities, p.profile, p.close_at, p.close_due_at,
             p.subscription_expires_at, p.business, p.reading, p.reading_at, l.due_at, l.due_reason, now() AS now,
             (SELECT max(version) FROM classifier_entries) AS newest_classifier,
             lane_length(p.id, ${MAX_COUNTED}::int) AS waiting,
             (SELECT w.created_at FROM lane_places(p.id, 1) w) AS oldest_accepted_at,
             lane_open_attempt(p.id) AS open_attempt_id,
             ${firstOfdDeadline(Prisma.sql`p.id`)} AS next_ofd_deadline
        FROM page p LEFT JOIN lanes l ON l.device_id = p.id
       ORDER BY p.id`;
  }
}
