import type { Clock, Logger } from '#runtime';
import type { Later } from '../shares/places.js';
import { DrainLane } from './drain-lane.js';
import { LaneSetbacks } from './lane-setbacks.js';
import { NewIntents } from './new-intents.js';
import { ParkAttempt } from './park-attempt.js';
import type { Registers } from '../devices/register.js';
import type { LaneLocks, LaneStore, SettledNotices } from './ports.js';
import { PrepareNext } from './prepare-next.js';
import { ReadyLane } from './ready-lane.js';
import type { RecordAnswer } from './record-answer.js';
import { RecordOutcome } from './record-outcome.js';
import { ResolveAttempt } from './resolve-attempt.js';
import { ResolveByCounters } from './resolve-by-counters.js';
import { ResolveByKey } from './resolve-by-key.js';
import { SendReceipt } from './send-receipt.js';
import { SendUnderIntent } from './send-under-intent.js';
import { SendTurns } from './send-turns.js';
import { SettleLane } from './settle-lane.js';
import { TakeBaseline } from './take-baseline.js';

/** The world that a lane works in: the real one in the relay, a simulated one in the simulation. */
export interface LaneWorld {
  store: LaneStore;
  locks: LaneLocks;
  registers: Registers;
  notices: SettledNotices;
  answers: RecordAnswer;
}

export interface LaneTools {
  clock: Clock;
  logger: Logger;
  random: () => number;
  later: Later;
}

/** Joins the lane's parts; the one place that knows them all. */
export function joinLane(
  { store, locks, registers, notices, answers }: LaneWorld,
  { clock, logger, random, later }: LaneTools,
): DrainLane {
  const setbacks = new LaneSetbacks(store, random);
  const parking = new ParkAttempt(store, notices, logger);
  const settler = new SettleLane(store, setbacks, clock);
  const byKey = new ResolveByKey(store, setbacks, parking, notices, clock, logger);
  const byCounters = new ResolveByCounters(store, settler, setbacks, parking, notices);
  const resolver = new ResolveAttempt(byKey, byCounters, parking);
  const baselines = new TakeBaseline(store, setbacks);
  const outcomes = new RecordOutcome(store, setbacks, resolver, answers, notices, logger);
  const turns = new SendTurns(logger);
  const intents = new NewIntents(clock);
  const following = new PrepareNext(turns, intents, clock, later);
  const sending = new SendUnderIntent(store, setbacks, outcomes, turns, intents, following);
  const sender = new SendReceipt(store, setbacks, baselines, outcomes, notices, sending);
  const ready = new ReadyLane(store, settler, setbacks, clock);
  return new DrainLane(store, locks, registers, ready, sender, resolver);
}
