import { Prisma } from '#database';
import { announcesExtensions, knownFiscalFields, readProfile } from '#fiscal-domain';
import type { DeviceStateName, LaneDevice } from './register.js';

/** Columns of `devices` that every query for a device to be called reads. */
export interface LaneDeviceRow {
  merchant_id: string;
  state: DeviceStateName;
  base_url: string | null;
  api_key_sealed: Uint8Array;
  /** By the same statement as `api_key_sealed`: linkKeyInForce. */
  link_key_id: string | null;
  profile: unknown;
  capabilities?: readonly string[] | null;
}

/** `link_key_id` of a device. @param device the alias of its row */
export function linkKeyInForce(device: 'd' | 'c'): Prisma.Sql {
  const row = Prisma.raw(device);
  return Prisma.sql`
    CASE WHEN ${row}.base_url IS NULL
         THEN (SELECT k.id FROM link_keys k WHERE k.device_id = ${row}.id AND k.revoked_at IS NULL) END AS link_key_id`;
}

export function laneDeviceOf(id: string, row: LaneDeviceRow): LaneDevice {
  return {
    id,
    merchantId: row.merchant_id,
    state: row.state,
    baseUrl: row.base_url,
    apiKeySealed: Buffer.from(row.api_key_sealed),
    linkKeyId: row.link_key_id,
    profile: readProfile(row.profile),
    ...takenBy(row.capabilities ?? []),
  };
}

/** What a register that announces this is sent beyond the specification. */
export function takenBy(capabilities: readonly string[]): Required<Pick<LaneDevice, 'takesExtraInfo' | 'takesFields'>> {
  return { takesExtraInfo: announcesExtensions(capabilities), takesFields: knownFiscalFields(capabilities) };
}
