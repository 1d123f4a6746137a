import type { LaneRepository } from './lane.repository.js';

interface Group {
  deviceIds: Set<string>;
  read: Promise<void>;
}

/**
 * The merchant of each lane. Read for all that are asked for while the read before runs, with one statement at a time, and kept: a
 * device never changes its merchant.
 */
export class LaneMerchants {
  private readonly known = new Map<string, string>();
  /** Not begun. */
  private next: Group | null = null;
  private last: Promise<void> = Promise.resolve();

  constructor(private readonly lanes: Pick<LaneRepository, 'merchantsOf'>) {}

  /** Null: there is no such lane. @throws when the database is away */
  async of(deviceId: string): Promise<string | null> {
    const known = this.known.get(deviceId);
    if (known !== undefined) return known;
    this.next ??= this.newGroup();
    this.next.deviceIds.add(deviceId);
    await this.next.read;
    return this.known.get(deviceId) ?? null;
  }

  private newGroup(): Group {
    const deviceIds = new Set<string>();
    const read = async (): Promise<void> => {
      this.next = null;
      for (const [deviceId, merchantId] of await this.lanes.merchantsOf([...deviceIds]))
        this.known.set(deviceId, merchantId);
    };
    // Each group receives its own failure alone.
    const group = { deviceIds, read: this.last.then(read, read) };
    this.last = group.read;
    return group;
  }
}
