import { parseTashkentTime, type CurrentZReport } from '#fiscal-domain';
import type { Logger } from '#runtime';
import { pollRegister } from '../devices/poll-register.js';
import { STOPPED_STATES } from '../devices/register.js';
import type { HeldLane, HoldLane } from '../lanes/hold-lane.js';
import type { ShiftRepository } from './shift.repository.js';

export type CloseResult =
  | { kind: 'closed'; report: CurrentZReport }
  | { kind: 'not_open' }
  | { kind: 'empty' }
  /** Nothing is known to have changed; tried again. */
  | { kind: 'later'; reason: string }
  /** `code`: the register's. */
  | { kind: 'refused'; code: string; message: string };

/** What sees at once that a shift has changed; the health poll. */
export interface PollsAgain {
  pollNow(deviceId: string, options: { readsShift: true }): Promise<unknown>;
}

const PATIENCE_MS = 10_000;

/**
 * Closes the open shift of a register, under the lane's lock, and writes its Z-report. Idempotent: what the register says
 * is open decides, before and after; a close whose answer was lost is found by reading /z-report/current.
 *
 * Crash windows: before the call nothing has happened, and the due time comes again with the end of the lease. After the
 * call and before our commit the register shows a closed shift: the next poll writes it. When a new shift was opened in
 * between, the totals of the closed one can no longer be asked for: it is written as closed without a Z-report.
 */
export class CloseShift {
  constructor(
    private readonly lanes: HoldLane,
    private readonly shifts: ShiftRepository,
    private readonly logger: Logger,
  ) {}

  /** @param dueNumber the shift that is to be closed; null: whichever is open */
  async execute(deviceId: string, dueNumber: number | null): Promise<CloseResult> {
    const held = await this.lanes.hold(deviceId, PATIENCE_MS, (lane) => this.close(lane, deviceId, dueNumber));
    if (held.kind === 'done') return held.value;
    return { kind: 'later', reason: held.kind === 'busy' ? 'the lane is busy' : 'the device is gone' };
  }

  private async close(
    { snapshot, register, laneLock }: HeldLane,
    deviceId: string,
    dueNumber: number | null,
  ): Promise<CloseResult> {
    const { state } = snapshot.device;
    if (STOPPED_STATES.has(state)) return { kind: 'later', reason: `the device is ${state}` };
    // Its document may be asleep on its way: it belongs into this shift, or into none.
    if (snapshot.openAttempt) return { kind: 'later', reason: 'a receipt is not resolved yet' };
    const polled = await pollRegister(register, snapshot.baseline);
    if (polled.kind === 'refused') return { kind: 'refused', code: polled.code, message: polled.reason };
    if (polled.kind !== 'seen') return { kind: 'later', reason: polled.reason };
    const current = await register.currentZReport();
    if (current.kind === 'refused')
      return current.code === 'F-002' ? { kind: 'not_open' } : { ...current, message: current.message };
    if (current.kind !== 'ok') return { kind: 'later', reason: `GET /z-report/current: ${current.reason}` };
    await this.observe(deviceId, current.value, null);
    const { CloseTime, Number: number } = current.value.Header;
    // The one that was due has been closed, unseen, and the next one begun: that one's time comes by itself.
    if (CloseTime !== '' || (dueNumber !== null && number !== dueNumber)) return { kind: 'not_open' };
    if (await this.isEmpty(deviceId, current.value)) return { kind: 'empty' };
    // Another relay may be sending by now; its receipt belongs into this shift, or into none.
    if (!laneLock.isHeld()) return { kind: 'later', reason: 'the lane is no longer held' };
    const answer = await register.closeShift();
    const stats = await register.zReportStats();
    const after = await register.currentZReport();
    this.logger.info({ device_id: deviceId, number, answer: answer.kind }, 'shift closed?');
    const isClosed = after.kind === 'ok' && isClosedVersion(after.value, current.value);
    if (isClosed) {
      await this.observe(deviceId, after.value, stats.kind === 'ok' ? stats.value.unackedNumbers : null);
      return { kind: 'closed', report: after.value };
    }
    if (answer.kind === 'refused') return { kind: 'refused', code: answer.code, message: answer.message };
    return { kind: 'later', reason: answer.kind === 'ok' ? 'the register still shows it open' : answer.reason };
  }

  /** Advances and credits are documents too, and stand in no total. */
  private async isEmpty(deviceId: string, report: CurrentZReport): Promise<boolean> {
    if (report.TotalSaleCount + report.TotalRefundCount > 0) return false;
    const openedMs = parseTashkentTime(report.Header.OpenTime);
    return openedMs === null || !(await this.shifts.hasOwnSince(deviceId, report.Header.TerminalID, openedMs));
  }

  private async observe(deviceId: string, report: CurrentZReport, unsentNumbers: number[] | null): Promise<void> {
    const openedMs = parseTashkentTime(report.Header.OpenTime);
    const closedMs = report.Header.CloseTime === '' ? null : parseTashkentTime(report.Header.CloseTime);
    if (openedMs === null) return;
    await this.shifts.observe({ deviceId, report, openedMs, closedMs, unsentNumbers });
  }
}

function isClosedVersion(after: CurrentZReport, before: CurrentZReport): boolean {
  return after.Header.Number === before.Header.Number && after.Header.CloseTime !== '';
}
