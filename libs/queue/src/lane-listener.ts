import { setTimeout as sleep } from 'node:timers/promises';
import type { Job } from 'bullmq';
import { WaitingError } from 'bullmq';
import type { LaneJob, LaneJobHandlers, LaneJobName } from './lane-jobs.js';
import { assertEveryJobHasHandler, deviceIdOf } from './lane-jobs.js';
import type { LaneProcessor, LaneQueueBackend, LaneWorker, Opened } from './lane-queue-backend.js';
import { openLaneWorker } from './lane-queue-backend.js';
import type { QueueCounters, QueueLog } from './queue-trouble.js';
import { QueueTrouble } from './queue-trouble.js';
import { Pause, within } from './timing.js';

const READY_TIMEOUT_MS = 10_000;
const REOPEN_DELAY_MS = 1_000;
const CLOSE_STEP_TIMEOUT_MS = 2_000;
const DEFAULT_CLOSE_DEADLINE_MS = 10_000;
const DEFAULT_LOCK_DURATION_MS = 15_000;
/** An idle worker claims every five seconds (lane-queue-backend.ts). */
const DEFAULT_DEAF_AFTER_MS = 30_000;
const DEAF_CHECKS = 12;

interface ListenerOptions {
  concurrency: number;
  lockDurationMs?: number;
  deafAfterMs?: number;
}

/**
 * The consumer side: calls the handler once per wake-up. BullMQ keeps two wake-ups of one device apart in the normal
 * case, but a worker that was paused or cut off longer than its lock runs beside its successor: **this is no fence**, the
 * lane lock is. Nor is a wake-up ever repeated: a handler that fails or dies leaves its lane to the sweeper.
 */
export class LaneListener {
  private readonly trouble: QueueTrouble;
  private readonly pause = new Pause();
  private readonly active = new Set<Promise<void>>();
  private opened: Opened<LaneWorker> | null = null;
  private running: Promise<void> | null = null;
  private readonly stop = new AbortController();
  private closing: Promise<void> | null = null;
  private listening = false;
  /** Since the last sign that the worker hears. Checks, not time: a process that stood still for a minute is not deaf. */
  private silentChecks = 0;

  constructor(
    private readonly backend: LaneQueueBackend,
    private readonly counters: QueueCounters,
    log: QueueLog,
  ) {
    this.trouble = new QueueTrouble('listener', log, counters);
  }

  /**
   * Begins to take wake-ups, in the background and for ever: an absent queue is waited for.
   *
   * @param options lockDurationMs: how long the jobs of a relay that died stay its own, 15 s unless set; deafAfterMs: how long nothing was
   *   claimed though there was room, until the worker is opened anew, 30 s unless set
   * @param handler runs for at most `concurrency` devices at once, beside those that a discarded worker has begun; what it throws is counted and logged, nothing more
   * @throws Error when it is started twice, after close, or without a handler for every job
   */
  start(handler: (deviceId: string) => Promise<void>, options: ListenerOptions): void {
    if (this.running !== null || this.closing !== null) throw new Error('A lane listener starts once.');
    assertEveryJobHasHandler({ 'drain-lane': handler });
    const handlers: LaneJobHandlers = { 'drain-lane': (job) => handler(job.deviceId) };
    this.running = this.run(handlers, {
      lockDurationMs: DEFAULT_LOCK_DURATION_MS,
      deafAfterMs: DEFAULT_DEAF_AFTER_MS,
      ...options,
    });
  }

  get state(): 'listening' | 'connecting' | 'closed' {
    if (this.closing !== null || this.running === null) return 'closed';
    return this.listening ? 'listening' : 'connecting';
  }

  /**
   * Takes no new wake-up, waits for running handlers up to the deadline, then cuts the connections. A handler that is
   * still stuck then is abandoned: its job counts as stalled 15–25 s later (by default) and wakes another relay.
   */
  close(deadlineMs = DEFAULT_CLOSE_DEADLINE_MS): Promise<void> {
    this.closing ??= this.shutDown(deadlineMs);
    return this.closing;
  }

  private async run(handlers: LaneJobHandlers, options: Required<ListenerOptions>): Promise<void> {
    while (!this.stopped) {
      try {
        await this.listen(handlers, options);
      } catch (error) {
        if (!this.stopped) this.trouble.report('run', error);
      }
      this.listening = false;
      if (this.stopped) return; // shutDown ends the worker
      if (this.opened !== null) await this.discard(this.opened, true);
      await this.pause.sleep(REOPEN_DELAY_MS);
    }
  }

  /** One worker's life. BullMQ keeps a failed first connection for ever, so a new try is a new worker. */
  private async listen(handlers: LaneJobHandlers, options: Required<ListenerOptions>): Promise<void> {
    const processor: LaneProcessor = (job, token) => this.process(handlers, job, token);
    this.opened = openLaneWorker(this.backend, processor, options, {
      error: (error) => {
        if (!this.stopped) this.trouble.report('connection', error);
      },
      claimed: () => this.hears(),
    });
    const ready = this.opened.client.waitUntilReady();
    await within(ready, READY_TIMEOUT_MS, 'connecting to the queue', this.stop.signal);
    if (this.stopped) return;
    this.listening = true;
    const ended = new AbortController();
    try {
      await Promise.race([this.opened.client.run(), this.goesDeaf(options, ended.signal)]);
    } finally {
      ended.abort();
    }
  }

  /**
   * A client of a cluster may end its own reconnecting and wait for ever without any error. The bell replaces a connection whose
   * checks fail; this is the same for the worker.
   *
   * @throws Error once nothing was claimed for so long though there was room
   */
  private async goesDeaf({ concurrency, deafAfterMs }: Required<ListenerOptions>, ended: AbortSignal): Promise<void> {
    this.hears();
    while (this.silentChecks < DEAF_CHECKS) {
      await sleep(deafAfterMs / DEAF_CHECKS, undefined, { signal: ended });
      // With every place taken it need not claim.
      this.silentChecks = this.active.size >= concurrency ? 0 : this.silentChecks + 1;
    }
    throw new Error(`The worker has claimed nothing for ${deafAfterMs} ms: it is opened anew.`);
  }

  private hears(): void {
    this.silentChecks = 0;
  }

  private async process(
    handlers: LaneJobHandlers,
    job: Job<LaneJob, void, LaneJobName>,
    token: string | undefined,
  ): Promise<void> {
    if (this.stopped) {
      // Fetched by a read that was already on its way when close() began: give it back to another relay.
      await job.moveToWait(token);
      throw new WaitingError();
    }
    this.hears();
    const handling = this.handle(handlers, job);
    this.active.add(handling);
    await handling;
    this.active.delete(handling);
    this.hears();
  }

  /** Never rejects: a failed job would be removed just as a completed one is, and the truth is in PostgreSQL. */
  private async handle(handlers: LaneJobHandlers, job: Job<LaneJob, void, LaneJobName>): Promise<void> {
    this.counters.wakes += 1;
    try {
      const handler = Object.hasOwn(handlers, job.name) ? handlers[job.name] : undefined;
      const deviceId = deviceIdOf(job.data);
      if (handler === undefined || deviceId === null) throw new Error('This job is of no kind that is known here.');
      await handler({ deviceId });
    } catch (error) {
      this.trouble.report('handler', error);
    }
  }

  private get stopped(): boolean {
    return this.stop.signal.aborted;
  }

  private async shutDown(deadlineMs: number): Promise<void> {
    this.stop.abort();
    this.pause.cut();
    const opened = this.opened;
    if (opened === null || this.running === null) return;
    // Stops claiming without waiting; worker.close() alone would wait for a stuck handler for ever.
    await this.attempt(opened.client.pause(true), CLOSE_STEP_TIMEOUT_MS, 'pausing the worker');
    const finished = await this.attempt(Promise.all(this.active), deadlineMs, 'waiting for running handlers');
    await this.discard(opened, !finished);
    await this.attempt(this.running, CLOSE_STEP_TIMEOUT_MS, 'ending the listener');
  }

  private async discard(opened: Opened<LaneWorker>, force: boolean): Promise<void> {
    await this.attempt(opened.client.close(force), CLOSE_STEP_TIMEOUT_MS, 'closing the worker');
    opened.cut();
  }

  private async attempt(step: Promise<unknown>, timeoutMs: number, what: string): Promise<boolean> {
    try {
      await within(step, timeoutMs, what);
      return true;
    } catch (error) {
      this.trouble.report('close', error);
      return false;
    }
  }
}
