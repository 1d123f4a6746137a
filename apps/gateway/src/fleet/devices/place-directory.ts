import { Inject, Injectable } from '@nestjs/common';
import {
  IS_ADMITTED,
  NotifiedCache,
  PLACES_CHANGED_CHANNEL,
  Prisma,
  SalesDatabase,
  type DatabaseAddresses,
  type DeviceReading,
} from '#database';
import { knownFiscalFields, type FiscalField, type VatRule } from '#fiscal-domain';
import type { Logger } from '#runtime';
import { NoticeReceiver } from '../../notice-receiver.js';
import { LOGGER, SETTINGS_TOKEN } from '../../tokens.js';
import type { Candidate } from './prefer-device.js';

/** Who sells, and where. */
export interface PlaceQuery {
  merchantId: string;
  /** Our id or the merchant's own code. */
  cashier: string;
  branch: string | null;
}

export interface Place {
  cashierId: string;
  /** Null: the branch is unknown, or none was named and the cashier has none. */
  branchId: string | null;
  ownDeviceId: string | null;
  defaultDeviceId: string | null;
}

/** A device of a merchant that was neither deleted nor only tried out. */
export interface DeviceRow extends Omit<Candidate, 'work'> {
  merchantId: string;
  branchId: string;
  groupId: string | null;
  vatRule: VatRule;
  /** What it takes beyond the specification. */
  takesFields: readonly FiscalField[];
  /** It takes no receipts, also when it is named. */
  isClosed: boolean;
  /** A register that has never dialled in gets what names it, and nothing else. */
  hasTerminal: boolean;
}

interface PlaceColumns {
  number: number;
  cashier_id: string;
  branch_id: string | null;
  own_device_id: string | null;
  default_device_id: string | null;
}

interface DeviceColumns {
  number: number;
  id: string;
  merchant_id: string;
  branch_id: string;
  group_id: string | null;
  state: string;
  vat_rule: VatRule | null;
  capabilities: readonly string[] | null;
  reading: DeviceReading | null;
  last_seen_at: Date | null;
  is_closed: boolean;
  has_terminal: boolean;
}

interface Neighbours {
  ids: readonly string[];
}

/** A branch or a group. */
interface Neighbourhood {
  merchantId: string;
  id: string;
}

/**
 * How long what was read is used while notices of changes arrive. What polls read of a device, once a minute (unsent documents, a subscription),
 * changes without one.
 */
const AGE_MS = 30_000;
/**
 * The same where it is not certain that every notice of what was committed before so long ago has arrived. A device at rest relies on it:
 * delete-device.ts.
 */
const UNCERTAIN_AGE_MS = 5_000;
/** The same while no notices arrive. */
const DEAF_AGE_MS = 1_000;
/** Of a branch or a group; more than any shop has, and a bound for what a route costs. */
const MAX_DEVICES = 200;
const MAX_CACHED = 50_000;

const DEVICE_COLUMNS = Prisma.sql`
  d.id, d.merchant_id, d.branch_id, d.group_id, d.state, d.profile ->> 'vatRule' AS vat_rule, d.capabilities, d.reading,
  d.last_seen_at,
  (d.draining_since IS NOT NULL OR d.state IN ('disabled', 'replaced', 'claimed_elsewhere')) AS is_closed,
  ${IS_ADMITTED} AS has_terminal`;
const IS_THERE = Prisma.sql`d.deleted_at IS NULL AND d.registered_at IS NOT NULL`;

/**
 * Cashiers, branches and devices as routing needs them, for every sale. They are cached until a notice says that they have changed, as
 * goods are, and what is missing for sales that arrive together is read by one statement for all of them: ten thousand cashiers cost
 * hardly more than ten.
 */
@Injectable()
export class PlaceDirectory extends NoticeReceiver {
  private readonly places: NotifiedCache<PlaceQuery, Place>;
  private readonly devices: NotifiedCache<{ id: string }, DeviceRow>;
  private readonly branches: NotifiedCache<Neighbourhood, Neighbours>;
  private readonly groups: NotifiedCache<Neighbourhood, Neighbours>;

  constructor(
    private readonly prisma: SalesDatabase,
    @Inject(SETTINGS_TOKEN) { ageMs = AGE_MS, ...settings }: DatabaseAddresses & { ageMs?: number },
    @Inject(LOGGER) logger: Logger,
  ) {
    super(
      settings,
      {
        channel: PLACES_CHANGED_CHANNEL,
        onNotice: (payload) => this.forget(payload),
        onListening: () => this.forgetAll(),
      },
      logger,
    );
    const maxAgeMs = (): number => {
      if (!this.channel.isListening) return DEAF_AGE_MS;
      return performance.now() - this.channel.deliveredUntilMs < UNCERTAIN_AGE_MS ? ageMs : UNCERTAIN_AGE_MS;
    };
    const ofMerchant = { max: MAX_CACHED, scopeOf: scopeOfMerchant, maxAgeMs };
    const ofId = { ...ofMerchant, keyOf: ({ id }: Neighbourhood) => id };
    this.places = new NotifiedCache({
      ...{ ...ofMerchant, keyOf: keyOfPlace },
      read: (group) => this.readPlaces(group),
    });
    this.devices = new NotifiedCache({
      ...{ max: MAX_CACHED, keyOf: ({ id }) => id, scopeOf: ({ id }) => id, maxAgeMs },
      read: (group) => this.readDevices(group.map(({ id }) => id)),
    });
    this.branches = new NotifiedCache({ ...ofId, read: (group) => this.readNeighbours(group, 'branch') });
    this.groups = new NotifiedCache({ ...ofId, read: (group) => this.readNeighbours(group, 'group') });
  }

  /** Null: no such cashier. */
  placeOf(query: PlaceQuery): Promise<Place | null> {
    return this.places.get(query);
  }

  /** Null: the merchant has no such device. */
  async device(merchantId: string, id: string): Promise<DeviceRow | null> {
    const found = await this.devices.get({ id });
    return found?.merchantId === merchantId ? found : null;
  }

  async ofBranch(merchantId: string, id: string): Promise<DeviceRow[]> {
    return this.all(merchantId, (await this.branches.get({ merchantId, id }))?.ids ?? []);
  }

  async ofGroup(merchantId: string, id: string): Promise<DeviceRow[]> {
    return this.all(merchantId, (await this.groups.get({ merchantId, id }))?.ids ?? []);
  }

  private async all(merchantId: string, ids: readonly string[]): Promise<DeviceRow[]> {
    const found = await Promise.all(ids.map((id) => this.device(merchantId, id)));
    return found.filter((device) => device !== null);
  }

  private forget(payload: string): void {
    const [kind = '', id = ''] = payload.split(':');
    if (kind === 'device') this.devices.changed(id);
    else if (kind === 'merchant') for (const cache of [this.places, this.branches, this.groups]) cache.changed(id);
    else this.forgetAll();
  }

  private forgetAll(): void {
    for (const cache of [this.places, this.devices, this.branches, this.groups]) cache.allChanged();
  }

  private async readPlaces(queries: readonly PlaceQuery[]): Promise<(Place | null)[]> {
    const rows = await this.prisma.queryHot<PlaceColumns>(Prisma.sql`
      SELECT q.number::int AS number, c.id AS cashier_id, b.id AS branch_id, c.default_device_id AS own_device_id, b.default_device_id
        FROM unnest(${queries.map(({ merchantId }) => merchantId)}::text[], ${queries.map(({ cashier }) => cashier)}::text[],
                    ${queries.map(({ branch }) => branch)}::text[]) WITH ORDINALITY AS q(merchant_id, cashier, branch, number)
       CROSS JOIN LATERAL (
         SELECT * FROM cashiers WHERE id = q.cashier AND merchant_id = q.merchant_id AND archived_at IS NULL
         UNION ALL
         SELECT * FROM cashiers WHERE code = q.cashier AND merchant_id = q.merchant_id AND archived_at IS NULL
          LIMIT 1) AS c
        LEFT JOIN LATERAL (
         SELECT id, default_device_id FROM branches
          WHERE id = coalesce(q.branch, c.branch_id) AND merchant_id = q.merchant_id AND archived_at IS NULL
         UNION ALL
         SELECT id, default_device_id FROM branches
          WHERE code = q.branch AND merchant_id = q.merchant_id AND archived_at IS NULL
          LIMIT 1) AS b ON true`);
    const found = new Map(rows.map((row) => [row.number, placeOf(row)]));
    return queries.map((_, index) => found.get(index + 1) ?? null);
  }

  private async readDevices(ids: readonly string[]): Promise<(DeviceRow | null)[]> {
    const rows = await this.prisma.queryHot<DeviceColumns>(Prisma.sql`
      SELECT ${DEVICE_COLUMNS} FROM devices d WHERE d.id = ANY(${[...ids]}::text[]) AND ${IS_THERE}`);
    const found = new Map(rows.map((row) => [row.id, deviceOf(row)]));
    return ids.map((id) => found.get(id) ?? null);
  }

  /** Their rows come along: the caller that asks for the list needs them next. */
  private async readNeighbours(places: readonly Neighbourhood[], of: 'branch' | 'group'): Promise<Neighbours[]> {
    const begun = this.devices.beginRead();
    const column = of === 'branch' ? Prisma.sql`d.branch_id` : Prisma.sql`d.group_id`;
    const rows = await this.prisma.queryHot<DeviceColumns>(Prisma.sql`
      SELECT q.number::int AS number, d.*
        FROM unnest(${places.map(({ merchantId }) => merchantId)}::text[], ${places.map(({ id }) => id)}::text[])
             WITH ORDINALITY AS q(merchant_id, id, number)
       CROSS JOIN LATERAL (
         SELECT ${DEVICE_COLUMNS} FROM devices d WHERE d.merchant_id = q.merchant_id AND ${column} = q.id AND ${IS_THERE}
          LIMIT ${MAX_DEVICES}) AS d
       ORDER BY d.id`);
    const lists = places.map((): string[] => []);
    for (const row of rows) {
      this.devices.put({ id: row.id }, deviceOf(row), begun);
      lists[row.number - 1]?.push(row.id);
    }
    return lists.map((ids) => ({ ids }));
  }
}

function scopeOfMerchant({ merchantId }: { merchantId: string }): string {
  return merchantId;
}

function keyOfPlace({ merchantId, cashier, branch }: PlaceQuery): string {
  return JSON.stringify([merchantId, cashier, branch]);
}

function placeOf(row: PlaceColumns): Place {
  const { cashier_id: cashierId, branch_id: branchId } = row;
  return { cashierId, branchId, ownDeviceId: row.own_device_id, defaultDeviceId: row.default_device_id };
}

function deviceOf(row: DeviceColumns): DeviceRow {
  return {
    id: row.id,
    merchantId: row.merchant_id,
    branchId: row.branch_id,
    groupId: row.group_id,
    state: row.state,
    vatRule: row.vat_rule ?? 'unit',
    takesFields: knownFiscalFields(row.capabilities ?? []),
    reading: row.reading,
    lastSeenMs: row.last_seen_at?.getTime() ?? null,
    isClosed: row.is_closed,
    hasTerminal: row.has_terminal,
  };
}
