import { createLogger, newId, type Clock } from '#runtime';
import type { PrismaService } from '#database';
import { holdAfterRestore } from '../../../apps/device-relay/src/copies/hold-after-restore.js';
import { FailoverRepository } from '../../../apps/device-relay/src/failover/failover.repository.js';
import { AdvisoryLaneLocks } from '../../../apps/device-relay/src/lanes/advisory-lane-locks.js';
import type { DrainLane } from '../../../apps/device-relay/src/lanes/drain-lane.js';
import { joinLane } from '../../../apps/device-relay/src/lanes/join-lane.js';
import { LaneRepository } from '../../../apps/device-relay/src/lanes/lane.repository.js';
import type { LaneStore } from '../../../apps/device-relay/src/lanes/ports.js';
import { RecordAnswer } from '../../../apps/device-relay/src/lanes/record-answer.js';
import { ReplayAnswers } from '../../../apps/device-relay/src/lanes/replay-answers.js';
import type { Chance } from '../../../apps/device-relay/src/lanes/simulation/testing/chance.js';
import type { SimulatedSpool } from '../../../apps/device-relay/src/lanes/simulation/testing/spool.js';
import { CompareRegisters, type ComparedRegister } from '../../../apps/device-relay/src/restore/compare-registers.js';
import { RestoreChecksRepository } from '../../../apps/device-relay/src/restore/restore-checks.repository.js';
import { later } from '../../../apps/device-relay/src/shares/places.js';
import { untilTrue } from '../../../libs/runtime/src/testing/until.js';

const logger = createLogger('test', 'silent');
const NOTICES = { notify: () => undefined };
/** Of each statement of a lane: the relay dies before it, or before it has its answer. */
const DEATH = 0.004;

export interface ShopRelayParts {
  prisma: PrismaService;
  databaseUrl: string;
  clock: Clock;
  chance: Chance;
  isHealed: () => boolean;
  note: (line: string) => void;
  registerOf: (deviceId: string, kill: () => Promise<never>) => ComparedRegister;
  /** Of the host that it runs on. */
  spool: SimulatedSpool;
}

/** One life of a relay: its lanes, its comparison after a restore and its failover, as the program joins them, on a real database. */
export class ShopRelay {
  readonly id = newId('rly');
  isDead = false;
  private readonly locks: AdvisoryLaneLocks;
  private readonly lanes: DrainLane;
  private readonly comparing: CompareRegisters;
  private readonly replays: ReplayAnswers;
  private readonly failover: FailoverRepository;
  /** Resolves when it is dead: it is not waited for any longer. */
  private readonly death: Promise<void>;
  private die: () => void = () => undefined;

  constructor(private readonly parts: ShopRelayParts) {
    const { prisma, databaseUrl, clock, chance, registerOf, spool } = parts;
    this.death = new Promise((resolve) => (this.die = resolve));
    const store = this.mortal(new LaneRepository(prisma, this.id));
    const beforeUse = {
      beforeUse: (client: Parameters<typeof holdAfterRestore>[0]) => holdAfterRestore(client, logger),
    };
    this.locks = new AdvisoryLaneLocks({ databaseUrl, relayId: this.id, ...beforeUse }, logger);
    const registers = { of: ({ id }: { id: string }) => registerOf(id, () => this.kill()) };
    const answers = new RecordAnswer(store, spool, logger, () => Promise.resolve());
    this.replays = new ReplayAnswers(spool, answers, NOTICES, logger);
    this.lanes = joinLane(
      { store, locks: this.locks, registers, notices: NOTICES, answers },
      { clock, logger, random: chance.next, later },
    );
    const checks = this.mortal(new RestoreChecksRepository(prisma));
    this.comparing = new CompareRegisters(checks, store, registers, NOTICES, () => undefined, logger);
    this.failover = new FailoverRepository(prisma);
  }

  /** As the program begins: its lock session compares the database, and what its host has spooled is recorded. */
  async start(): Promise<void> {
    this.locks.onApplicationBootstrap();
    await untilTrue(() => this.locks.isConnected, 'the session of lane locks');
    await this.living(this.replays.replay());
  }

  drain(deviceId: string): Promise<unknown> {
    return this.living(this.lanes.drain(deviceId));
  }

  async compare(): Promise<void> {
    await this.living(this.comparing.beginDue().then(() => this.comparing.settle()));
  }

  async failOver(): Promise<void> {
    for (const deviceId of await this.failover.devicesAway(10)) {
      const moved = await this.failover.moveAway(deviceId);
      if (moved.length > 0) this.parts.note(`${deviceId} fails over to ${moved.join(', ')}`);
    }
  }

  /** Nothing that it has begun goes on. @returns what it would have waited for, for ever */
  kill(): Promise<never> {
    if (!this.isDead) this.parts.note(`${this.id} killed`);
    this.isDead = true;
    this.die();
    return NEVER;
  }

  async end(): Promise<void> {
    this.isDead = true;
    await this.locks.onApplicationShutdown();
  }

  private living<T>(work: Promise<T>): Promise<T | void> {
    // What fails after its death concerns no test.
    return Promise.race([
      work.catch((error: unknown) => (this.isDead ? undefined : Promise.reject(asError(error)))),
      this.death,
    ]);
  }

  /** Each call may be the last. */
  private mortal<T extends LaneStore | RestoreChecksRepository>(real: T): T {
    const { chance, isHealed } = this.parts;
    return new Proxy(real, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== 'function') return value;
        return async (...args: unknown[]): Promise<unknown> => {
          if (this.isDead) return NEVER;
          if (!isHealed() && chance.happens(DEATH)) return this.kill();
          const answer: unknown = await Reflect.apply(value, target, args);
          if (this.isDead) return NEVER;
          return !isHealed() && chance.happens(DEATH) ? this.kill() : answer;
        };
      },
    });
  }
}

const NEVER = new Promise<never>(() => undefined);

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
