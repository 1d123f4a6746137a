import type { Logger } from '#runtime';
import { joinLane } from '../../join-lane.js';
import { LaneRunner } from '../../lane-runner.js';
import type { Registers } from '../../../devices/register.js';
import { RecordAnswer } from '../../record-answer.js';
import { ReplayAnswers } from '../../replay-answers.js';
import type { DatabaseServer } from './database-client.js';
import { laneStoreOf, SimulatedLocks } from './database-client.js';
import { SimulatedProcess } from './process.js';
import type { SimulatedSpool } from './spool.js';

const SWEEP_EVERY_MS = 1_000;
const OVERDUE_MS = 2_000;
const REPLAY_EVERY_MS = 10_000;
const LANES_PER_SWEEP = 100;
/** Before a relay that stops is killed. */
const SPOOL_MS = 500;
/** Few, so that silent registers are set aside and lanes wait for places. */
const BOUNDS = { places: 3, aside: 4 };

export interface RelayParts {
  server: DatabaseServer;
  logger: Logger;
  registersOf: (caller: SimulatedProcess) => Registers;
  ringAgain: (deviceId: string) => void;
  onCall: (relay: SimulatedRelay) => void;
  /** Of the host that this relay runs on. */
  spool: SimulatedSpool;
}

/** One life of a relay: the real lane code and runner in a simulated process, and a sweeper like the real one. */
export class SimulatedRelay {
  readonly process: SimulatedProcess;
  readonly locks: SimulatedLocks;
  private readonly runner: LaneRunner;
  private readonly answers: RecordAnswer;
  private readonly replays: ReplayAnswers;

  constructor(
    readonly id: string,
    private readonly parts: RelayParts,
  ) {
    const { server, logger } = parts;
    const { time, chance } = server;
    this.process = new SimulatedProcess(time, chance.between(-300_000, 300_000), () => parts.onCall(this));
    this.locks = new SimulatedLocks(this.process, server, this.id);
    const store = laneStoreOf(id, this.process, server);
    const registers = parts.registersOf(this.process);
    const pause = (ms: number): Promise<void> =>
      this.process.external((resolve) => time.after(ms, () => resolve(undefined)));
    const notices = { notify: () => undefined };
    this.answers = new RecordAnswer(store, parts.spool, logger, pause);
    this.replays = new ReplayAnswers(parts.spool, this.answers, notices, logger);
    const world = { store, locks: this.locks, registers, notices, answers: this.answers };
    const later = (afterMs: number, run: () => void): (() => void) => {
      const timer = time.after(afterMs, () => this.process.enter(run));
      return () => timer.cancel();
    };
    const drainLane = joinLane(world, { clock: this.process.clock, logger, random: chance.next, later });
    const merchants = { of: (deviceId: string) => Promise.resolve(merchantOf(deviceId)) };
    this.runner = new LaneRunner(drainLane, merchants, parts.ringAgain, BOUNDS, logger, later);
    this.sweepAfter(chance.between(0, SWEEP_EVERY_MS));
    this.replayAfter(0);
  }

  get freePlaces(): number {
    return this.runner.freePlaces;
  }

  wake(deviceId: string): void {
    this.process.enter(() => void this.runner.wake(deviceId));
  }

  /** SIGTERM: what is in hand may end, the rest stays as it is. */
  stop(afterMs: number): void {
    const { time } = this.parts.server;
    this.process.enter(() => void this.runner.stop());
    time.after(Math.max(0, afterMs - SPOOL_MS), () => this.process.enter(() => this.answers.stop()));
    time.after(afterMs, () => this.kill());
  }

  kill(): void {
    this.process.kill();
    this.locks.end();
  }

  private replayAfter(ms: number): void {
    this.parts.server.time.after(ms, () => {
      if (!this.process.alive) return;
      this.process.enter(() => void this.replays.replay().catch(() => 'the database is away'));
      this.replayAfter(REPLAY_EVERY_MS);
    });
  }

  private sweepAfter(ms: number): void {
    const { server } = this.parts;
    server.time.after(ms, () => {
      if (!this.process.alive) return;
      if (this.process.running && !server.down) {
        for (const deviceId of server.ledger.overdueLanes(this.id, OVERDUE_MS, LANES_PER_SWEEP)) {
          const hasCapacity = this.runner.capacityOf(merchantOf(deviceId)) > 0;
          if (hasCapacity && !this.runner.isInHand(deviceId)) this.wake(deviceId);
        }
      }
      this.sweepAfter(SWEEP_EVERY_MS * server.chance.between(0.75, 1.25));
    });
  }
}

/** Every third device belongs to another merchant than the two before it. */
function merchantOf(deviceId: string): string {
  return Number(deviceId.replaceAll(/\D/g, '')) % 3 === 0 ? 'mer_small' : 'mer_large';
}
