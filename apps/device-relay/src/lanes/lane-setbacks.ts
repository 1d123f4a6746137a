import { claimedElsewhereReason } from '#ledger';
import type { RegisterCheck } from '../devices/check-register.js';
import type { LaneInHand, Step } from './lane-in-hand.js';
import { BLOCKED_RETRY_MS, retryAfterMs } from './lane-timing.js';
import type { LaneStore } from './ports.js';

/** Every answer to "who is there?" but the one that we hoped for. */
export type UnfitRegister = Exclude<RegisterCheck, { kind: 'same' }>;

/** What happens to a lane whose register does not do what we asked: it waits, on the database's clock, lock released. */
export class LaneSetbacks {
  /** Devices whose shift was opened just now, and how many failures their lane counted after it. */
  private readonly openedAt = new Map<string, number>();

  constructor(
    private readonly store: LaneStore,
    private readonly random: () => number = Math.random,
  ) {}

  /** The register that was asked who it is cannot be worked with now. */
  unfit(lane: LaneInHand, check: UnfitRegister): Promise<Step> {
    switch (check.kind) {
      case 'silent':
        return this.unreachable(lane, check.reason);
      case 'refusing':
        return this.refused(lane, check.state, check.reason);
      case 'replaced':
        return this.replaced(lane, check.reason);
    }
  }

  /** Nothing gets through: the next try is the half-open probe of the breaker. */
  async unreachable(lane: LaneInHand, reason: string): Promise<Step> {
    await this.store.setDeviceState(lane.device.id, 'unreachable', reason);
    return this.retryLater(lane, reason);
  }

  /** The register says no until something about itself changes; asked again now and then whether it has. */
  async refused(lane: LaneInHand, state: 'blocked' | 'expired', reason: string): Promise<Step> {
    await this.store.setDeviceState(lane.device.id, state, reason);
    return this.wait(lane, BLOCKED_RETRY_MS, reason);
  }

  /**
   * Another fiscal module stands there: no answer of it proves anything, only an operator can decide. Who does not hold the lane any more (it stood
   * still) compares with a register of long ago: another relay may have seen the exchange, and a person adopted it.
   */
  async replaced(lane: LaneInHand, reason: string): Promise<Step> {
    if (!lane.laneLock.isHeld()) return { kind: 'stop' };
    await this.store.setDeviceState(lane.device.id, 'replaced', reason);
    return { kind: 'stop' };
  }

  /** Another merchant holds this terminal: nothing is sent before that is proven, or decided by the platform's operator. */
  async claimedElsewhere(lane: LaneInHand, terminalId: string | null): Promise<Step> {
    if (!lane.laneLock.isHeld()) return { kind: 'stop' };
    await this.store.setDeviceState(lane.device.id, 'claimed_elsewhere', claimedElsewhereReason(terminalId ?? ''));
    return { kind: 'stop' };
  }

  async retryLater(lane: LaneInHand, reason: string): Promise<Step> {
    lane.failures += 1;
    return this.wait(lane, retryAfterMs(lane.failures, this.random), reason);
  }

  /** Our own lateness says nothing about the register: a short pause, however often. How many begin at once is bounded elsewhere. */
  ownDelay(lane: LaneInHand, reason: string): Promise<Step> {
    return this.wait(lane, retryAfterMs(1, this.random), reason);
  }

  /**
   * At once, but only once: a register that says it opened and stays closed must not spin. Failures before it, of a register
   * that was away, do not count: it has just answered.
   */
  async shiftOpened(lane: LaneInHand): Promise<Step> {
    const { id } = lane.device;
    if (this.openedAt.get(id) === lane.failures) {
      const step = await this.retryLater(lane, 'the shift is open, and the receipt met F-002 again');
      this.openedAt.set(id, lane.failures);
      return step;
    }
    lane.failures += 1;
    this.openedAt.set(id, lane.failures);
    await this.wait(lane, 0, 'the shift was opened');
    return { kind: 'reread' };
  }

  async wait(lane: LaneInHand, afterMs: number, reason: string): Promise<Step> {
    await this.store.postpone(lane.device.id, { afterMs, reason, failures: lane.failures });
    return { kind: 'wait', afterMs };
  }
}
