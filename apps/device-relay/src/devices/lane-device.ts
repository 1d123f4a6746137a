import { announcesExtensions, knownFiscalFields, readProfile } from '#fiscal-domain';
import type { DeviceStateName, LaneDevice } from '../lanes/ports.js';

/** Columns of `devices` that every query for a device to be called reads. */
export interface LaneDeviceRow {
  merchant_id: string;
  state: DeviceStateName;
  base_url: string | null;
  api_key_sealed: Uint8Array;
  profile: unknown;
  capabilities?: readonly string[] | null;
}

export function laneDeviceOf(id: string, row: LaneDeviceRow): LaneDevice {
  return {
    id,
    merchantId: row.merchant_id,
    state: row.state,
    baseUrl: row.base_url,
    apiKeySealed: Buffer.from(row.api_key_sealed),
    profile: readProfile(row.profile),
    ...takenBy(row.capabilities ?? []),
  };
}

/** What a register that announces this is sent beyond the specification. */
export function takenBy(capabilities: readonly string[]): Required<Pick<LaneDevice, 'takesExtraInfo' | 'takesFields'>> {
  return { takesExtraInfo: announcesExtensions(capabilities), takesFields: knownFiscalFields(capabilities) };
}
