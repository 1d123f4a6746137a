import { Inject, Module, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import { ChannelListener, DEVICE_TASK_CHANNEL, PrismaService, sessionsAt } from '#database';
import { endsWithin, newId, type Logger } from '#runtime';
import { LanesModule } from '../lanes/lanes.module.js';
import type { RelaySettings } from '../settings.js';
import { provided } from '../provided.js';
import { LOGGER, SETTINGS_TOKEN } from '../tokens.js';
import { DeviceTaskHandlers } from './device-task-handlers.js';
import { DeviceTaskRunner } from './device-task-runner.js';
import { DeviceTaskRepository } from './device-task.repository.js';

/** Tasks that gateways leave for registers. A module that handles a kind of them imports this and adds its handler. */
@Module({
  imports: [LanesModule],
  providers: [
    provided(DeviceTaskHandlers),
    {
      provide: DeviceTaskRepository,
      inject: [PrismaService],
      useFactory: (prisma: PrismaService) => new DeviceTaskRepository(prisma, newId('rly')),
    },
    provided(DeviceTaskRunner, DeviceTaskRepository, DeviceTaskHandlers, LOGGER),
    {
      provide: ChannelListener,
      inject: [SETTINGS_TOKEN, DeviceTaskRunner, LOGGER],
      useFactory: (settings: RelaySettings, runner: DeviceTaskRunner, logger: Logger) =>
        new ChannelListener(
          {
            databaseUrl: sessionsAt(settings),
            applicationName: 'device-relay-listen',
            channel: DEVICE_TASK_CHANNEL,
            onNotice: () => runner.wake(),
            onListening: () => runner.wake(),
          },
          logger,
        ),
    },
  ],
  exports: [DeviceTaskHandlers],
})
export class TasksModule implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private ending: Promise<unknown> | null = null;

  constructor(
    private readonly runner: DeviceTaskRunner,
    private readonly listener: ChannelListener,
    @Inject(SETTINGS_TOKEN) private readonly settings: RelaySettings,
  ) {}

  onApplicationBootstrap(): void {
    this.runner.start();
    this.listener.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.end(this.settings.STOP_DEADLINE_MS);
  }

  /** Nothing new is begun, then what is in hand; what is cut off is done again by another relay. */
  end(deadlineMs: number): Promise<unknown> {
    this.ending ??= endsWithin(this.endTasks(), deadlineMs);
    return this.ending;
  }

  private async endTasks(): Promise<void> {
    await this.listener.stop();
    await this.runner.stop();
  }
}
