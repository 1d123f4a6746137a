import type { Logger } from '#runtime';
import { later, Places, SILENT_AFTER_MS, type Place } from '../shares/places.js';
import type { ClaimedPoll, HealthRepository, PollOutcome, PollWritten } from './health.repository.js';
import type { PollDevice, PollOptions } from './poll-device.js';

/** Devices taken at a time. */
const BATCH = 100;
/** Polls of silent registers, for each place: they wait beside the others. */
const ASIDE_FOR_EACH_PLACE = 10;
/** Longer than a poll can take: six calls, each with its own deadline. */
const LEASE_MS = 120_000;

interface Waiting {
  outcome: PollOutcome;
  resolve: (written: PollWritten | null) => void;
  reject: (reason: unknown) => void;
}

/**
 * Polls the fleet: takes what is due, asks many registers at the same time, writes their answers in groups. The poll of a
 * silent register is set aside, so that the others are polled when they are due.
 */
export class HealthPoller {
  private readonly running = new Set<Promise<unknown>>();
  private readonly places: Places;
  private waiting: Waiting[] = [];
  private writing = false;

  constructor(
    private readonly devices: HealthRepository,
    private readonly pollDevice: PollDevice,
    private readonly options: {
      concurrency: number;
      /** A poll may come so much before it is due, together with others; a fraction of a lease. */
      earlyMs: number;
      ring: (deviceId: string) => void;
      admit: (deviceId: string) => void;
    },
    private readonly logger: Logger,
  ) {
    const { concurrency } = options;
    this.places = new Places({ places: concurrency, aside: concurrency * ASIDE_FOR_EACH_PLACE });
  }

  /** Begins the polls that are due, as far as places are free. True: there may be more. */
  async beginDue(): Promise<boolean> {
    const free = Math.min(this.places.free, BATCH);
    if (free <= 0) return false;
    const claimed = await this.devices.claimDue(free, this.leaseMs, this.options.earlyMs);
    for (const device of claimed) this.begin(device, this.places.tryEnter());
    return claimed.length === free;
  }

  /** A lease is a due time, and what is due soon may be taken early: it is longer by that, so that no relay takes it before its end. */
  private get leaseMs(): number {
    return LEASE_MS + this.options.earlyMs;
  }

  /** Polls under way have ended. */
  async settle(): Promise<void> {
    while (this.running.size > 0) await Promise.allSettled(this.running);
  }

  /** Polls one device now. Null: there is no such device. @throws when the database is away */
  async pollNow(
    deviceId: string,
    options: PollOptions,
  ): Promise<{ written: PollWritten; outcome: PollOutcome } | null> {
    const claimed = await this.devices.claimOne(deviceId, this.leaseMs);
    if (!claimed) return null;
    const outcome = await this.pollDevice.poll(claimed, options);
    const written = await this.write(outcome);
    return written && { written, outcome };
  }

  private begin(claimed: ClaimedPoll, place: Place | null): void {
    const cancel = later(SILENT_AFTER_MS, () => void place?.setAside());
    const poll = this.pollDevice
      .poll(claimed)
      .then((outcome) => this.write(outcome))
      .catch((error: unknown) => {
        // Its lease ends by itself, then it is due again.
        this.logger.warn({ err: error, device_id: claimed.device.id }, 'health poll failed');
      })
      .finally(() => {
        cancel();
        place?.leave();
        this.running.delete(poll);
      });
    this.running.add(poll);
  }

  private write(outcome: PollOutcome): Promise<PollWritten | null> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ outcome, resolve, reject });
      if (!this.writing) void this.writeAll();
    });
  }

  /** One statement at a time takes all that wait. */
  private async writeAll(): Promise<void> {
    this.writing = true;
    while (this.waiting.length > 0) {
      const group = this.waiting;
      this.waiting = [];
      try {
        const written = await this.devices.record(group.map(({ outcome }) => outcome));
        const byId = new Map(written.map((one) => [one.deviceId, one]));
        for (const one of written) if (one.isBack) this.options.ring(one.deviceId);
        for (const { outcome, resolve } of group) {
          if (outcome.isToBeAdmitted) this.options.admit(outcome.claimed.device.id);
          resolve(byId.get(outcome.claimed.device.id) ?? null);
        }
      } catch (error) {
        for (const { reject } of group) reject(error);
      }
    }
    this.writing = false;
  }
}
