import type { DeviceIntroduction } from '#database';
import type { Logger } from '#runtime';
import { STOPPED_STATES } from '../devices/register.js';
import type { InspectDevice, Inspection } from './inspect-device.js';
import type { InspectionRepository } from './inspection.repository.js';

/**
 * Asks a device whose link has just come up for the first time who it is, and lets it take receipts or says why not.
 * Called by the code that accepts the enrolment; may be called again, the last answer counts.
 */
export class AdmitLinkedDevice {
  constructor(
    private readonly inspector: InspectDevice,
    private readonly rows: InspectionRepository,
    private readonly logger: Logger,
  ) {}

  /** Only a device that was never known, or not since its module was adopted, and that was not switched off. Null: there was nothing to ask. */
  async executeIfWaiting(deviceId: string): Promise<Inspection | null> {
    const known = await this.rows.read(deviceId);
    const isWaiting = known?.terminalId === null && !STOPPED_STATES.has(known.device.state);
    return isWaiting ? this.execute(deviceId) : null;
  }

  async execute(deviceId: string): Promise<Inspection> {
    const inspection = await this.inspector.execute(deviceId);
    if (inspection.kind === 'ok') {
      const admitted = await this.admit(deviceId, inspection.introduction);
      if (admitted !== 'terminal_taken') return inspection;
      const detail = `Terminal ${inspection.introduction.terminalId} is already a live device.`;
      await this.rows.refuse(deviceId, detail);
      return { kind: 'failed', code: 'terminal_taken', detail };
    }
    this.logger.warn({ device_id: deviceId, code: inspection.code }, 'an enrolled register cannot work');
    // Silence says nothing about it: it stays unreachable and the next poll asks again.
    if (inspection.code !== 'unreachable') await this.rows.refuse(deviceId, inspection.detail);
    return inspection;
  }

  private async admit(
    deviceId: string,
    introduction: DeviceIntroduction,
  ): Promise<Awaited<ReturnType<InspectionRepository['admit']>>> {
    const known = await this.rows.read(deviceId);
    // Gone meanwhile: there is nothing to admit.
    return known ? this.rows.admit(known.device, introduction) : 'admitted';
  }
}
