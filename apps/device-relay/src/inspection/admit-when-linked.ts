import type { OnApplicationBootstrap } from '@nestjs/common';
import type { Logger } from '#runtime';
import type { Links } from '../links/links.js';
import type { AdmitLinkedDevice } from './admit-linked-device.js';

/**
 * A register that dials in and was never known is asked who it is, and may sell from then on. Where it was silent then, or another module was
 * adopted while its link was up, its polls ask again.
 */
export class AdmitWhenLinked implements OnApplicationBootstrap {
  constructor(
    private readonly links: Links,
    private readonly admit: AdmitLinkedDevice,
    private readonly logger: Logger,
  ) {}

  onApplicationBootstrap(): void {
    this.links.whenLinked((deviceId) => void this.ask(deviceId));
  }

  async ask(deviceId: string): Promise<void> {
    try {
      await this.admit.executeIfWaiting(deviceId);
    } catch (error) {
      // It stays as it was: its next poll asks again.
      this.logger.error({ err: error, device_id: deviceId }, 'a register that dialled in could not be asked who it is');
    }
  }
}
