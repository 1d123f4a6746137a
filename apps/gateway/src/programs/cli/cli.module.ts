import { Global, Module, type DynamicModule } from '@nestjs/common';
import { JobDatabase, PrismaService, SalesDatabase, sessionsAt } from '#database';
import { LaneBell } from '#queue';
import type { Logger } from '#runtime';
import { AuditModule } from '../../audit/audit.module.js';
import { ClientsModule } from '../../access/clients/clients.module.js';
import { InvitationsModule } from '../../access/people/invitations/invitations.module.js';
import { PlacesModule } from '../../fleet/places/places.module.js';
import { CatalogModule } from '../../goods/catalog/catalog.module.js';
import { ClassifierModule } from '../../goods/classifier/classifier.module.js';
import { AdoptDevice } from '../../operator/adopt-device.js';
import { OperatorRepository } from '../../operator/operator.repository.js';
import { ResolveAttempt } from '../../operator/resolve-attempt.js';
import { HeldReceipts } from '../../operator/restore/held-receipts.js';
import { HoldLanes } from '../../operator/restore/hold-lanes.js';
import { NothingLost } from '../../operator/restore/nothing-lost.js';
import { RegisterGaps } from '../../operator/restore/register-gaps.js';
import { RefundDuplicate } from '../../receipts/refunds/refund-duplicate.js';
import { RefundRepository } from '../../receipts/refunds/refund.repository.js';
import type { GatewaySettings } from '../../settings.js';
import { GiveTerminal } from '../../fleet/terminals/give-terminal.js';
import { LOGGER, SETTINGS_TOKEN } from '../../tokens.js';
import { CLI_ACTOR } from './actor.js';
import { ArchiveCommands } from './archive-commands.js';
import { CatalogCommands } from './catalog-commands.js';
import { ClassifierCommands } from './classifier-commands.js';
import { CommandFamilies } from './command-families.js';
import { ClientCommands } from './client-commands.js';
import { Cli } from './cli.js';
import { OperatorDoctor } from './doctor/operator-doctor.js';
import { RestoreCommands } from './restore-commands.js';
import { RestoreDecisions } from './restore-decisions.js';
import { RestoreLists } from './restore-lists.js';
import { TerminalCommands } from './terminal-commands.js';
import { UserCommands } from './user-commands.js';

/** What the command line needs of the gateway: the database and the trail, no server and no queue. */
@Global()
@Module({})
export class CliModule {
  static create(settings: GatewaySettings, logger: Logger, actor = 'cli'): DynamicModule {
    const database = { url: sessionsAt(settings), poolSize: 2, applicationName: 'cli', lockTimeoutMs: 5_000 };
    return {
      module: CliModule,
      imports: [AuditModule, ClientsModule, InvitationsModule, PlacesModule, CatalogModule, ClassifierModule],
      providers: [
        { provide: SETTINGS_TOKEN, useValue: settings },
        { provide: LOGGER, useValue: logger },
        { provide: CLI_ACTOR, useValue: actor },
        { provide: PrismaService, useFactory: () => new PrismaService(database) },
        { provide: SalesDatabase, useExisting: PrismaService },
        { provide: JobDatabase, useFactory: () => new JobDatabase(database) },
        ArchiveCommands,
        CatalogCommands,
        ClassifierCommands,
        ClientCommands,
        GiveTerminal,
        TerminalCommands,
        UserCommands,
        CommandFamilies,
        // The sweeper of any relay finds the lanes that have something to do.
        { provide: LaneBell, useValue: { ring: () => undefined } },
        ...[OperatorRepository, AdoptDevice, ResolveAttempt, RefundRepository, RefundDuplicate],
        ...[HoldLanes, HeldReceipts, NothingLost, RegisterGaps, RestoreLists, RestoreDecisions, RestoreCommands],
        Cli,
        OperatorDoctor,
      ],
      exports: [SETTINGS_TOKEN, LOGGER, PrismaService, SalesDatabase, JobDatabase],
    };
  }
}
