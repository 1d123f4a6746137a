import { Module, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import { PrismaService } from '#database';
import { LaneBell } from '#queue';
import { Periodic, type Logger } from '#runtime';
import { RegisterConnections } from '../devices/register-connections.js';
import { LaneRepository } from '../lanes/lane.repository.js';
import { LanesModule } from '../lanes/lanes.module.js';
import { PostgresSettledNotices } from '../lanes/settled-notices.js';
import { provided } from '../provided.js';
import { LOGGER } from '../tokens.js';
import { CompareRegisters } from './compare-registers.js';
import { RestoreChecksRepository } from './restore-checks.repository.js';

/** The comparison of registers after a copy of the database was put back. */
@Module({
  imports: [LanesModule],
  providers: [
    provided(RestoreChecksRepository, PrismaService),
    {
      provide: CompareRegisters,
      inject: [RestoreChecksRepository, LaneRepository, RegisterConnections, PostgresSettledNotices, LaneBell, LOGGER],
      useFactory: (
        checks: RestoreChecksRepository,
        lanes: LaneRepository,
        registers: RegisterConnections,
        notices: PostgresSettledNotices,
        bell: LaneBell,
        logger: Logger,
      ) => new CompareRegisters(checks, lanes, registers, notices, (id) => bell.ring(id), logger),
    },
    {
      provide: Periodic,
      inject: [CompareRegisters, LOGGER],
      useFactory: (compare: CompareRegisters, logger: Logger) =>
        new Periodic(
          { name: 'comparison after a restore', everyMs: 2_000, isOnBeat: true, run: () => compare.beginDue() },
          logger,
        ),
    },
  ],
})
export class RestoreModule implements OnApplicationBootstrap, BeforeApplicationShutdown {
  constructor(
    private readonly compare: CompareRegisters,
    private readonly rounds: Periodic,
  ) {}

  onApplicationBootstrap(): void {
    this.rounds.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.end();
  }

  /** What is under way is only read: it is begun again by another relay. */
  async end(): Promise<void> {
    await this.rounds.stop();
    await this.compare.settle();
  }
}
