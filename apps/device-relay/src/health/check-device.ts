import type { DeviceTaskResult } from '#database';
import type { DeviceTask, DeviceTaskHandler } from '../tasks/device-task.js';
import type { HealthPoller } from './health-poller.js';

/** Task `check`: polls the device now, for a person who wants to know, or has mended it. Value: {state, reason, reading}. */
export class CheckDevice implements DeviceTaskHandler {
  readonly kind = 'check';

  constructor(private readonly poller: HealthPoller) {}

  async run({ deviceId }: DeviceTask): Promise<DeviceTaskResult> {
    const polled = await this.poller.pollNow(deviceId, { isAsked: true, readsShift: true });
    if (!polled) return { kind: 'failed', code: 'expired', detail: 'The device is gone.' };
    const { written, outcome } = polled;
    if (!outcome.hasAnswered)
      return { kind: 'failed', code: 'unreachable', detail: outcome.silence ?? 'The register does not answer.' };
    return { kind: 'ok', value: { state: written.state, reason: written.reason, reading: outcome.reading } };
  }
}
