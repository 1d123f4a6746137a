/** More registers than this are not asked for one receipt: a person compares it with the OFD instead. */
export const MOST_REGISTERS = 100;

/** A register of the fleet, as far as it says where receipts can have gone. */
export interface FleetDevice {
  id: string;
  merchantId: string;
  branchId: string;
  groupId: string | null;
  /** Its receipts move to others when it is away for long. */
  hasFailover: boolean;
  /** It knows idempotency keys and can be asked for one. */
  knowsKeys: boolean;
  /** Another module was adopted in it since the restore: the keys that this one knows are none of the one before. */
  wasExchanged: boolean;
}

/** A receipt whose fate since the copy is not known. */
export interface CopiedReceipt {
  deviceId: string;
  /** Devices in whose lanes it stood before. */
  movedFrom: readonly string[];
  /** Refunds go to the terminal that sold; they never move. */
  isRefund: boolean;
}

/**
 * Where failover can have taken a receipt: from a register that has it to those of its branch and its group, and on from
 * there. The same condition as in failover.repository.ts, without what changes by the minute (state, load, space).
 */
export class Reach {
  private readonly devices: ReadonlyMap<string, FleetDevice>;
  private readonly neighbours = new Map<string, string[]>();
  private readonly known = new Map<string, ReadonlySet<string>>();

  constructor(devices: readonly FleetDevice[]) {
    this.devices = new Map(devices.map((device) => [device.id, device]));
    for (const device of devices) {
      for (const key of keysOf(device)) {
        const together = this.neighbours.get(key) ?? [];
        together.push(device.id);
        this.neighbours.set(key, together);
      }
    }
  }

  /**
   * Registers that may have it and would not say so by themselves. Its own one is among them only where it knows no keys, or
   * was exchanged: with a key it answers the sending itself. None: nothing has to be asked. More than `MOST_REGISTERS`: not all of them.
   */
  registersThatMayHave({ deviceId, movedFrom, isRefund }: CopiedReceipt): FleetDevice[] {
    const ids = new Set<string>();
    if (!isRefund) {
      for (const origin of [deviceId, ...movedFrom]) for (const id of this.from(origin)) ids.add(id);
      for (const id of movedFrom) ids.add(id);
    }
    const own = this.devices.get(deviceId);
    if (own?.knowsKeys && !own.wasExchanged) ids.delete(deviceId);
    else ids.add(deviceId);
    return [...ids].flatMap((id) => this.devices.get(id) ?? []);
  }

  /** All that failover can reach from here, itself among them where receipts can come back. */
  private from(origin: string): ReadonlySet<string> {
    const known = this.known.get(origin);
    if (known) return known;
    const found = new Set<string>();
    const open = [origin];
    for (let id = open.pop(); id !== undefined && found.size <= MOST_REGISTERS; id = open.pop()) {
      const device = this.devices.get(id);
      if (!device?.hasFailover) continue;
      for (const key of keysOf(device)) {
        for (const next of this.neighbours.get(key) ?? []) {
          if (next === id || found.has(next)) continue;
          found.add(next);
          open.push(next);
        }
      }
    }
    this.known.set(origin, found);
    return found;
  }
}

function keysOf({ merchantId, branchId, groupId }: FleetDevice): string[] {
  const keys = [`${merchantId} branch ${branchId}`];
  if (groupId !== null) keys.push(`${merchantId} group ${groupId}`);
  return keys;
}
