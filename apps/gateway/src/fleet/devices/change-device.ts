import { Inject, Injectable } from '@nestjs/common';
import { isUniqueViolation, apiKeyOwner, type DeviceIntroduction, type InspectParams, type Prisma } from '#database';
import { writeDeviceEvent, wakeLane } from '#ledger';
import { LaneBell } from '#queue';
import { Problem } from '#problems';
import { seal } from '#secrets';
import { AuditedChange } from '../../audit/audited-change.js';
import type { Caller } from '../../audit/caller.js';
import { Places } from '../places/places.js';
import type { GatewaySettings } from '../../settings.js';
import { SETTINGS_TOKEN } from '../../tokens.js';
import type { DevicePatch } from './device-bodies.js';
import { DeviceAddress } from './device-address.js';
import { patchedProfile } from './device-profile.js';
import { auditedDevice, lockDeviceRow, saveIntroduction, type LockedDeviceRow } from './device-rows.js';
import { DeviceTasks } from './device-tasks.js';
import { taskProblem } from './task-problems.js';

/** Where a device is reached and with which key, once it has been tried. */
interface TriedWay {
  /** Null: stays as it is. */
  baseUrl: string | null;
  /** The key was entered for this address; another call may have set another one meanwhile. */
  triedUrl: string | null;
  apiKeySealed: Buffer | null;
  /** Null: it could not be asked, because it has never dialled in. */
  introduction: DeviceIntroduction | null;
}

/** As the caller found it. */
type KnownDevice = Pick<LockedDeviceRow, 'id' | 'transport' | 'terminal_id' | 'base_url'>;

/** States that end when the register has just answered as it should. */
const MENDED: ReadonlySet<string> = new Set(['unreachable', 'blocked', 'expired', 'degraded']);

/**
 * PATCH /v1/devices/{id}. A new address or key is tried before it is taken over, and the same terminal must answer: a device
 * is its fiscal module, and what is known of its lane would be wrong about another. The stored key was entered for the stored
 * address: another address needs the key again, and only that one is sent to it.
 */
@Injectable()
export class ChangeDevice {
  constructor(
    private readonly changes: AuditedChange,
    private readonly places: Places,
    private readonly tasks: DeviceTasks,
    private readonly address: DeviceAddress,
    private readonly bell: LaneBell,
    @Inject(SETTINGS_TOKEN) private readonly settings: Pick<GatewaySettings, 'SECRETS_KEY'>,
  ) {}

  /** @throws Problem 404; 422; 503 when the register cannot be asked */
  async execute(caller: Caller, known: KnownDevice, patch: DevicePatch): Promise<void> {
    const { merchantId } = caller;
    const branchId = patch.branch_id === undefined ? null : await this.places.branchId(merchantId, patch.branch_id);
    const groupId = patch.group_id ? await this.places.groupId(merchantId, patch.group_id) : null;
    const way = await this.tryWay(caller, known, patch);
    try {
      await this.changes.execute(caller, async (tx) => {
        const row = await lockDeviceRow(tx, merchantId, known.id);
        await this.save(tx, row, { patch, branchId, groupId });
        if (way) await this.takeOver(tx, row, way);
        const after = auditedDevice(await lockDeviceRow(tx, merchantId, known.id));
        const keyChanged = way?.apiKeySealed ? { api_key: 'changed' } : {};
        const record = { before: auditedDevice(row), after: { ...after, ...keyChanged } };
        return { result: null, action: 'device.change', targetId: known.id, ...record };
      });
    } catch (error) {
      if (!isUniqueViolation(error)) throw error;
      const detail = `Terminal ${way?.introduction?.terminalId ?? ''} is already a live device.`;
      throw taskProblem({ kind: 'failed', code: 'terminal_taken', detail }, true);
    }
    if (way) this.bell.ring(known.id);
  }

  private async tryWay(
    caller: Caller,
    { id, transport, terminal_id, base_url: storedUrl }: KnownDevice,
    { base_url: baseUrl, api_key: apiKey }: DevicePatch,
  ): Promise<TriedWay | null> {
    if (baseUrl === undefined && apiKey === undefined) return null;
    if (transport === 'emulated') {
      const detail = 'an emulated register has neither address nor key';
      throw Problem.at(baseUrl === undefined ? '/api_key' : '/base_url', 'invalid_value', detail);
    }
    if (baseUrl !== undefined && transport === 'link') {
      throw Problem.at('/base_url', 'invalid_value', 'base_url has no meaning with transport link');
    }
    const checked = baseUrl === undefined ? storedUrl : await this.address.check(baseUrl);
    const isMoved = checked !== storedUrl;
    if (isMoved && apiKey === undefined) throw secretRequired();
    const apiKeySealed = apiKey === undefined ? null : seal(apiKey, apiKeyOwner(id), this.settings.SECRETS_KEY);
    const isEnrolled = transport === 'http' || terminal_id !== null;
    const way = { baseUrl: isMoved ? checked : null, triedUrl: checked, apiKeySealed };
    return { ...way, introduction: isEnrolled ? await this.inspect(caller, id, way) : null };
  }

  private async inspect(
    { actor }: Caller,
    deviceId: string,
    { triedUrl, apiKeySealed }: Omit<TriedWay, 'introduction'>,
  ): Promise<DeviceIntroduction> {
    const params: InspectParams = {
      ...(triedUrl !== null && { baseUrl: triedUrl }),
      ...(apiKeySealed !== null && { apiKeySealed: apiKeySealed.toString('base64') }),
    };
    return this.tasks.inspect(deviceId, actor, params);
  }

  private async save(
    tx: Prisma.TransactionClient,
    row: LockedDeviceRow,
    { patch, branchId, groupId }: { patch: DevicePatch; branchId: string | null; groupId: string | null },
  ): Promise<void> {
    const profile = patch.profile ? patchedProfile(row.profile, patch.profile) : row.profile;
    await tx.$executeRaw`
      UPDATE devices
         SET name = ${patch.name ?? row.name}, model = ${patch.model ?? row.model},
             branch_id = ${branchId ?? row.branch_id},
             group_id = ${patch.group_id === undefined ? row.group_id : groupId},
             close_at = ${patch.close_at === undefined ? row.close_at : patch.close_at},
             profile = ${JSON.stringify(profile)}::jsonb
       WHERE id = ${row.id}`;
  }

  /** What is known of the lane stays: it is the same module. */
  private async takeOver(tx: Prisma.TransactionClient, row: LockedDeviceRow, way: TriedWay): Promise<void> {
    const { baseUrl, triedUrl, apiKeySealed, introduction } = way;
    if (baseUrl === null && row.base_url !== triedUrl) {
      throw new Problem('service_unavailable', 'Another call has changed the address; nothing was changed.');
    }
    await tx.$executeRaw`
      UPDATE devices SET base_url = coalesce(${baseUrl}, base_url),
                         api_key_sealed = coalesce(${apiKeySealed}::bytea, api_key_sealed)
       WHERE id = ${row.id}`;
    if (!introduction) return;
    await saveIntroduction(tx, row.id, introduction);
    if (!MENDED.has(row.state)) return;
    await tx.$executeRaw`
      UPDATE devices SET state = 'online', state_reason = NULL, state_since = now() WHERE id = ${row.id}`;
    await wakeLane(tx, row.id);
    await writeDeviceEvent(tx, row.id, 'online', 'it answers under its new address or key');
  }
}

function secretRequired(): Problem {
  return Problem.at('/api_key', 'secret_required', 'a changed base_url needs the api_key again, in the same call');
}
