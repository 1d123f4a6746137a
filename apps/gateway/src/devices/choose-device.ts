import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { SalesDatabase, type DeviceReading } from '#database';
import type { VatRule } from '#fiscal-domain';
import { growingCache } from '#runtime';
import { preferDevice, type Candidate } from './prefer-device.js';

/** Where a receipt goes, and under which reading of E-016 its register checks it. */
export interface Route {
  deviceId: string;
  branchId: string;
  cashierId: string;
  vatRule: VatRule;
}

type UnknownPlace = { kind: 'unknown'; field: 'cashier_id' | 'branch_id' | 'device_id'; detail: string };
export type Routing = { kind: 'routed'; route: Route } | UnknownPlace | { kind: 'no_device' };
export type Placing =
  { kind: 'placed'; place: Omit<Route, 'deviceId' | 'vatRule'> & { deviceId: null } } | UnknownPlace;

export interface RouteQuery {
  merchantId: string;
  /** Our id or the merchant's own code. */
  cashier: string;
  branch: string | null;
  deviceId: string | null;
}

interface DeviceRow {
  id: string;
  branch_id: string;
  state: string;
  vat_rule: VatRule | null;
  reading: DeviceReading | null;
  last_seen_at: Date | null;
}

interface Work {
  receipts: number;
  countedAtMs: number;
}

interface Device extends Candidate {
  work: Work;
  branchId: string;
  vatRule: VatRule;
}

interface Place {
  cashierId: string;
  branchId: string | null;
  /** From the nearest to the farthest: the cashier's own, the branch's default, the branch's, those of their groups. */
  circles: readonly (readonly Device[])[];
}

interface PlaceRow {
  cashier_id: string;
  branch_id: string | null;
  own_device_id: string | null;
  default_device_id: string | null;
}

const UNKNOWN_CASHIER: UnknownPlace = {
  kind: 'unknown',
  field: 'cashier_id',
  detail: 'No cashier has this id or code.',
};

function unknownBranch({ branch }: Pick<RouteQuery, 'branch'>): UnknownPlace {
  const detail =
    branch === null ? 'This cashier belongs to no branch; please name one.' : 'No branch has this id or code.';
  return { kind: 'unknown', field: 'branch_id', detail };
}

/** A new cashier or device is seen, a disabled one avoided, and work is counted anew within this time. */
const ROUTE_TTL_MS = 1_000;
/** A lane's length is counted no further than this. */
const MAX_COUNTED = 1_000;
/** Of a branch and its groups; more than any shop has, and a bound for what a route costs. */
const MAX_DEVICES = 200;

/**
 * Explicit device → cashier's → branch's → those of the groups that these belong to: the first circle with a healthy device
 * has the receipt, there the one with the least work. When all are away the one most likely to return gets it: it waits in its
 * lane, which is better than refusing the sale.
 *
 * On the way of every sale: a place is read once a second at most, however many sales wait for it. Between two readings each
 * choice counts as one receipt more, so that a burst is spread as if every count were fresh.
 */
@Injectable()
export class ChooseDevice {
  private readonly places = new LRUCache<string, Place, RouteQuery>({
    max: 20_000,
    ttl: ROUTE_TTL_MS,
    fetchMethod: (_key, _stale, { context }) => this.readPlace(context),
  });
  /** One object per device, whichever places lead to it: the receipts that are known to be on their way there. */
  private readonly work = growingCache<string, Work>(50_000);
  private turn = 0;

  constructor(private readonly prisma: SalesDatabase) {}

  async choose(query: RouteQuery): Promise<Routing> {
    const place = await this.placeOf(query);
    if (!place) return UNKNOWN_CASHIER;
    if (query.deviceId !== null) return this.chooseNamed(query, query.deviceId, place);
    if (!place.branchId) return unknownBranch(query);
    this.turn = (this.turn + 1) % Number.MAX_SAFE_INTEGER;
    const device = preferDevice(place.circles, Date.now(), this.turn);
    return device ? this.routed(place, device) : { kind: 'no_device' };
  }

  /** Branch and cashier of a sale that no register of ours is to have. */
  async place(query: Omit<RouteQuery, 'deviceId'>): Promise<Placing> {
    const place = await this.placeOf({ ...query, deviceId: null });
    if (!place) return UNKNOWN_CASHIER;
    if (!place.branchId) return unknownBranch(query);
    return { kind: 'placed', place: { deviceId: null, branchId: place.branchId, cashierId: place.cashierId } };
  }

  /** Whoever names a device means it: it gets the receipt in whatever state it is, unless it takes none any more. */
  private async chooseNamed({ merchantId }: RouteQuery, deviceId: string, place: Place): Promise<Routing> {
    const known = place.circles.flat().find(({ id }) => id === deviceId);
    if (known) return this.routed(place, known);
    const found = await this.findDevice(merchantId, deviceId);
    if (!found) return { kind: 'unknown', field: 'device_id', detail: 'No device has this id.' };
    return found === 'closed' ? { kind: 'no_device' } : this.routed(place, found);
  }

  private routed({ cashierId }: Place, device: Device): Routing {
    device.work.receipts += 1;
    const { id: deviceId, branchId, vatRule } = device;
    return { kind: 'routed', route: { deviceId, branchId, cashierId, vatRule } };
  }

  private async placeOf(query: RouteQuery): Promise<Place | undefined> {
    const key = JSON.stringify([query.merchantId, query.cashier, query.branch]);
    return this.places.get(key) ?? (await this.places.fetch(key, { context: query }));
  }

  /** Undefined is not kept: a cashier that was just made is found by the next sale. */
  private async readPlace({ merchantId, cashier, branch }: RouteQuery): Promise<Place | undefined> {
    const [row] = await this.prisma.$queryRaw<PlaceRow[]>`
      SELECT c.id AS cashier_id, b.id AS branch_id, c.default_device_id AS own_device_id, b.default_device_id
      FROM cashiers c
      LEFT JOIN branches b ON b.merchant_id = c.merchant_id AND b.archived_at IS NULL
        AND CASE WHEN ${branch}::text IS NULL THEN b.id = c.branch_id ELSE ${branch} IN (b.id, b.code) END
      WHERE c.merchant_id = ${merchantId} AND ${cashier} IN (c.id, c.code) AND c.archived_at IS NULL`;
    if (!row) return undefined;
    const devices = (await this.readDevices(merchantId, row)).map((each) => this.deviceOf(each));
    await this.countWork(devices);
    const withId = (id: string | null): Device[] => devices.filter((device) => device.id === id);
    const ofBranch = devices.filter(({ branchId }) => branchId === row.branch_id);
    return {
      cashierId: row.cashier_id,
      branchId: row.branch_id,
      circles: [withId(row.own_device_id), withId(row.default_device_id), ofBranch, devices],
    };
  }

  /** Those that take new receipts: named by cashier or branch, of the branch, and of the groups of any of these. */
  private readDevices(merchantId: string, place: PlaceRow): Promise<DeviceRow[]> {
    return this.prisma.$queryRaw<DeviceRow[]>`
      WITH near AS (
        SELECT id, group_id FROM devices
         WHERE merchant_id = ${merchantId} AND deleted_at IS NULL AND registered_at IS NOT NULL
           AND (branch_id = ${place.branch_id} OR id IN (${place.own_device_id}, ${place.default_device_id}))
         LIMIT ${MAX_DEVICES}
      ), reached AS (
        SELECT id FROM near
        UNION
        (SELECT id FROM devices WHERE merchant_id = ${merchantId} AND group_id IN (SELECT group_id FROM near)
          LIMIT ${MAX_DEVICES})
      )
      SELECT d.id, d.branch_id, d.state, d.profile ->> 'vatRule' AS vat_rule, d.reading, d.last_seen_at
        FROM devices d JOIN reached USING (id)
       WHERE d.deleted_at IS NULL AND d.registered_at IS NOT NULL AND d.draining_since IS NULL
         AND d.state NOT IN ('disabled', 'replaced') AND NOT (d.transport = 'link' AND d.terminal_id IS NULL)
       ORDER BY d.id`;
  }

  /** `closed`: it is there and takes no receipts. */
  private async findDevice(merchantId: string, deviceId: string): Promise<Device | 'closed' | null> {
    const [row] = await this.prisma.$queryRaw<(DeviceRow & { closed: boolean })[]>`
      SELECT id, branch_id, state, profile ->> 'vatRule' AS vat_rule, reading, last_seen_at,
             (draining_since IS NOT NULL OR state IN ('disabled', 'replaced')) AS closed
        FROM devices
       WHERE merchant_id = ${merchantId} AND id = ${deviceId} AND deleted_at IS NULL AND registered_at IS NOT NULL`;
    if (!row) return null;
    return row.closed ? 'closed' : this.deviceOf(row);
  }

  /** Only where there is a choice, and per device once a second, however many cashiers may choose it. */
  private async countWork(devices: readonly Device[]): Promise<void> {
    const now = performance.now();
    const stale = devices.filter(({ work }) => now - work.countedAtMs >= ROUTE_TTL_MS);
    if (devices.length < 2 || stale.length === 0) return;
    const ids = stale.map(({ id }) => id);
    const rows = await this.prisma.$queryRaw<{ id: string; receipts: number }[]>`
      SELECT ids.id, (SELECT count(*)::int4 FROM (SELECT FROM receipts r WHERE r.device_id = ids.id AND r.status = 'accepted'
                                                   LIMIT ${MAX_COUNTED}) AS counted)
                     + (SELECT count(*)::int4 FROM attempts a WHERE a.device_id = ids.id AND a.state = 'open') AS receipts
        FROM unnest(${ids}::text[]) AS ids (id)`;
    const counts = new Map(rows.map(({ id, receipts }) => [id, receipts]));
    for (const { id, work } of stale) Object.assign(work, { receipts: counts.get(id) ?? 0, countedAtMs: now });
  }

  private deviceOf(row: DeviceRow): Device {
    const work = this.work.get(row.id) ?? { receipts: 0, countedAtMs: Number.NEGATIVE_INFINITY };
    this.work.set(row.id, work);
    return {
      id: row.id,
      branchId: row.branch_id,
      state: row.state,
      vatRule: row.vat_rule ?? 'unit',
      reading: row.reading,
      lastSeenMs: row.last_seen_at?.getTime() ?? null,
      work,
    };
  }
}
