import { setTimeout as delay } from 'node:timers/promises';
import {
  Inject,
  Module,
  type BeforeApplicationShutdown,
  type OnApplicationBootstrap,
  type OnModuleInit,
} from '@nestjs/common';
import { PrismaService } from '#database';
import { LaneBell } from '#queue';
import { Periodic, endsWithin, Metrics, systemClock, type Logger } from '#runtime';
import { databaseNow } from './database-now.js';
import { RegisterConnections } from './devices/register-connections.js';
import { CheckDevice } from './health/check-device.js';
import { DeviceMetrics } from './health/device-metrics.js';
import { AdmitWhenLinked } from './inspection/admit-when-linked.js';
import { InspectionModule } from './inspection/inspection.module.js';
import { AdvisoryLaneLocks } from './lanes/advisory-lane-locks.js';
import { HoldLane } from './lanes/hold-lane.js';
import { LaneRepository } from './lanes/lane.repository.js';
import { LanesModule } from './lanes/lanes.module.js';
import type { RelaySettings } from './settings.js';
import { DeviceTaskHandlers } from './tasks/device-task-handlers.js';
import { TasksModule } from './tasks/tasks.module.js';
import { LOGGER, SETTINGS_TOKEN } from './tokens.js';
import { RenumberEvents } from './events/renumber-events.js';
import { joinWatch, type Watch } from './watch.js';

const WATCH = Symbol('watch');
const ROUNDS = Symbol('rounds');

type WatchDependencies = [
  RelaySettings,
  PrismaService,
  HoldLane,
  RegisterConnections,
  LaneBell,
  AdmitWhenLinked,
  Logger,
];

/** The watch over the fleet: health, shifts, delivery to the OFD, failover (docs/watch.md). */
@Module({
  imports: [LanesModule, TasksModule, InspectionModule],
  providers: [
    {
      provide: HoldLane,
      inject: [LaneRepository, AdvisoryLaneLocks, RegisterConnections, LaneBell],
      useFactory: (lanes: LaneRepository, locks: AdvisoryLaneLocks, registers: RegisterConnections, bell: LaneBell) =>
        new HoldLane(lanes, locks, registers, (deviceId) => bell.ring(deviceId), delay),
    },
    {
      provide: WATCH,
      inject: [SETTINGS_TOKEN, PrismaService, HoldLane, RegisterConnections, LaneBell, AdmitWhenLinked, LOGGER],
      useFactory: (...[settings, prisma, lanes, registers, bell, admission, logger]: WatchDependencies) => {
        const ring = (deviceId: string): void => bell.ring(deviceId);
        const admit = (deviceId: string): void => void admission.ask(deviceId);
        const world = { prisma, now: databaseNow, lanes, registers, ring, admit };
        return joinWatch(world, watchSettingsOf(settings), { clock: systemClock, logger, random: Math.random });
      },
    },
    {
      provide: ROUNDS,
      inject: [WATCH, PrismaService, LOGGER],
      useFactory: (watch: Watch, prisma: PrismaService, logger: Logger) =>
        roundsOf(watch, new RenumberEvents(prisma, logger), logger),
    },
    {
      provide: DeviceMetrics,
      inject: [PrismaService, SETTINGS_TOKEN, LOGGER],
      useFactory: (prisma: PrismaService, { DEVICE_METRICS_MAX }: RelaySettings, logger: Logger) =>
        new DeviceMetrics(prisma, { limit: DEVICE_METRICS_MAX }, logger),
    },
  ],
})
export class WatchModule implements OnModuleInit, OnApplicationBootstrap, BeforeApplicationShutdown {
  private ending: Promise<unknown> | null = null;

  constructor(
    @Inject(WATCH) private readonly watch: Watch,
    @Inject(ROUNDS) private readonly rounds: Periodic[],
    private readonly handlers: DeviceTaskHandlers,
    private readonly deviceMetrics: DeviceMetrics,
    @Inject(Metrics) private readonly metrics: Metrics,
    @Inject(SETTINGS_TOKEN) private readonly settings: RelaySettings,
  ) {}

  onModuleInit(): void {
    this.handlers.add(new CheckDevice(this.watch.poller));
    this.watch.shiftTasks.addTo(this.handlers);
    this.deviceMetrics.observe(this.metrics);
  }

  onApplicationBootstrap(): void {
    for (const round of this.rounds) round.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.end(this.settings.STOP_DEADLINE_MS);
  }

  /** Nothing new is begun, then what is in hand; what is cut off is found by the next read. */
  end(deadlineMs: number): Promise<unknown> {
    this.ending ??= endsWithin(this.endRounds(), deadlineMs);
    return this.ending;
  }

  private async endRounds(): Promise<void> {
    const { poller, keeper, ofd } = this.watch;
    await Promise.all(this.rounds.map((round) => round.stop()));
    await Promise.all([poller.settle(), keeper.settle(), ofd.settle()]);
  }
}

/** How often each part polls for what is due; what is due stands in the database. */
function roundsOf(
  { poller, keeper, ofd, failover, dueTimes }: Watch,
  renumber: RenumberEvents,
  logger: Logger,
): Periodic[] {
  return [
    { name: 'health polls', everyMs: 500, run: () => poller.beginDue() },
    { name: 'closing of shifts', everyMs: 2_000, run: () => keeper.poll() },
    { name: 'OFD watch', everyMs: 2_000, run: () => ofd.poll() },
    { name: 'failover', everyMs: 1_000, run: () => failover.poll() },
    { name: 'due times ahead', everyMs: 60_000, run: () => dueTimes.setRight() },
    { name: 'numbers of a copy’s events', everyMs: 5_000, run: () => renumber.run() },
  ].map((work) => new Periodic({ ...work, isOnBeat: true }, logger));
}

function watchSettingsOf(settings: RelaySettings): Parameters<typeof joinWatch>[1] {
  return {
    pollEveryMs: settings.HEALTH_POLL_MS,
    pollConcurrency: settings.HEALTH_POLL_CONCURRENCY,
    resendEveryMs: settings.OFD_RESEND_MS,
    closeAt: settings.SHIFT_CLOSE_AT,
  };
}
