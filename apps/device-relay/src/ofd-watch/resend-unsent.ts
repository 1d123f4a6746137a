import { truncateText, type ResendResult } from '#fiscal-domain';
import type { Logger } from '#runtime';
import { missingOwn } from '../devices/check-register.js';
import { pollRegister } from '../devices/poll-register.js';
import type { HeldLane, HoldLane } from '../lanes/hold-lane.js';
import { STOPPED_STATES, type CallAnswer } from '../devices/register.js';
import type { ShiftRepository } from '../shifts/shift.repository.js';
import type { OfdRepository, ResendClaim } from './ofd.repository.js';
import { resendAfterMs } from './resend-schedule.js';

/** A sale takes seconds at most; behind a lane that is never free the next round tries again. */
const PATIENCE_MS = 5_000;
const BUSY_AGAIN_MS = 10_000;

interface Rest {
  left: number;
  hasProgress: boolean;
}

/**
 * Has a register send what it still owes to the OFD: POST /receipts/send-unsent and /z-report/send-unsent, under the lane's
 * lock. A registered receipt is never sent to /receipts again.
 *
 * Crash windows: after the register has sent and before we wrote it, the documents are gone from the module: the next poll
 * finds its count at 0, or their sequences missing among the errors, and marks them then.
 */
export class ResendUnsent {
  constructor(
    private readonly lanes: HoldLane,
    private readonly ofd: OfdRepository,
    private readonly shifts: ShiftRepository,
    private readonly settings: { everyMs: number },
    private readonly random: () => number,
    private readonly logger: Logger,
  ) {}

  async execute({ deviceId, oldestPendingAt }: ResendClaim): Promise<void> {
    const startedAt = await this.ofd.databaseTime();
    const held = await this.lanes.hold(deviceId, PATIENCE_MS, (lane) => this.resend(lane, deviceId));
    if (held.kind !== 'done') {
      const afterMs = Math.min(BUSY_AGAIN_MS, this.settings.everyMs);
      await this.ofd.scheduleResend(deviceId, held.kind === 'gone' ? null : afterMs, false);
      return;
    }
    const rest = held.value;
    const ageMs = oldestPendingAt === null ? 0 : startedAt.getTime() - oldestPendingAt.getTime();
    const { everyMs } = this.settings;
    const hasProgress = rest?.hasProgress ?? false;
    const afterMs = resendAfterMs(ageMs, { everyMs, hasProgress, random: this.random });
    await this.ofd.scheduleResend(deviceId, rest?.left === 0 ? null : afterMs, hasProgress);
  }

  /** Null: nothing was found out; what is unsent stays so. */
  private async resend({ snapshot, register }: HeldLane, deviceId: string): Promise<Rest | null> {
    if (STOPPED_STATES.has(snapshot.device.state)) return null;
    const before = await this.ofd.databaseTime();
    const polled = await pollRegister(register, snapshot.baseline);
    if (polled.kind !== 'seen') return null;
    const { terminalId } = polled.info;
    const receipts = polled.info.receiptCount > 0 ? await register.sendUnsentReceipts() : null;
    this.log(deviceId, '/receipts/send-unsent', receipts);
    const owedStats = await register.zReportStats();
    const owesZReports = owedStats.kind === 'ok' && owedStats.value.totalUnacked > 0;
    if (owesZReports) this.log(deviceId, '/z-report/send-unsent', await register.sendUnsentZReports());
    const info = receipts === null ? ({ kind: 'ok', value: polled.info } as const) : await register.fmInfo();
    const stats = owesZReports ? await register.zReportStats() : owedStats;
    if (stats.kind === 'ok') await this.shifts.markZReportsSent(deviceId, terminalId, stats.value.unackedNumbers);
    if (info.kind !== 'ok' || info.value.terminalId !== terminalId) return null;
    const errors = errorsOf(receipts, info.value.receiptCount);
    if (errors !== null) {
      // What it has sent may be other people's documents under the numbers of ours (devices/check-register.ts).
      if ((await missingOwn(register, snapshot.baseline, polled.status)) !== null) return null;
      await this.ofd.noteErrors(deviceId, terminalId, errors);
      const upToSeq = polled.info.currentReceiptSeq + 1;
      await this.ofd.markSent({ deviceId, terminalId, before, upToSeq, except: [...errors.keys()] });
    }
    const unsentZReports = stats.kind === 'ok' ? stats.value.totalUnacked : 0;
    return {
      left: info.value.receiptCount + unsentZReports,
      hasProgress: info.value.receiptCount < polled.info.receiptCount,
    };
  }

  private log(deviceId: string, call: string, answer: CallAnswer<ResendResult> | null): void {
    if (answer === null || (answer.kind === 'ok' && answer.value.failed === 0)) return;
    const result = answer.kind === 'ok' ? { sent: answer.value.sent, failed: answer.value.failed } : answer;
    this.logger.warn({ device_id: deviceId, call, result }, 'documents stay unsent');
  }
}

/**
 * What is still unsent, by sequence, with the register's words. Empty: nothing. Null: the register did not name all that it
 * still holds, so it is unknown which of ours are among it.
 */
function errorsOf(answer: CallAnswer<ResendResult> | null, stillUnsent: number): Map<number, string> | null {
  if (stillUnsent === 0) return new Map();
  if (answer?.kind !== 'ok') return null;
  const { errors, failed } = answer.value;
  const named = new Map<number, string>();
  for (const { receiptSeq, code, message } of errors)
    if (receiptSeq !== undefined) named.set(receiptSeq, truncateText(`${code}: ${message}`, 500));
  return named.size === failed && named.size >= stillUnsent ? named : null;
}
