import type { DeviceBusiness, DeviceReading } from '#database';
import { parseTashkentTime, type CurrentZReport, type ZReportStats } from '#fiscal-domain';
import { growingCache, type Clock } from '#runtime';
import type { DeviceStateName, Register, Registers } from '../devices/register.js';
import type { OfdRepository } from '../ofd-watch/ofd.repository.js';
import type { ShiftRepository } from '../shifts/shift.repository.js';
import { missingOwn } from '../devices/check-register.js';
import { closeDueMs, readingFrom, timeOfClose, type ReadingParts } from '../devices/device-reading.js';
import { decideState, SILENT_POLLS, type Observation } from './device-state.js';
import type { ClaimedPoll, PollOutcome } from './health.repository.js';
import { pollRegister, type RegisterPoll } from '../devices/poll-register.js';

export interface PollOptions {
  /** A person asked: what cannot be seen counts as mended. */
  isAsked?: boolean;
  /** Ask for the shift even though no document came since the last poll. */
  readsShift?: boolean;
}

/** Ask for the shift although nothing moved: a cashier may have closed it at the register. */
const SHIFT_EVERY_MS = 600_000;
const BUSINESS_EVERY_MS = 24 * 3_600_000;
const CACHED_DEVICES = 20_000;
/** A register that has been away for so many polls is asked more seldom. */
const LONG_SILENCE = 30;
const LONG_SILENCE_FACTOR = 5;
/** Between the first unanswered poll and the judgement the register is asked more often. */
const DOUBT_FACTOR = 1 / 6;
const JITTER = 0.2;
/** What the register says is not recorded: it is not known to be this device's module. */
const NOT_OURS: ReadonlySet<DeviceStateName> = new Set(['replaced', 'claimed_elsewhere']);

/** Asks one register how it is. Needs no lane lock: it only reads (docs/architecture.md). */
export class PollDevice {
  private readonly shiftReadAt = growingCache<string, number>(CACHED_DEVICES);
  private readonly businessReadAt = growingCache<string, number>(CACHED_DEVICES);

  constructor(
    private readonly registers: Registers,
    private readonly shifts: ShiftRepository,
    private readonly ofd: OfdRepository,
    private readonly settings: { everyMs: number; closeAt: string },
    private readonly clock: Clock,
    private readonly random: () => number,
  ) {}

  async poll(claimed: ClaimedPoll, options: PollOptions = {}): Promise<PollOutcome> {
    const register = this.registers.of(claimed.device);
    const polled = await pollRegister(register, claimed.baseline);
    if (polled.kind !== 'seen' || NOT_OURS.has(claimed.known.state)) return this.outcomeOf(claimed, polled, options);
    const { previous, shift } = await this.readShift(claimed, register, { polled, options });
    const parts: ReadingParts = {
      ...{ status: polled.status, classifierVersion: polled.classifierVersion, info: polled.info, shift, previous },
      oldestPendingMs: claimed.oldestPendingMs,
      nowMs: claimed.claimedAt.getTime(),
    };
    const reading = readingFrom(parts);
    if (reading.unsentReceipts === 0 && claimed.oldestPendingMs !== null) {
      // In a copy that was put back the numbers of ours may be other people's documents, and it is those that the OFD has.
      const lost = await missingOwn(register, claimed.baseline, polled.status);
      if (lost?.kind === 'replaced') return this.outcomeOf(claimed, lost, options);
      if (lost === null) await this.markSent(claimed, reading);
    }
    const business = await this.readBusiness(claimed, register);
    const closeAt = timeOfClose(claimed.closeAt, claimed.merchantSettings, this.settings.closeAt);
    return {
      ...this.outcomeOf(claimed, polled, options, reading),
      capabilities: polled.status.capabilities ?? [],
      reading,
      business,
      subscriptionExpiresAt: polled.subscriptionExpiresAt,
      closeDueMs: closeDueMs(reading.shift, closeAt),
    };
  }

  private outcomeOf(
    claimed: ClaimedPoll,
    polled: RegisterPoll,
    { isAsked = false }: PollOptions,
    reading: DeviceReading | null = null,
  ): PollOutcome {
    const failures = polled.kind === 'silent' ? claimed.failures + 1 : 0;
    const seen = observationOf(polled, reading, failures);
    const nowMs = claimed.claimedAt.getTime();
    const isToBeAdmitted = polled.kind === 'seen' && isUnknown(claimed);
    const decided =
      seen && !isToBeAdmitted ? decideState({ known: claimed.known, seen, nowMs, isAsked }) : claimed.known;
    return {
      ...{ claimed, decided, isToBeAdmitted, hasAnswered: polled.kind !== 'silent' },
      ...{ reading: null, business: null, capabilities: null },
      silence: polled.kind === 'silent' ? polled.reason : null,
      ...{ subscriptionExpiresAt: null, closeDueMs: null, failures, nextMs: this.nextMs(failures) },
    };
  }

  private nextMs(failures: number): number {
    const doubtful = failures > 0 && failures < SILENT_POLLS;
    const factor = doubtful ? DOUBT_FACTOR : failures > LONG_SILENCE ? LONG_SILENCE_FACTOR : 1;
    return Math.round(this.settings.everyMs * factor * (1 - JITTER + 2 * JITTER * this.random()));
  }

  /** Two more calls, only when something may have moved. */
  private async readShift(
    claimed: ClaimedPoll,
    register: Register,
    { polled, options }: { polled: Extract<RegisterPoll, { kind: 'seen' }>; options: PollOptions },
  ): Promise<{ previous: DeviceReading | null; shift: ReadingParts['shift'] }> {
    const { reading: previous, device } = claimed;
    const now = this.clock.monotonicMs();
    const readAt = this.shiftReadAt.get(device.id);
    const mayHaveMoved =
      previous?.receiptSeq !== polled.info.currentReceiptSeq ||
      previous.zReportsUsed !== polled.info.zreportCount ||
      previous.unsentZReports > 0 ||
      readAt === undefined ||
      now - readAt >= SHIFT_EVERY_MS;
    if (!mayHaveMoved && options.readsShift !== true) return { previous, shift: null };
    const [report, stats] = [await register.currentZReport(), await register.zReportStats()];
    // F-002: there never was a shift. Anything else is no answer; what was known stands.
    if (report.kind !== 'ok' && !(report.kind === 'refused' && report.code === 'F-002'))
      return { previous, shift: null };
    const current =
      report.kind === 'ok' && report.value.Header.TerminalID === polled.info.terminalId ? report.value : null;
    const counted = stats.kind === 'ok' ? stats.value : null;
    await this.record(claimed, current, counted);
    this.shiftReadAt.set(device.id, now);
    const unsentZReports = counted?.totalUnacked ?? previous?.unsentZReports ?? 0;
    const hasUncounted = await this.hasUncounted(device.id, current);
    return { previous, shift: { report: current, hasUncounted, unsentZReports } };
  }

  /** A shift of nothing but advances and credits has to be closed as well, and its report shows zeros. */
  private async hasUncounted(deviceId: string, report: CurrentZReport | null): Promise<boolean> {
    if (report === null || report.Header.CloseTime !== '' || report.TotalSaleCount + report.TotalRefundCount > 0)
      return false;
    const openedMs = parseTashkentTime(report.Header.OpenTime);
    return openedMs !== null && (await this.shifts.hasOwnSince(deviceId, report.Header.TerminalID, openedMs));
  }

  private async record(claimed: ClaimedPoll, report: CurrentZReport | null, stats: ZReportStats | null): Promise<void> {
    const { reading: previous, device } = claimed;
    const unsentNumbers = stats?.unackedNumbers ?? null;
    const openedMs = report && parseTashkentTime(report.Header.OpenTime);
    if (report && openedMs !== null) {
      const closedMs = report.Header.CloseTime === '' ? null : parseTashkentTime(report.Header.CloseTime);
      const known = previous?.shift;
      const isNew = known?.number !== report.Header.Number || (known.closedAt === null) !== (closedMs === null);
      if (isNew) await this.shifts.observe({ deviceId: device.id, report, openedMs, closedMs, unsentNumbers });
    }
    if (unsentNumbers !== null && (previous?.unsentZReports ?? 0) > unsentNumbers.length && previous)
      await this.shifts.markZReportsSent(device.id, previous.terminalId, unsentNumbers);
  }

  private async markSent({ device, claimedAt }: ClaimedPoll, reading: DeviceReading): Promise<void> {
    await this.ofd.markSent({
      ...{ deviceId: device.id, terminalId: reading.terminalId, before: claimedAt, except: [] },
      // A foreign register may count from the next document or the last (counter-proof.ts).
      upToSeq: reading.receiptSeq + 1,
    });
  }

  /** Seldom, and spread over the day, also after a restart of a relay. */
  private async readBusiness({ device, hasBusiness }: ClaimedPoll, register: Register): Promise<DeviceBusiness | null> {
    const now = this.clock.monotonicMs();
    const readAt = this.businessReadAt.get(device.id) ?? now - this.random() * BUSINESS_EVERY_MS;
    this.businessReadAt.set(device.id, readAt);
    if (hasBusiness && now - readAt < BUSINESS_EVERY_MS) return null;
    const [business, branch] = [await register.business(), await register.branch()];
    this.businessReadAt.set(device.id, now);
    if (business.kind !== 'ok' || branch.kind !== 'ok') return null;
    const { name, tin, phone, legal_address: legalAddress, actual_address: actualAddress } = business.value.business;
    const { _id: branchId, address: branchAddress } = branch.value.branch;
    return { name, tin, phone, legalAddress, actualAddress, branchId, branchAddress };
  }
}

/** A linked register that was never admitted, or not since its module was adopted: until then it gets no receipts. */
function isUnknown({ device, terminalId, known }: ClaimedPoll): boolean {
  return device.linkKeyId !== null && terminalId === null && !NOT_OURS.has(known.state);
}

function observationOf(polled: RegisterPoll, reading: DeviceReading | null, failures: number): Observation | null {
  switch (polled.kind) {
    case 'silent':
      return { kind: 'silent', reason: polled.reason, failures };
    case 'refused':
    case 'replaced':
      return polled;
    case 'seen': {
      if (reading === null) return null;
      const { activated, fmInitialized } = polled.status;
      // As the refusal of a receipt names it: it stays one reason, whichever writes it.
      const refusal = polled.status.fmRefusal;
      const fmRefusal = refusal ? `${refusal.code}: ${refusal.message}` : null;
      const { subscriptionExpiresAt } = polled;
      return { kind: 'answered', activated, fmInitialized, fmRefusal, reading, subscriptionExpiresAt };
    }
  }
}
