import { isDatabaseUnavailable, type Logger } from '#runtime';
import type { FailoverRepository } from './failover.repository.js';

const DEVICES_PER_POLL = 50;

/**
 * Finds lanes whose register stays away, and moves their receipts to others, where the profile allows it. Each poll continues after
 * the last device of the one before: devices from which nothing can be moved do not hide those after them.
 */
export class Failover {
  private after = '';

  constructor(
    private readonly receipts: FailoverRepository,
    private readonly ring: (deviceId: string) => void,
    private readonly logger: Logger,
  ) {}

  /** True: something was moved, and there may be more. */
  async poll(): Promise<boolean> {
    const deviceIds = await this.receipts.devicesAway(DEVICES_PER_POLL, this.after);
    this.after = deviceIds.length < DEVICES_PER_POLL ? '' : (deviceIds.at(-1) ?? '');
    let hasMoved = false;
    for (const deviceId of deviceIds) hasMoved = (await this.moveAway(deviceId)) || hasMoved;
    return hasMoved;
  }

  private async moveAway(deviceId: string): Promise<boolean> {
    try {
      const takers = await this.receipts.moveAway(deviceId);
      // After the commit. A ring that is lost: the sweeper finds the lane.
      for (const taker of takers) this.ring(taker);
      if (takers.length > 0) this.logger.info({ device_id: deviceId, takers }, 'receipts moved to other registers');
      return takers.length > 0;
    } catch (error) {
      if (isDatabaseUnavailable(error)) throw error;
      // The others must not wait for it: it is tried again when its turn comes.
      this.logger.error({ err: error, device_id: deviceId }, 'receipts could not be moved to other registers');
      return false;
    }
  }
}
