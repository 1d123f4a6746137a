import type { OnApplicationBootstrap } from '@nestjs/common';
import type { LaneBell } from '#queue';
import type { Logger } from '#runtime';
import type { Links } from './links.js';

/** A lane that waited because its register was away goes on as soon as the register dials in, not when its wait is over. */
export class LinkedLanes implements OnApplicationBootstrap {
  constructor(
    private readonly links: Links,
    private readonly bell: LaneBell,
    private readonly logger: Logger,
  ) {}

  onApplicationBootstrap(): void {
    this.links.whenLinked((deviceId) => void this.wake(deviceId));
  }

  private async wake(deviceId: string): Promise<void> {
    try {
      if (await this.links.wakeLane(deviceId)) this.bell.ring(deviceId);
    } catch (error) {
      this.logger.warn(
        { err: error, device_id: deviceId },
        'a lane was not woken by its link; it comes by its due time',
      );
    }
  }
}
