import { setTimeout as delay } from 'node:timers/promises';
import { join } from 'node:path';
import { Inject, Module, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import { observePools, PrismaService, SalesDatabase, sessionsAt, transactionsAt, type WatchedSession } from '#database';
import { readBacklog } from '#ledger';
import { LaneBell, LaneListener, laneQueueBackend, observeQueue, QueueCounters } from '#queue';
import { OutgoingGuard } from '#outgoing';
import { Metrics, newId, systemClock, type Logger } from '#runtime';
import { RegisterConnections } from '../devices/register-connections.js';
import { EmulatedModule } from '../emulated/emulated.module.js';
import { EmulatedRegisters } from '../emulated/emulated-register.js';
import { LinkedLanes } from '../links/linked-lanes.js';
import { LinksModule } from '../links/links.module.js';
import { Links } from '../links/links.js';
import { later } from '../shares/places.js';
import { LOGGER, RELAY_ID, SETTINGS_TOKEN } from '../tokens.js';
import { provided } from '../provided.js';
import type { RelaySettings } from '../settings.js';
import { AdvisoryLaneLocks } from './advisory-lane-locks.js';
import { AnswerFiles } from './answer-files.js';
import { DrainLane } from './drain-lane.js';
import { observeBacklog } from './backlog-metrics.js';
import { holdAfterRestore } from '../copies/hold-after-restore.js';
import { joinLane } from './join-lane.js';
import { LaneRunner } from './lane-runner.js';
import { LatencyMinutes } from './latency-minutes.js';
import { LaneMerchants } from './lane-merchants.js';
import { DeviceClocks } from './device-clocks.js';
import { observeRegistered } from './lane-metrics.js';
import { LaneRepository } from './lane.repository.js';
import { LaneWakes } from './lane-wakes.js';
import { LaneWork } from './lane-work.js';
import { RecordAnswer } from './record-answer.js';
import { ReplayAnswers } from './replay-answers.js';
import { PostgresSettledNotices } from './settled-notices.js';
import { RecentLanes } from './recent-lanes.js';
import { Sweeper } from './sweeper.js';
import { WakeNotices } from './wake-notices.js';

/** Where the lane's parts are chosen and joined. */
@Module({
  imports: [LinksModule, EmulatedModule],
  providers: [
    {
      provide: SalesDatabase,
      inject: [SETTINGS_TOKEN],
      useFactory: (settings: RelaySettings) =>
        new SalesDatabase({
          ...transactionsAt(settings),
          poolSize: settings.LANE_POOL_SIZE,
          applicationName: 'device-relay',
          lockTimeoutMs: 2_500,
        }),
    },
    {
      provide: PrismaService,
      inject: [SETTINGS_TOKEN],
      useFactory: (settings: RelaySettings) =>
        new PrismaService({
          ...transactionsAt(settings),
          poolSize: settings.WATCH_POOL_SIZE,
          applicationName: 'device-relay-watch',
          lockTimeoutMs: 5_000,
        }),
    },
    {
      provide: AdvisoryLaneLocks,
      inject: [SETTINGS_TOKEN, RELAY_ID, LOGGER],
      useFactory: (settings: RelaySettings, relayId: string, logger: Logger) => {
        const beforeUse = (client: WatchedSession): Promise<void> =>
          holdAfterRestore(client, logger, () => client.limitStatements(0));
        return new AdvisoryLaneLocks({ databaseUrl: sessionsAt(settings), relayId, beforeUse }, logger);
      },
    },
    { provide: RELAY_ID, useFactory: () => newId('rly') },
    {
      provide: LaneRepository,
      inject: [SalesDatabase, PrismaService, RELAY_ID, LOGGER, Metrics],
      useFactory: (lanes: SalesDatabase, watch: PrismaService, relayId: string, logger: Logger, metrics: Metrics) => {
        observeBacklog(metrics, () => readBacklog(watch), { clock: systemClock, logger });
        observePools(metrics, { lanes, watch });
        return new LaneRepository(lanes, relayId, { meeting: watch, observeRegistered: observeRegistered(metrics) });
      },
    },
    provided(QueueCounters),
    {
      provide: LaneBell,
      inject: [SETTINGS_TOKEN, QueueCounters, LOGGER, Metrics],
      useFactory: (settings: RelaySettings, counters: QueueCounters, logger: Logger, metrics: Metrics) => {
        const bell = new LaneBell(queueOf(settings), counters, logger);
        observeQueue(metrics, counters, bell);
        return bell;
      },
    },
    {
      provide: LaneListener,
      inject: [SETTINGS_TOKEN, QueueCounters, LOGGER],
      useFactory: (settings: RelaySettings, counters: QueueCounters, logger: Logger) =>
        new LaneListener(queueOf(settings), counters, logger),
    },
    {
      provide: RegisterConnections,
      inject: [SETTINGS_TOKEN, Links, EmulatedRegisters],
      useFactory: (settings: RelaySettings, links: Links, emulated: EmulatedRegisters) => {
        const guard = OutgoingGuard.forDevices(settings.DEVICE_ALLOWED_CIDRS);
        return new RegisterConnections(settings.SECRETS_KEY, guard, links, emulated);
      },
    },
    provided(PostgresSettledNotices, SalesDatabase, LOGGER, LatencyMinutes),
    provided(LatencyMinutes, PrismaService, LOGGER),
    {
      provide: AnswerFiles,
      inject: [SETTINGS_TOKEN],
      useFactory: ({ DATA_DIR }: RelaySettings) => new AnswerFiles(join(DATA_DIR, 'answers')),
    },
    {
      provide: RecordAnswer,
      inject: [LaneRepository, AnswerFiles, LOGGER, Metrics],
      useFactory: (store: LaneRepository, spool: AnswerFiles, logger: Logger, metrics: Metrics) =>
        new RecordAnswer(store, spool, logger, delay, new DeviceClocks().observe(metrics)),
    },
    provided(ReplayAnswers, AnswerFiles, RecordAnswer, PostgresSettledNotices, LOGGER),
    {
      provide: DrainLane,
      inject: [LaneRepository, AdvisoryLaneLocks, RegisterConnections, PostgresSettledNotices, RecordAnswer, LOGGER],
      useFactory: (
        store: LaneRepository,
        locks: AdvisoryLaneLocks,
        registers: RegisterConnections,
        notices: PostgresSettledNotices,
        answers: RecordAnswer,
        logger: Logger,
      ) =>
        joinLane(
          { store, locks, registers, notices, answers },
          { clock: systemClock, logger, random: Math.random, later },
        ),
    },
    provided(LaneMerchants, LaneRepository),
    {
      provide: LaneRunner,
      inject: [DrainLane, RecentLanes, LaneMerchants, LaneBell, SETTINGS_TOKEN, LOGGER],
      useFactory: (
        drain: DrainLane,
        recent: RecentLanes,
        merchants: LaneMerchants,
        bell: LaneBell,
        settings: RelaySettings,
        logger: Logger,
      ) =>
        new LaneRunner(
          recent.noting(drain),
          merchants,
          (deviceId) => bell.ring(deviceId),
          { places: settings.RELAY_LANE_PLACES, aside: settings.RELAY_LANES_ASIDE },
          logger,
        ),
    },
    provided(LinkedLanes, Links, LaneBell, LOGGER),
    provided(RecentLanes),
    {
      provide: WakeNotices,
      inject: [SETTINGS_TOKEN, RecentLanes, LaneRunner, PostgresSettledNotices, LOGGER],
      useFactory: (
        settings: RelaySettings,
        recent: RecentLanes,
        runner: LaneRunner,
        answers: PostgresSettledNotices,
        logger: Logger,
      ) => new WakeNotices({ databaseUrl: sessionsAt(settings) }, recent, runner, answers, logger),
    },
    provided(LaneWakes, LaneListener, WakeNotices),
    provided(LaneWork, LaneWakes, LaneRunner, Sweeper, RecordAnswer, ReplayAnswers, LOGGER),
    {
      provide: Sweeper,
      inject: [LaneRepository, LaneMerchants, LaneRunner, LOGGER],
      useFactory: (lanes: LaneRepository, merchants: LaneMerchants, runner: LaneRunner, logger: Logger) =>
        new Sweeper(lanes, merchants, runner, systemClock, Math.random, logger),
    },
  ],
  exports: [
    LinksModule,
    EmulatedModule,
    SalesDatabase,
    PrismaService,
    LaneBell,
    LaneListener,
    AdvisoryLaneLocks,
    LaneRepository,
    RegisterConnections,
    PostgresSettledNotices,
  ],
})
export class LanesModule implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private ending: Promise<void> | null = null;

  constructor(
    private readonly work: LaneWork,
    private readonly bell: LaneBell,
    private readonly registers: RegisterConnections,
    @Inject(Metrics) private readonly metrics: Metrics,
    @Inject(SETTINGS_TOKEN) private readonly settings: RelaySettings,
  ) {}

  onApplicationBootstrap(): void {
    this.work.observe(this.metrics);
    this.work.start({ places: this.settings.RELAY_LANE_PLACES });
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.end();
    this.registers.close();
    await this.bell.close();
  }

  /**
   * Nothing new, then what is in hand; a call that outlives the deadline leaves its attempt open. Before the server closes,
   * because the links of registers that dialled in end with it.
   */
  end(deadlineMs = this.settings.STOP_DEADLINE_MS): Promise<void> {
    this.ending ??= this.work.end(deadlineMs);
    return this.ending;
  }
}

function queueOf(settings: RelaySettings): ReturnType<typeof laneQueueBackend> {
  return laneQueueBackend({ queueUrl: settings.QUEUE_URL ?? null, databaseUrl: sessionsAt(settings) });
}
