import { sameReading, type Baseline, type CounterReading } from '#fiscal-domain';
import type { Clock } from '#runtime';
import { checkRegister } from '../devices/check-register.js';
import type { LaneInHand, Step } from './lane-in-hand.js';
import type { LaneSetbacks } from './lane-setbacks.js';
import type { LaneStore } from './ports.js';

/** While it settles the register is asked this often whether it is still awake. */
const PROBE_EVERY_MS = 10_000;
/**
 * Longer without an answer, and the register may have slept unnoticed with the request inside it: starts again. Shorter
 * naps must fit between the register's worst processing time and `settleMs`.
 */
const LONGEST_GAP_MS = 30_000;
/** Between the two readings that must be equal. */
const BETWEEN_READINGS_MS = 5_000;
/** Pairs of readings that differed before the register counts as never quiet. */
const MAX_MOVES = 6;

export type Settled =
  /** The lane's row says when to come back. */
  | { kind: 'waiting'; step: Step }
  /** The register has extensions by now: no counters are read there, and what arrives late is known by its key. */
  | { kind: 'keyed'; baseline: Baseline }
  | { kind: 'settled'; first: CounterReading; second: CounterReading; baseline: Baseline };

interface Settle {
  /** What is being settled: an attempt's id, or the lane itself after one was parked. */
  subject: string;
  /** Monotonic: the register's first answer after the sending. */
  answeredAtMs: number;
  /** Monotonic: its last answer. */
  seenAtMs: number;
  first: { reading: CounterReading; takenAtMs: number } | null;
  moves: number;
}

/**
 * Waits until whatever may still be at work inside a register, or asleep on its way there, has ended; then reads the
 * counters twice (docs/architecture.md). Only for registers without extensions.
 *
 * The time counts in this process and on its monotonic clock, from the register's first answer, and only while it keeps
 * answering: a phone may have been asleep with the request in its backlog, or falls asleep over it, and works it off when
 * it wakes. Crash window: this process dies while it waits; the relay that takes the lane later has no memory of the first answer
 * and starts the settling again, and so does one that was paused for long.
 */
export class SettleLane {
  private readonly settles = new Map<string, Settle>();

  constructor(
    private readonly store: LaneStore,
    private readonly setbacks: LaneSetbacks,
    private readonly clock: Clock,
  ) {}

  async settle(lane: LaneInHand, subject: string, known: Baseline): Promise<Settled> {
    const deviceId = lane.device.id;
    const check = await checkRegister(lane.register, known);
    if (check.kind !== 'same') {
      // A probe without an answer starts the waiting again: the request may be asleep there.
      if (check.kind === 'silent') this.settles.delete(deviceId);
      return { kind: 'waiting', step: await this.setbacks.unfit(lane, check) };
    }
    const reading = check.baseline.reading;
    if (reading === null) {
      this.settles.delete(deviceId);
      return { kind: 'keyed', baseline: check.baseline };
    }
    const now = this.clock.monotonicMs();
    const settle = this.settleOf(deviceId, subject, now);
    const quietMs = lane.device.profile.settleMs - (now - settle.answeredAtMs);
    if (quietMs > 0) return this.wait(lane, Math.min(quietMs, PROBE_EVERY_MS), 'settling');
    return this.compare(lane, settle, { reading, baseline: check.baseline });
  }

  private async compare(
    lane: LaneInHand,
    settle: Settle,
    { reading, baseline }: { reading: CounterReading; baseline: Baseline },
  ): Promise<Settled> {
    const now = this.clock.monotonicMs();
    const { first } = settle;
    if (first === null) {
      settle.first = { reading, takenAtMs: now };
      return this.wait(lane, BETWEEN_READINGS_MS, 'between two readings');
    }
    const restMs = BETWEEN_READINGS_MS - (now - first.takenAtMs);
    if (restMs > 0) return this.wait(lane, restMs, 'between two readings');
    if (!sameReading(first.reading, reading) && settle.moves < MAX_MOVES) {
      settle.moves += 1;
      settle.first = { reading, takenAtMs: now };
      return this.wait(lane, BETWEEN_READINGS_MS, 'the counters are moving');
    }
    this.settles.delete(lane.device.id);
    return { kind: 'settled', first: first.reading, second: reading, baseline };
  }

  private settleOf(deviceId: string, subject: string, now: number): Settle {
    const known = this.settles.get(deviceId);
    if (known?.subject === subject && now - known.seenAtMs <= LONGEST_GAP_MS) {
      known.seenAtMs = now;
      return known;
    }
    const settle: Settle = { subject, answeredAtMs: now, seenAtMs: now, first: null, moves: 0 };
    this.settles.set(deviceId, settle);
    return settle;
  }

  private async wait(lane: LaneInHand, afterMs: number, reason: string): Promise<Settled> {
    await this.store.beginSettle(lane.device.id, afterMs, reason);
    return { kind: 'waiting', step: { kind: 'wait', afterMs } };
  }
}
