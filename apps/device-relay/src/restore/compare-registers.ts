import {
  decideRepeat,
  describeDifference,
  finalAfterMs,
  hasExtensions,
  readingOf,
  type CounterReading,
  type LocalStatus,
} from '#fiscal-domain';
import type { LocalApiClient } from '#local-api';
import type { Logger } from '#runtime';
import { keptForNewcomers, type DueShares } from '../shares/due-by-merchant.js';
import { pollRegister } from '../devices/poll-register.js';
import { UNKNOWN_BASELINE } from '../devices/register.js';
import type { LaneDevice, Register } from '../devices/register.js';
import type { LaneSnapshot, LaneStore, SettledNotices } from '../lanes/ports.js';
import { later, Places, SILENT_AFTER_MS, type Place } from '../shares/places.js';
import type { ClaimedCheck, RestoreChecksRepository } from './restore-checks.repository.js';
import { standsAsCopied } from './stands-as-copied.js';

/** Registers that are asked at the same time. */
const REGISTERS = 50;
const ASIDE = 2_000;
/** Longer than a batch takes at one register. */
const LEASE_MS = 300_000;
/** While the settle time runs the register is asked this often whether it is still awake. */
const PROBE_EVERY_MS = 10_000;
const SILENT_RETRY_MS = 30_000;

/** A register as the comparison asks it. */
export type ComparedRegister = Register & Pick<LocalApiClient, 'findByKey'>;

interface Compared {
  deviceId: string;
  snapshot: LaneSnapshot;
  register: ComparedRegister;
  checks: readonly ClaimedCheck[];
}

/**
 * After a restore: asks every register that may have a held receipt. One with a journal is asked by key; of one without, the
 * counters are compared with where the copy left them. "It does not have it" counts only when the register has answered for
 * its settle time without a gap, because a request that was sent before the restore may be asleep there. What no register
 * has goes back into its lane; what one has is registered; the rest is for a person (docs/adr/0017-held-after-restore.md).
 */
export class CompareRegisters {
  private readonly running = new Map<Promise<void>, { deviceId: string; merchantId: string }>();
  private readonly places = new Places({ places: REGISTERS, aside: ASIDE, isDivided: true });

  constructor(
    private readonly checks: RestoreChecksRepository,
    private readonly lanes: Pick<LaneStore, 'read' | 'recordLateAnswer'>,
    private readonly registers: { of(device: LaneDevice): ComparedRegister },
    private readonly notices: SettledNotices,
    private readonly ring: (deviceId: string) => void,
    private readonly logger: Logger,
  ) {}

  /** Begins what is due, as far as places are free. True: there may be more. */
  async beginDue(): Promise<boolean> {
    const shares = this.shares();
    if (shares.free === 0) return false;
    const running = [...this.running.values()].map(({ deviceId }) => deviceId);
    const claimed = await this.checks.claimDue(LEASE_MS, shares, running);
    const byDevice = new Map<string, ClaimedCheck[]>();
    for (const check of claimed) byDevice.set(check.deviceId, [...(byDevice.get(check.deviceId) ?? []), check]);
    for (const checks of byDevice.values()) this.begin(checks);
    return byDevice.size === shares.free;
  }

  /** What is under way has ended. */
  async settle(): Promise<void> {
    while (this.running.size > 0) await Promise.allSettled(this.running.keys());
  }

  private shares(): DueShares {
    const merchants = new Set([...this.running.values()].map(({ merchantId }) => merchantId));
    const held = new Map([...merchants].map((merchantId) => [merchantId, this.places.loadOf(merchantId)]));
    return { free: this.places.free, kept: keptForNewcomers(REGISTERS), held };
  }

  private begin(checks: readonly ClaimedCheck[]): void {
    const [first] = checks;
    if (!first) return;
    const { deviceId, merchantId } = first;
    const work = this.inPlace(merchantId, () => this.compare(deviceId, checks))
      .catch((error: unknown) =>
        // The lease ends by itself, then it is due again.
        this.logger.warn({ err: error, device_id: deviceId }, 'comparison after the restore failed'),
      )
      .finally(() => this.running.delete(work));
    this.running.set(work, { deviceId, merchantId });
  }

  private async inPlace(merchantId: string, work: () => Promise<void>): Promise<void> {
    const place: Place | null = await this.places.enter(merchantId);
    const cancel = later(SILENT_AFTER_MS, () => void place?.setAside());
    try {
      await work();
    } finally {
      cancel();
      place?.leave();
    }
  }

  private async compare(deviceId: string, checks: readonly ClaimedCheck[]): Promise<void> {
    const snapshot = await this.lanes.read(deviceId, 0);
    const all = checks.map(({ id }) => id);
    if (!snapshot) return this.checks.decide(all, 'unproven', { why: 'the device is gone' });
    const register = this.registers.of(snapshot.device);
    const polled = await pollRegister(register, snapshot.baseline);
    if (polled.kind === 'silent' || polled.kind === 'refused') return this.checks.noteSilence(all, SILENT_RETRY_MS);
    const byKey = checks.filter(({ receiptId }) => receiptId !== null);
    const compared = { deviceId, snapshot, register };
    if (polled.kind === 'replaced') return this.unproven({ ...compared, checks }, { why: polled.reason });
    if (byKey.length > 0) await this.compareByKey({ ...compared, checks: byKey }, polled.status);
    const reading = hasExtensions(polled.status) ? null : readingOf(polled.info);
    if (byKey.length < checks.length) await this.compareByCounters({ ...compared, checks }, reading);
  }

  private async unproven(compared: Compared, evidence: Record<string, unknown>): Promise<void> {
    const { checks, deviceId } = compared;
    const byKey = checks.filter(({ receiptId }) => receiptId !== null);
    await this.checks.decide(
      byKey.map(({ id }) => id),
      'unproven',
      evidence,
    );
    if (byKey.length < checks.length) await this.checks.decideByCounters(deviceId, 'unproven', evidence);
  }

  private async compareByKey(compared: Compared, status: LocalStatus): Promise<void> {
    if (!hasExtensions(status) || typeof status.journalId !== 'string')
      return this.unproven(compared, { why: 'the register lost its idempotency keys' });
    const settleMs = finalAfterMs(compared.snapshot.device.profile.settleMs);
    let released = false;
    for (const check of compared.checks) {
      const isSettled = check.answeredAgoMs !== null && check.answeredAgoMs >= settleMs;
      // The first reading finds what is there; the last one, after the settle time, what is not.
      const isDue = check.answeredAgoMs === null || isSettled;
      const found = isDue ? await this.findByKey(compared, check) : 'waiting';
      if (found === 'silent') {
        await this.checks.noteSilence([check.id], SILENT_RETRY_MS);
      } else if (found === 'absent' && isSettled) {
        await this.checks.decide([check.id], 'absent', { why: 'its journal does not know the key' });
        released = true;
      } else if (found !== 'present') {
        await this.checks.noteAnswer([check.id], nextProbeMs(check, settleMs));
      }
    }
    if (released) await this.release(compared.deviceId);
  }

  private async findByKey(
    { register, deviceId, snapshot }: Compared,
    { id, receiptId }: ClaimedCheck,
  ): Promise<'present' | 'absent' | 'silent'> {
    const answer = await register.findByKey(receiptId ?? '');
    // The capabilities were read just before: this code cannot mean that the call itself is unknown.
    if (answer.kind === 'refused') return answer.code === 'S-002' ? 'absent' : 'silent';
    if (answer.kind !== 'ok' || receiptId === null) return 'silent';
    const known = snapshot.baseline ?? UNKNOWN_BASELINE;
    const stored = { kind: 'registered' as const, httpStatus: 200, response: answer.value };
    const outcome = decideRepeat({ baseline: known, isRefund: false }, stored);
    if (outcome.kind !== 'registered') return 'silent';
    const { registration } = outcome;
    const late = await this.lanes.recordLateAnswer({ receiptId, deviceId, registration, evidence: 'journal' });
    await this.checks.decide([id], 'present', { registration, outcome: late });
    this.logger[late === 'duplicate_suspected' ? 'error' : 'warn'](
      { device_id: deviceId, receipt_id: receiptId, late, registration },
      'a held receipt stands in the journal of this register',
    );
    this.notices.notify(receiptId);
    return 'present';
  }

  private async compareByCounters({ deviceId, snapshot, checks }: Compared, now: CounterReading | null): Promise<void> {
    const check = checks.find(({ receiptId }) => receiptId === null);
    const copied = snapshot.baseline?.reading ?? null;
    if (!check) return;
    if (copied === null || now === null) {
      const why = copied === null ? 'the copy has no reading of its counters' : 'the register has keys by now';
      return this.checks.decideByCounters(deviceId, 'unproven', { why });
    }
    if (!standsAsCopied({ reading: copied, lastKnown: snapshot.lastKnown }, now)) {
      const evidence = { baseline_of_copy: copied, reading: now, difference: describeDifference(copied, now, false) };
      return this.checks.decideByCounters(deviceId, 'unproven', evidence);
    }
    const { settleMs } = snapshot.device.profile;
    if (check.answeredAgoMs === null || check.answeredAgoMs < settleMs)
      return this.checks.noteAnswer([check.id], nextProbeMs(check, settleMs));
    await this.checks.decideByCounters(deviceId, 'absent', { baseline_of_copy: copied, reading: now });
    this.logger.warn({ device_id: deviceId }, 'the counters of this register stand where the copy left them');
    await this.release(deviceId);
    this.ring(deviceId);
  }

  private async release(deviceId: string): Promise<void> {
    for (const lane of await this.checks.release(deviceId)) this.ring(lane);
  }
}

function nextProbeMs({ answeredAgoMs }: ClaimedCheck, settleMs: number): number {
  return Math.min(PROBE_EVERY_MS, Math.max(0, settleMs - (answeredAgoMs ?? 0)));
}
