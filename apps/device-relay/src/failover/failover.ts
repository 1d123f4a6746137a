import type { Logger } from '#runtime';
import type { FailoverRepository } from './failover.repository.js';

const DEVICES_PER_LOOK = 50;

/** Looks for lanes whose register stays away, and hands their receipts to others, where the profile allows it. */
export class Failover {
  constructor(
    private readonly receipts: FailoverRepository,
    private readonly ring: (deviceId: string) => void,
    private readonly logger: Logger,
  ) {}

  /** True: something was moved, and there may be more. */
  async look(): Promise<boolean> {
    let hasMoved = false;
    for (const deviceId of await this.receipts.devicesAway(DEVICES_PER_LOOK)) {
      const takers = await this.receipts.moveAway(deviceId);
      // After the commit. A ring that is lost: the sweeper finds the lane.
      for (const taker of takers) this.ring(taker);
      if (takers.length > 0) this.logger.info({ device_id: deviceId, takers }, 'receipts moved to other registers');
      hasMoved ||= takers.length > 0;
    }
    return hasMoved;
  }
}
