import type { PrismaService } from '#database';
import type { Clock, Logger } from '#runtime';
import type { SqlNow } from './database-now.js';
import { DueTimesAhead, type LongestWaits } from './due-times-ahead.js';
import { Failover } from './failover/failover.js';
import { FailoverRepository } from './failover/failover.repository.js';
import { HealthPoller } from './health/health-poller.js';
import { HealthRepository } from './health/health.repository.js';
import { PollDevice } from './health/poll-device.js';
import type { HoldLane } from './lanes/hold-lane.js';
import type { Registers } from './devices/register.js';
import { OfdWatch } from './ofd-watch/ofd-watch.js';
import { OfdRepository } from './ofd-watch/ofd.repository.js';
import { ResendUnsent } from './ofd-watch/resend-unsent.js';
import { CloseShift } from './shifts/close-shift.js';
import { ShiftKeeper } from './shifts/shift-keeper.js';
import { ShiftRepository } from './shifts/shift.repository.js';
import { ShiftTasks } from './shifts/shift-tasks.js';

/** What the watch works in: the relay's own parts, or a test's. */
export interface WatchWorld {
  prisma: PrismaService;
  now: SqlNow;
  lanes: HoldLane;
  registers: Registers;
  ring: (deviceId: string) => void;
  /** A linked register answers of which it is not known who it is. */
  admit: (deviceId: string) => void;
}

export interface WatchSettings {
  pollEveryMs: number;
  /** Polls at the same time in one relay. */
  pollConcurrency: number;
  resendEveryMs: number;
  /** HH:MM of Tashkent, where neither device nor merchant says otherwise. */
  closeAt: string;
}

export interface WatchTools {
  clock: Clock;
  logger: Logger;
  random: () => number;
}

export interface Watch {
  poller: HealthPoller;
  keeper: ShiftKeeper;
  ofd: OfdWatch;
  failover: Failover;
  shiftTasks: ShiftTasks;
  dueTimes: DueTimesAhead;
}

/** Of the time between two polls: half of what it varies by anyway. */
const POLLED_EARLY = 0.1;
/** Far below the lease of a poll (health-poller.ts): one that is under way has a due time as well. */
const POLLED_EARLY_AT_MOST_MS = 10_000;
/** After a long silence a register is polled five times as seldom (poll-device.ts). */
const LONGEST_POLL_FACTOR = 7;
const LEASES_MS = 300_000;
/** Calls to registers at the same time that hold a lane: closes, and resends, which wait for dead OFD servers. */
const CLOSES = 50;
const RESENDS = 50;

/** Joins the parts of the watch; the one place that knows them all. */
export function joinWatch(world: WatchWorld, settings: WatchSettings, tools: WatchTools): Watch {
  const { prisma, now, lanes, registers, ring, admit } = world;
  const { clock, logger, random } = tools;
  const shifts = new ShiftRepository(prisma, now);
  const receipts = new OfdRepository(prisma, now);
  const pollSettings = { everyMs: settings.pollEveryMs, closeAt: settings.closeAt };
  const pollDevice = new PollDevice(registers, shifts, receipts, pollSettings, clock, random);
  const earlyMs = Math.min(settings.pollEveryMs * POLLED_EARLY, POLLED_EARLY_AT_MOST_MS);
  const pollOptions = { concurrency: settings.pollConcurrency, earlyMs, ring, admit };
  const poller = new HealthPoller(new HealthRepository(prisma, now), pollDevice, pollOptions, logger);
  const closer = new CloseShift(lanes, shifts, logger);
  const resender = new ResendUnsent(lanes, receipts, shifts, { everyMs: settings.resendEveryMs }, random, logger);
  return {
    poller,
    keeper: new ShiftKeeper(shifts, closer, poller, { concurrency: CLOSES }, logger),
    ofd: new OfdWatch(receipts, resender, { concurrency: RESENDS }, logger),
    failover: new Failover(new FailoverRepository(prisma, now), ring, logger),
    shiftTasks: new ShiftTasks(lanes, closer, poller),
    dueTimes: new DueTimesAhead(prisma, now, longestWaits(settings), logger),
  };
}

/** Above all jitters and leases; one that is set right without need costs a poll. */
function longestWaits({ pollEveryMs, resendEveryMs }: WatchSettings): LongestWaits {
  return { pollMs: LONGEST_POLL_FACTOR * pollEveryMs + LEASES_MS, resendMs: 2 * resendEveryMs + LEASES_MS };
}
