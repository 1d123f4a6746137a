import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { PrismaService } from '#database';
import type { VatRule } from '#fiscal-domain';

/** Where a receipt goes, and under which reading of E-016 its register checks it. */
export interface Route {
  deviceId: string;
  branchId: string;
  cashierId: string;
  vatRule: VatRule;
}

export type Routing =
  | { kind: 'routed'; route: Route }
  | { kind: 'unknown'; field: 'cashier_id' | 'branch_id' | 'device_id'; detail: string }
  | { kind: 'no_device' };

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
}

interface Place {
  cashierId: string;
  branchId: string | null;
  /** The cashier's own, then the branch's default, then the branch's others. */
  devices: DeviceRow[];
}

/** A new cashier or device is seen, a disabled one avoided, within this time. */
const ROUTE_TTL_MS = 1_000;
/** States in which a device can take receipts now or soon by itself. */
const HEALTHY = new Set(['online', 'degraded']);
/** Nobody will ever send from here again without an operator. */
const GONE = new Set(['disabled', 'replaced']);

/**
 * Explicit device → cashier's → branch's default → any of the branch, healthy ones first. When all are away the first
 * one that may come back gets the receipt: it waits in its lane, which is better than refusing the sale.
 */
@Injectable()
export class ChooseDevice {
  private readonly places = new LRUCache<string, Place>({ max: 20_000, ttl: ROUTE_TTL_MS });
  private turn = 0;

  constructor(private readonly prisma: PrismaService) {}

  async choose(query: RouteQuery): Promise<Routing> {
    const place = await this.placeOf(query);
    if (!place) return { kind: 'unknown', field: 'cashier_id', detail: 'No cashier has this id or code.' };
    if (query.deviceId !== null) return this.chooseNamed(query, query.deviceId, place);
    if (!place.branchId) {
      const detail =
        query.branch === null
          ? 'This cashier belongs to no branch; please name one.'
          : 'No branch has this id or code.';
      return { kind: 'unknown', field: 'branch_id', detail };
    }
    const device = this.pick(place.devices);
    return device ? routed(place, device) : { kind: 'no_device' };
  }

  private async chooseNamed(query: RouteQuery, deviceId: string, place: Place): Promise<Routing> {
    const known = place.devices.find(({ id }) => id === deviceId);
    const device = known ?? (await this.findDevice(query.merchantId, deviceId));
    if (!device) return { kind: 'unknown', field: 'device_id', detail: 'No device has this id.' };
    return GONE.has(device.state) ? { kind: 'no_device' } : routed(place, device);
  }

  private pick(devices: readonly DeviceRow[]): DeviceRow | undefined {
    const usable = devices.filter(({ state }) => !GONE.has(state));
    const healthy = usable.filter(({ state }) => HEALTHY.has(state));
    const candidates = healthy.length > 0 ? healthy : usable;
    this.turn = (this.turn + 1) % Number.MAX_SAFE_INTEGER;
    return candidates[this.turn % candidates.length];
  }

  private async placeOf(query: RouteQuery): Promise<Place | null> {
    const key = JSON.stringify([query.merchantId, query.cashier, query.branch]);
    const cached = this.places.get(key);
    if (cached) return cached;
    const place = await this.readPlace(query);
    if (place) this.places.set(key, place);
    return place;
  }

  private async readPlace({ merchantId, cashier, branch }: RouteQuery): Promise<Place | null> {
    const [row] = await this.prisma.$queryRaw<
      { cashier_id: string; branch_id: string | null; own_device_id: string | null; default_device_id: string | null }[]
    >`
      SELECT c.id AS cashier_id, b.id AS branch_id, c.default_device_id AS own_device_id, b.default_device_id
      FROM cashiers c
      LEFT JOIN branches b ON b.merchant_id = c.merchant_id
        AND CASE WHEN ${branch}::text IS NULL THEN b.id = c.branch_id ELSE ${branch} IN (b.id, b.code) END
      WHERE c.merchant_id = ${merchantId} AND ${cashier} IN (c.id, c.code) AND c.archived_at IS NULL`;
    if (!row) return null;
    const all = await this.prisma.$queryRaw<DeviceRow[]>`
      SELECT id, branch_id, state, profile ->> 'vatRule' AS vat_rule FROM devices
      WHERE merchant_id = ${merchantId} AND deleted_at IS NULL
        AND (branch_id = ${row.branch_id} OR id = ${row.own_device_id})
      ORDER BY id`;
    const own = all.filter(({ id }) => id === row.own_device_id);
    const byDefault = all.filter(({ id }) => id === row.default_device_id);
    const preferred = [...own, ...byDefault].find(({ state }) => HEALTHY.has(state));
    return { cashierId: row.cashier_id, branchId: row.branch_id, devices: preferred ? [preferred] : all };
  }

  private async findDevice(merchantId: string, deviceId: string): Promise<DeviceRow | undefined> {
    const rows = await this.prisma.$queryRaw<DeviceRow[]>`
      SELECT id, branch_id, state, profile ->> 'vatRule' AS vat_rule FROM devices
      WHERE merchant_id = ${merchantId} AND id = ${deviceId} AND deleted_at IS NULL`;
    return rows[0];
  }
}

function routed(place: Place, device: DeviceRow): Routing {
  const { cashierId } = place;
  const route: Route = {
    deviceId: device.id,
    branchId: device.branch_id,
    cashierId,
    vatRule: device.vat_rule ?? 'unit',
  };
  return { kind: 'routed', route };
}
