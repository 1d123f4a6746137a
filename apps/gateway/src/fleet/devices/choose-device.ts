import { Injectable } from '@nestjs/common';
import { SalesDatabase } from '#database';
import type { FiscalField, VatRule } from '#fiscal-domain';
import { LaneWork, type Work } from './lane-work.js';
import { PlaceDirectory, type DeviceRow, type Place, type PlaceQuery } from './place-directory.js';
import { firstFit, leastWork, likeliest, type Candidate } from './prefer-device.js';

/** Where a receipt goes, and under which reading of E-016 its register checks it. */
export interface Route {
  deviceId: string;
  branchId: string;
  cashierId: string;
  vatRule: VatRule;
  /** What it takes into the fiscal document beyond the specification. */
  takesFields: readonly FiscalField[];
}

type UnknownPlace = { kind: 'unknown'; field: 'cashier_id' | 'branch_id' | 'device_id'; detail: string };
export type Routing = { kind: 'routed'; route: Route } | UnknownPlace | { kind: 'no_device' };
export type Placing =
  | { kind: 'placed'; place: Omit<Route, 'deviceId' | 'vatRule' | 'takesFields'> & { deviceId: null } }
  | UnknownPlace;

export interface RouteQuery extends PlaceQuery {
  deviceId: string | null;
  /** What the receipt says beyond the specification; absent: nothing. */
  needs?: FieldNeeds;
}

export interface FieldNeeds {
  fields: readonly FiscalField[];
  /** Only a register that takes them all will do; else one that does is preferred to its equals. */
  areRequired: boolean;
}

interface Device extends DeviceRow, Candidate {
  work: Work;
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

/** Of a branch and its groups; more than any shop has. */
const MAX_DEVICES = 400;

/**
 * Explicit device → cashier's → branch's → those of the groups that these belong to: the first circle with a healthy device
 * has the receipt, there the one with the least work. When all are away the one most likely to return gets it: it waits in its
 * lane, which is better than refusing the sale.
 *
 * On the way of every sale: everything comes from PlaceDirectory's cache. A farther circle is read only when no nearer one can sell, and
 * work is counted only where there is a choice.
 *
 * A receipt that says more than every register takes goes to one that takes it, in whatever circle, where that is required; else to
 * such a one among those that would have had it anyway.
 */
@Injectable()
export class ChooseDevice {
  private readonly work: LaneWork;
  private turn = 0;

  constructor(
    prisma: SalesDatabase,
    private readonly directory: PlaceDirectory,
  ) {
    this.work = new LaneWork(prisma);
  }

  async choose(query: RouteQuery): Promise<Routing> {
    const place = await this.directory.placeOf(query);
    if (!place) return UNKNOWN_CASHIER;
    if (query.deviceId !== null) return this.chooseNamed(query, query.deviceId, place);
    const { branchId } = place;
    if (branchId === null) return unknownBranch(query);
    const device = await this.prefer(query, { ...place, branchId });
    return device ? this.routed(place, device) : { kind: 'no_device' };
  }

  /** Branch and cashier of a sale that no register of ours is to have. */
  async place(query: PlaceQuery): Promise<Placing> {
    const place = await this.directory.placeOf(query);
    if (!place) return UNKNOWN_CASHIER;
    if (place.branchId === null) return unknownBranch(query);
    return { kind: 'placed', place: { deviceId: null, branchId: place.branchId, cashierId: place.cashierId } };
  }

  /** A device that is named is meant: it gets the receipt in whatever state it is, unless it takes none any more. */
  private async chooseNamed({ merchantId }: RouteQuery, deviceId: string, place: Place): Promise<Routing> {
    const found = await this.directory.device(merchantId, deviceId);
    if (!found) return { kind: 'unknown', field: 'device_id', detail: 'No device has this id.' };
    return found.isClosed ? { kind: 'no_device' } : this.routed(place, this.candidate(found));
  }

  private async prefer(
    { merchantId, needs }: RouteQuery,
    place: Place & { branchId: string },
  ): Promise<Device | undefined> {
    this.turn = (this.turn + 1) % Number.MAX_SAFE_INTEGER;
    const now = Date.now();
    const seen = new Map<string, Device>();
    const groups = new Set<string>();
    for (const circle of this.circles(merchantId, place, groups)) {
      const rows = await circle();
      for (const { groupId } of rows) if (groupId !== null) groups.add(groupId);
      const able = rows.filter((row) => takesReceipts(row) && takesRequired(row, needs));
      const devices = able.map((row) => this.candidate(row));
      for (const device of devices) seen.set(device.id, device);
      const fit = firstFit(devices, now);
      if (fit.length > 0) return this.idlest(thatTake(fit, needs));
    }
    return this.idlest(thatTake(likeliest([...seen.values()], now), needs));
  }

  /**
   * From the nearest to the farthest: the cashier's own, the branch's default, the branch's, those of the groups of all of these.
   * @param groups those of the devices that were read so far
   */
  private circles(
    merchantId: string,
    { ownDeviceId, defaultDeviceId, branchId }: Place & { branchId: string },
    groups: ReadonlySet<string>,
  ): (() => Promise<DeviceRow[]>)[] {
    const single = async (id: string | null): Promise<DeviceRow[]> => {
      const found = id === null ? null : await this.directory.device(merchantId, id);
      return found ? [found] : [];
    };
    return [
      () => single(ownDeviceId),
      () => single(defaultDeviceId),
      () => this.directory.ofBranch(merchantId, branchId),
      async () => {
        const members = await Promise.all([...groups].map((id) => this.directory.ofGroup(merchantId, id)));
        return members.flat().slice(0, MAX_DEVICES);
      },
    ];
  }

  private async idlest(devices: readonly Device[]): Promise<Device | undefined> {
    if (devices.length > 1) await this.work.refresh(devices.map(({ id }) => id));
    return leastWork(devices, this.turn);
  }

  private candidate(row: DeviceRow): Device {
    return { ...row, work: this.work.of(row.id) };
  }

  private routed({ cashierId }: Place, device: Device): Routing {
    device.work.receipts += 1;
    const { id: deviceId, branchId, vatRule, takesFields } = device;
    return { kind: 'routed', route: { deviceId, branchId, cashierId, vatRule, takesFields } };
  }
}

function takesReceipts({ isClosed, hasTerminal }: DeviceRow): boolean {
  return !isClosed && hasTerminal;
}

/** Where the receipt must not lose what it says, others are passed by. */
function takesRequired(row: DeviceRow, needs: FieldNeeds | undefined): boolean {
  return !needs?.areRequired || takesAll(row, needs.fields);
}

/** Of equals those that take what the receipt says; all of them where none does. */
function thatTake(devices: Device[], needs: FieldNeeds | undefined): Device[] {
  const able = devices.filter((device) => takesAll(device, needs?.fields ?? []));
  return able.length > 0 ? able : devices;
}

function takesAll({ takesFields }: DeviceRow, fields: readonly FiscalField[]): boolean {
  return fields.every((field) => takesFields.includes(field));
}
