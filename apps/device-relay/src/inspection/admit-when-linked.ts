import type { BeforeApplicationShutdown, OnApplicationBootstrap } from '@nestjs/common';
import { endsWithin, type Logger } from '#runtime';
import type { Links } from '../links/links.js';
import type { AdmitLinkedDevice } from './admit-linked-device.js';

/**
 * A register that dials in and was never known is asked who it is, and may sell from then on. Where it was silent then, or another module was
 * adopted while its link was up, its polls ask again.
 */
export class AdmitWhenLinked implements OnApplicationBootstrap, BeforeApplicationShutdown {
  /** Each device once: a poll that comes meanwhile waits for the same answer. */
  private readonly asking = new Map<string, Promise<void>>();
  private isStopping = false;

  constructor(
    private readonly links: Pick<Links, 'whenLinked'>,
    private readonly admit: Pick<AdmitLinkedDevice, 'executeIfWaiting'>,
    private readonly stopDeadlineMs: number,
    private readonly logger: Logger,
  ) {}

  onApplicationBootstrap(): void {
    this.links.whenLinked((deviceId) => void this.askAfterwards(deviceId));
  }

  /** What is cut off has changed nothing: the device is asked at its next poll. */
  async beforeApplicationShutdown(): Promise<void> {
    this.isStopping = true;
    await endsWithin(Promise.all(this.asking.values()), this.stopDeadlineMs);
  }

  ask(deviceId: string): Promise<void> {
    const asked = this.asking.get(deviceId);
    if (asked) return asked;
    if (this.isStopping) return Promise.resolve();
    const asking = this.askNow(deviceId).finally(() => this.asking.delete(deviceId));
    this.asking.set(deviceId, asking);
    return asking;
  }

  /** One that is being asked was asked over the link before, which may be gone. */
  private askAfterwards(deviceId: string): Promise<void> {
    const before = this.asking.get(deviceId);
    return before ? before.then(() => this.ask(deviceId)) : this.ask(deviceId);
  }

  private async askNow(deviceId: string): Promise<void> {
    try {
      await this.admit.executeIfWaiting(deviceId);
    } catch (error) {
      // It stays as it was: its next poll asks again.
      this.logger.error({ err: error, device_id: deviceId }, 'a register that dialled in could not be asked who it is');
    }
  }
}
