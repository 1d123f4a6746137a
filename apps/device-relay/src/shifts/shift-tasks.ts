import type { DeviceShiftReading, DeviceTaskResult } from '#database';
import { parseTashkentTime, type CurrentZReport } from '#fiscal-domain';
import { shiftFrom } from '../devices/device-reading.js';
import { pollRegister } from '../devices/poll-register.js';
import type { HeldLane, HoldLane } from '../lanes/hold-lane.js';
import type { CallAnswer } from '../devices/register.js';
import type { DeviceTaskHandlers } from '../tasks/device-task-handlers.js';
import type { CloseShift, PollsAgain } from './close-shift.js';

const PATIENCE_MS = 10_000;

type Asked = { kind: 'ok'; report: CurrentZReport | null } | Extract<DeviceTaskResult, { kind: 'failed' }>;

/**
 * Tasks `shift_status`, `shift_open` and `shift_close`, under the lane's lock. Value: {shift, totals}, both null when the
 * register never had one. Each may run twice: what the register says is open decides.
 */
export class ShiftTasks {
  constructor(
    private readonly lanes: HoldLane,
    private readonly closer: CloseShift,
    private readonly poller: PollsAgain,
  ) {}

  addTo(handlers: DeviceTaskHandlers): void {
    handlers.add({ kind: 'shift_status', run: ({ deviceId }) => this.hold(deviceId, (lane) => status(lane)) });
    handlers.add({ kind: 'shift_open', run: ({ deviceId }) => this.open(deviceId) });
    handlers.add({ kind: 'shift_close', run: ({ deviceId }) => this.close(deviceId) });
  }

  private async open(deviceId: string): Promise<DeviceTaskResult> {
    const result = await this.hold(deviceId, openShift);
    if (result.kind === 'ok') await this.poller.pollNow(deviceId, { readsShift: true });
    return result;
  }

  private async close(deviceId: string): Promise<DeviceTaskResult> {
    const result = await this.closer.execute(deviceId, null);
    if (result.kind === 'closed') await this.poller.pollNow(deviceId, { readsShift: true });
    switch (result.kind) {
      case 'closed':
        return { kind: 'ok', value: valueOf(result.report) };
      case 'not_open':
        return failed('F-002', 'The shift is not open.');
      case 'empty':
        return failed('F-005', 'The shift is empty and is not closed.');
      case 'refused':
        return failed(result.code, result.message);
      case 'later':
        return failed('unreachable', result.reason);
    }
  }

  private async hold(deviceId: string, work: (lane: HeldLane) => Promise<Asked>): Promise<DeviceTaskResult> {
    const held = await this.lanes.hold(deviceId, PATIENCE_MS, (lane) => onKnownRegister(lane, work));
    if (held.kind === 'gone') return failed('expired', 'The device is gone.');
    if (held.kind === 'busy') return failed('unreachable', 'The register was busy with receipts all the time.');
    return held.value.kind === 'ok' ? { kind: 'ok', value: valueOf(held.value.report) } : held.value;
  }
}

/** Nothing is opened or reported on a fiscal module that is not the one we know. */
async function onKnownRegister(lane: HeldLane, work: (lane: HeldLane) => Promise<Asked>): Promise<Asked> {
  const polled = await pollRegister(lane.register, lane.snapshot.baseline);
  if (polled.kind === 'seen') return work(lane);
  if (polled.kind === 'refused') return failed(polled.code, polled.reason);
  return failed(polled.kind === 'silent' ? 'unreachable' : 'other_terminal', polled.reason);
}

async function status({ register }: HeldLane): Promise<Asked> {
  const report = await register.currentZReport();
  if (report.kind === 'ok') return { kind: 'ok', report: report.value };
  return report.kind === 'refused' && report.code === 'F-002' ? { kind: 'ok', report: null } : failureOf(report);
}

/** An open one counts as opened: by us before our answer was lost, or by a cashier. */
async function openShift(lane: HeldLane): Promise<Asked> {
  const answer = await lane.register.openShift();
  const now = await status(lane);
  const isOpen = now.kind === 'ok' && now.report?.Header.CloseTime === '';
  return isOpen || answer.kind === 'ok' ? now : failureOf(answer);
}

function failureOf(
  answer: Exclude<CallAnswer<unknown>, { kind: 'ok' }>,
): Extract<DeviceTaskResult, { kind: 'failed' }> {
  return answer.kind === 'refused' ? failed(answer.code, answer.message) : failed('unreachable', answer.reason);
}

function valueOf(report: CurrentZReport | null): { shift: DeviceShiftReading | null; totals: CurrentZReport | null } {
  const openedMs = report && parseTashkentTime(report.Header.OpenTime);
  return {
    shift: openedMs === null ? null : shiftFrom({ report, hasUncounted: false }, null, openedMs),
    totals: report,
  };
}

function failed(code: string, detail: string): Extract<DeviceTaskResult, { kind: 'failed' }> {
  return { kind: 'failed', code, detail };
}
