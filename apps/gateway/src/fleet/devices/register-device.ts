import { Injectable } from '@nestjs/common';
import { isUniqueViolation, type DeviceIntroduction } from '#database';
import { createLane, writeDeviceEvent } from '#ledger';
import { isTestId } from '#fiscal-domain';
import { Problem, type ProblemError } from '#problems';
import { FairSlots, newIdOf } from '#runtime';
import { AuditedChange } from '../../audit/audited-change.js';
import type { Caller } from '../../audit/caller.js';
import { Places } from '../places/places.js';
import type { DeviceBody, Transport } from './device-bodies.js';
import { DeviceAddress } from './device-address.js';
import { auditedDevice, claimedState, lockDeviceRow, saveIntroduction } from './device-rows.js';
import { DeviceTasks } from './device-tasks.js';
import { pendingProblem, taskProblem } from './task-problems.js';
import { MAX_TRIED_AT_ONCE, tooManyAtOnce, TriedOutDevices, type NewDevice } from './tried-out-devices.js';

/** Why a register that dials in is unreachable at first; it cannot be asked anything until then. */
const WAITING_FOR_ENROLMENT = 'waiting for enrolment';

/**
 * POST /v1/devices. A register that is called is asked who it is before it becomes a device; until then its row has no
 * `registered_at` and no other caller sees it. A gateway that dies in between leaves such a row, which TriedOutDevices
 * clears. A register whose terminal another merchant holds becomes a device that is `claimed_elsewhere` and gets nothing.
 * A register that dials in is known at once and waits for its enrolment.
 */
@Injectable()
export class RegisterDevice {
  /** Registrations under way in this process, by merchant. */
  private readonly underWay = new FairSlots({ total: Infinity, perKey: MAX_TRIED_AT_ONCE });

  constructor(
    private readonly changes: AuditedChange,
    private readonly places: Places,
    private readonly tasks: DeviceTasks,
    private readonly address: DeviceAddress,
    private readonly triedOut: TriedOutDevices,
  ) {}

  /** @returns the id of the new device @throws Problem 422, 429, 503: docs/fleet.md lists them */
  execute(caller: Caller, body: DeviceBody): Promise<string> {
    // Before the first query: registering thousands at once must not take the connections of sales.
    return this.underWay.run(caller.merchantId, () => this.register(caller, body), tooManyAtOnce);
  }

  private async register(caller: Caller, body: DeviceBody): Promise<string> {
    const { merchantId } = caller;
    const device = await this.prepare(merchantId, body);
    return device.transport === 'link'
      ? this.triedOut.inTurn(merchantId, () => this.registerLinked(caller, device))
      : this.registerCalled(caller, device);
  }

  private async registerCalled(caller: Caller, device: NewDevice): Promise<string> {
    await this.triedOut.add(caller.merchantId, device);
    try {
      await this.admit(caller, device.id, await this.tasks.inspect(device.id, caller.actor));
      return device.id;
    } catch (error) {
      await this.triedOut.forget(device.id);
      throw error;
    }
  }

  private async prepare(merchantId: string, body: DeviceBody): Promise<NewDevice> {
    const transport = body.transport ?? (isTestId(merchantId) ? 'emulated' : 'http');
    const faults = wayFaults(merchantId, transport, body);
    if (faults.length > 0) throw Problem.fromErrors(faults);
    const given = body.base_url ?? null;
    const branchId = await this.places.branchId(merchantId, body.branch_id);
    const groupId = body.group_id ? await this.places.groupId(merchantId, body.group_id) : null;
    const baseUrl = given === null ? null : await this.address.check(given);
    return { id: newIdOf('dev', merchantId), branchId, groupId, transport, baseUrl, body };
  }

  private async registerLinked(caller: Caller, device: NewDevice): Promise<string> {
    return this.changes.execute(caller, async (tx) => {
      await this.triedOut.insert(tx, caller.merchantId, device);
      await tx.$executeRaw`
        UPDATE devices SET registered_at = now(), state = 'unreachable', state_reason = ${WAITING_FOR_ENROLMENT},
                           state_since = now(), poll_due_at = NULL
         WHERE id = ${device.id}`;
      await createLane(tx, device.id);
      await writeDeviceEvent(tx, device.id, 'unreachable', WAITING_FOR_ENROLMENT);
      const after = auditedDevice(await lockDeviceRow(tx, caller.merchantId, device.id));
      return { result: device.id, action: 'device.register', targetId: device.id, before: null, after };
    });
  }

  private async admit(caller: Caller, id: string, known: DeviceIntroduction): Promise<void> {
    try {
      await this.changes.execute(caller, async (tx) => {
        const saved = await saveIntroduction(tx, id, known);
        // The sweep has deleted the row: it had been tried out for far too long.
        if (saved !== 1) throw pendingProblem();
        const [state, reason] = await claimedState(tx, known.terminalId, caller.merchantId);
        await tx.$executeRaw`
          UPDATE devices SET registered_at = now(), state = ${state}::device_state, state_reason = ${reason},
                             state_since = now()
           WHERE id = ${id}`;
        await createLane(tx, id);
        await writeDeviceEvent(tx, id, state, reason);
        const after = auditedDevice(await lockDeviceRow(tx, caller.merchantId, id));
        return { result: null, action: 'device.register', targetId: id, before: null, after };
      });
    } catch (error) {
      // devices_one_live_per_terminal_of_merchant: another registration of the same register was faster.
      if (!isUniqueViolation(error)) throw error;
      const detail = `Terminal ${known.terminalId} is already a live device.`;
      throw taskProblem({ kind: 'failed', code: 'terminal_taken', detail }, true);
    }
  }
}

/** A sandbox has emulated registers and no others; address and key belong to what is called. */
function wayFaults(
  merchantId: string,
  transport: Transport,
  { base_url: baseUrl, api_key: apiKey }: DeviceBody,
): ProblemError[] {
  const isEmulated = transport === 'emulated';
  if (isEmulated !== isTestId(merchantId)) {
    const detail = isEmulated
      ? 'only a sandbox has emulated registers'
      : 'a sandbox has emulated registers and no others';
    return [{ pointer: '/transport', code: 'invalid_value', detail }];
  }
  const isCalled = transport === 'http';
  const faults: ProblemError[] = [];
  if (isCalled !== (typeof baseUrl === 'string')) {
    const detail = isCalled
      ? 'base_url is required with transport http'
      : `base_url has no meaning with transport ${transport}`;
    faults.push({ pointer: '/base_url', code: isCalled ? 'required' : 'invalid_value', detail });
  }
  if (isEmulated !== (apiKey === undefined)) {
    const detail = isEmulated ? 'an emulated register has no key' : 'api_key is required';
    faults.push({ pointer: '/api_key', code: isEmulated ? 'invalid_value' : 'required', detail });
  }
  return faults;
}
