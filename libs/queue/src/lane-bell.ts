import { randomUUID } from 'node:crypto';
import { LANE_QUEUE_NAME } from './lane-jobs.js';
import type { LaneQueue, LaneQueueBackend, Opened } from './lane-queue-backend.js';
import { openLaneQueue } from './lane-queue-backend.js';
import { PendingRings } from './pending-rings.js';
import type { QueueCounters, QueueLog } from './queue-trouble.js';
import { QueueTrouble } from './queue-trouble.js';
import { Pause, within } from './timing.js';

const READY_TIMEOUT_MS = 10_000;
const OPERATION_TIMEOUT_MS = 3_000;
const CHECK_EVERY_MS = 5_000;
const CHECK_WHILE_DOWN_MS = 500;
const CHECK_AT_MOST_EVERY_MS = 50;
/** A connection that errs in a row of checks is replaced by a new one: cures what its own reconnecting does not. */
const CHECKS_BEFORE_REOPEN = 20;
const REOPEN_DELAY_MS = 500;
const CLOSE_STEP_TIMEOUT_MS = 1_500;
const DEFAULT_MAX_WAITING_DEVICES = 20_000;

/**
 * The producer side: after a commit it notifies the relays to read this device's lane. Only a hint: everything it loses
 * (ring while the queue is away and the process dies, queue wiped, more devices than fit, a deduplication key whose job
 * exists but stands in no list) is found by the sweeper.
 */
export class LaneBell {
  private readonly rings: PendingRings;
  private readonly trouble: QueueTrouble;
  private readonly pause = new Pause();
  private opened: Opened<LaneQueue> | null = null;
  private up = false;
  private readonly stop = new AbortController();
  private closing: Promise<void> | null = null;
  private readonly running: Promise<void>;

  /** Connects in the background and for ever; an absent queue is a state, never an error. */
  constructor(
    private readonly backend: LaneQueueBackend,
    private readonly counters: QueueCounters,
    private readonly log: QueueLog,
    maxWaitingDevices = DEFAULT_MAX_WAITING_DEVICES,
  ) {
    this.rings = new PendingRings(maxWaitingDevices);
    this.trouble = new QueueTrouble('bell', log, counters);
    this.running = this.run();
  }

  /**
   * Never throws, never waits. Rings for one device coalesce: at most one add is in flight per device, and any number of
   * rings during it lead to exactly one more add. While the queue is away the device is kept and rung on return.
   */
  ring(deviceId: string): void {
    this.counters.rings += 1;
    if (this.closing !== null || !this.rings.ring(deviceId)) {
      this.counters.droppedRings += 1;
      return;
    }
    this.addWaiting();
  }

  /** For readiness and metrics: whether the last check or add was answered. Dispatch goes on while it is down. */
  get state(): 'up' | 'down' {
    return this.up ? 'up' : 'down';
  }

  /** Devices rung but not yet in the queue. */
  get waitingDevices(): number {
    return this.rings.waitingCount + this.rings.inFlightCount;
  }

  /** Gives rings already made a moment to get out, then closes; ends within about five seconds whatever the queue does. */
  close(): Promise<void> {
    this.closing ??= this.shutDown();
    return this.closing;
  }

  private get stopped(): boolean {
    return this.stop.signal.aborted;
  }

  private async run(): Promise<void> {
    while (!this.stopped) {
      const opened = openLaneQueue(this.backend, (error) => this.suspect(error));
      this.opened = opened;
      if (await this.becomesReady(opened)) await this.watch();
      this.setUp(false);
      if (this.stopped) return; // shutDown ends the connection
      await this.discard(opened);
      await this.pause.sleep(REOPEN_DELAY_MS);
    }
  }

  /** BullMQ keeps a failed first connection for ever, so a queue that is not ready in time is thrown away. */
  private async becomesReady(opened: Opened<LaneQueue>): Promise<boolean> {
    try {
      const ready = opened.client.waitUntilReady();
      await within(ready, READY_TIMEOUT_MS, 'connecting to the queue', this.stop.signal);
      return true;
    } catch (error) {
      if (!this.stopped) this.trouble.report('connection', error);
      return false;
    }
  }

  private async watch(): Promise<void> {
    let failedChecks = 0;
    while (!this.stopped && failedChecks < CHECKS_BEFORE_REOPEN) {
      const answered = await this.check();
      failedChecks = answered ? 0 : failedChecks + 1;
      this.setUp(answered);
      this.addWaiting();
      await this.pause.sleep(answered ? CHECK_EVERY_MS : CHECK_WHILE_DOWN_MS, CHECK_AT_MOST_EVERY_MS);
    }
  }

  /** Reads a value and, when devices wait, adds one of them: a Redis out of memory still answers reads. */
  private async check(): Promise<boolean> {
    if (this.opened === null) return false;
    try {
      await within(
        this.opened.client.getBackend().getQueueMetaField('version'),
        OPERATION_TIMEOUT_MS,
        'the check',
        this.stop.signal,
      );
    } catch (error) {
      if (!this.stopped) this.trouble.report('check', error);
      return false;
    }
    const deviceId = this.rings.take();
    return deviceId === undefined ? true : this.add(deviceId);
  }

  private addWaiting(): void {
    while (this.up && this.rings.inFlightCount < this.backend.addsAtOnce) {
      const deviceId = this.rings.take();
      if (deviceId === undefined) return;
      void this.add(deviceId).then((added) => {
        if (added) this.addWaiting();
        else this.fall();
      });
    }
  }

  /** Never rejects. An add that timed out may still arrive later; the worker then reads once too often. */
  private async add(deviceId: string): Promise<boolean> {
    let added = false;
    try {
      if (this.opened === null) return false;
      // With an id of ours: for one of its own BullMQ would create a sequence in PostgreSQL, which our role may not.
      const options = { jobId: randomUUID(), deduplication: { id: deviceId, keepLastIfActive: true } };
      await within(this.opened.client.add('drain-lane', { deviceId }, options), OPERATION_TIMEOUT_MS, 'adding a job');
      added = true;
      this.counters.adds += 1;
    } catch (error) {
      this.trouble.report('add', error);
    } finally {
      this.rings.settle(deviceId, added);
    }
    return added;
  }

  /** A connection error says that something broke, not that the queue is away: ask it. */
  private suspect(error: unknown): void {
    if (this.stopped) return;
    this.trouble.report('connection', error);
    if (this.up) this.pause.cut();
  }

  private fall(): void {
    if (!this.up) return;
    this.setUp(false);
    this.pause.cut();
  }

  private setUp(up: boolean): void {
    if (this.up === up) return;
    this.up = up;
    if (!this.stopped) {
      this.log.info({ queue: LANE_QUEUE_NAME, backend: this.backend.kind, state: this.state }, 'lane bell');
    }
  }

  private async shutDown(): Promise<void> {
    const deadlineMs = Date.now() + CLOSE_STEP_TIMEOUT_MS;
    while (this.up && this.waitingDevices > 0 && Date.now() < deadlineMs) await new Promise((r) => setTimeout(r, 10));
    this.up = false;
    this.stop.abort();
    this.pause.cut();
    if (this.opened !== null) await this.discard(this.opened);
    await within(this.running, CLOSE_STEP_TIMEOUT_MS, 'ending the checks').catch((error: unknown) =>
      this.trouble.report('close', error),
    );
  }

  private async discard(opened: Opened<LaneQueue>): Promise<void> {
    try {
      await within(opened.client.close(), CLOSE_STEP_TIMEOUT_MS, 'closing the queue');
    } catch (error) {
      this.trouble.report('close', error);
    } finally {
      opened.cut();
    }
  }
}
