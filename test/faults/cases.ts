import { relaysKilled } from './cases/01-relays-killed.js';
import {
  registerFaultsByCounters,
  registerFaultsOnShared,
  registerFaultsWithKeys,
} from './cases/02-register-faults.js';
import { relayPaused } from './cases/04-relay-paused.js';
import { redisAway } from './cases/05-redis-away.js';
import { allKilled } from './cases/06-all-killed.js';
import { databaseStopped } from './cases/06-database-stopped.js';
import { diskFull } from './cases/07-disk-full.js';
import { gatewaysKilled } from './cases/08-gateways-killed.js';
import { blackHole } from './cases/09-black-hole.js';
import { rollingRestarts } from './cases/10-rolling-restarts.js';
import { registersKilled } from './cases/11-registers-killed.js';
import { dataFolder } from './cases/12-data-folder.js';
import { linksCut } from './cases/13-links-cut.js';
import { clockJumps } from './cases/14-clock.js';
import { everything } from './cases/15-everything.js';
import { paymentPatterns } from './cases/16-payments.js';
import { sdkThroughFaults } from './cases/17-sdk.js';
import { databaseDeaf, databasePacketsLost } from './cases/18-database-silent.js';
import { gatewayStalled } from './cases/19-gateway-stalled.js';
import { reportStorm } from './cases/20-reports.js';
import { nation } from './cases/21-nation.js';
import { relaysScaled } from './cases/22-relays-scaled.js';
import { releaseBefore } from './cases/23-release-before.js';
import { laggingStandby } from './cases/24-lagging-standby.js';
import type { FaultCase } from './frame/case.js';

/** All ways of breaking it, in the order of the table. */
export const CASES: readonly FaultCase[] = [
  ...[relaysKilled, registerFaultsWithKeys, registerFaultsByCounters, registerFaultsOnShared, relayPaused],
  ...[redisAway, databaseStopped, allKilled, diskFull, gatewaysKilled, blackHole, rollingRestarts, registersKilled],
  ...[dataFolder, linksCut, clockJumps, everything],
  ...paymentPatterns,
  sdkThroughFaults,
  ...[databaseDeaf, databasePacketsLost, gatewayStalled, reportStorm],
  ...[nation, relaysScaled, releaseBefore, laggingStandby],
];
