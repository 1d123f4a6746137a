import { Periodic, endsWithin, type Logger, type Metrics } from '#runtime';
import { observeLanes } from './lane-metrics.js';
import type { LaneRunner } from './lane-runner.js';
import type { LaneWakes } from './lane-wakes.js';
import type { RecordAnswer } from './record-answer.js';
import type { ReplayAnswers } from './replay-answers.js';
import type { Sweeper } from './sweeper.js';

/** Before the end of the deadline, for answers that cannot be written: they are left to the spool. */
const SPOOL_MS = 3_000;
/**
 * Wake-ups read from the queue beyond the lanes that may work. A lane that waits holds no job, so that these are always free to
 * read on: wake-ups of one merchant do not keep those of others behind them in the queue.
 */
const READERS = 16;
/** How often the spool is read for answers that could not be recorded before. */
const REPLAY_EVERY_MS = 10_000;

/** What wakes lanes and what runs them, from the start of the relay to its end. */
export class LaneWork {
  private readonly replays: Periodic;
  private starting: Promise<void> = Promise.resolve();

  constructor(
    private readonly wakes: LaneWakes,
    private readonly runner: LaneRunner,
    private readonly sweeper: Sweeper,
    private readonly answers: RecordAnswer,
    private readonly replay: ReplayAnswers,
    private readonly logger: Logger,
  ) {
    const run = (): Promise<boolean> => replay.replay().then(() => false);
    this.replays = new Periodic({ name: 'recording spooled answers', everyMs: REPLAY_EVERY_MS, run }, logger);
  }

  observe(metrics: Metrics): void {
    const { runner, sweeper, wakes } = this;
    observeLanes(metrics, { runner, sweeper, wakes });
  }

  start(options: { places: number }): void {
    this.starting = this.begin(options);
  }

  async end(deadlineMs: number): Promise<void> {
    await this.starting;
    await Promise.all([this.sweeper.stop(), this.replays.stop(), this.wakes.notices.stop()]);
    const spool = setTimeout(() => this.answers.stop(), Math.max(0, deadlineMs - SPOOL_MS));
    const inHand = Promise.all([this.runner.stop(), this.wakes.queue.close(deadlineMs)]);
    if (!(await endsWithin(inHand, deadlineMs))) this.logger.error('lanes in hand outlived the deadline');
    clearTimeout(spool);
  }

  /** What was in hand at the last stop comes first: a lane would settle its attempt without the answer. */
  private async begin(options: { places: number }): Promise<void> {
    try {
      await this.replay.replay();
    } catch (error) {
      this.logger.warn({ err: error }, 'spooled answers are not recorded yet');
    }
    const wake = (deviceId: string): Promise<void> => {
      this.sweeper.followed.rang(deviceId);
      return this.runner.wake(deviceId);
    };
    this.wakes.start(wake, options.places + READERS);
    this.sweeper.start();
    this.replays.start();
  }
}
