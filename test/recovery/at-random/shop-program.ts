import { Global, Module, type DynamicModule } from '@nestjs/common';
import { LaneBell } from '#queue';
import { Metrics, MetricsModule, type Logger } from '#runtime';
import { AuditModule } from '../../../apps/gateway/src/audit/audit.module.js';
import { DATABASES, databaseProviders } from '../../../apps/gateway/src/databases.js';
import { DevicesModule } from '../../../apps/gateway/src/fleet/devices/devices.module.js';
import { AdoptDevice } from '../../../apps/gateway/src/operator/adopt-device.js';
import { OperatorRepository } from '../../../apps/gateway/src/operator/operator.repository.js';
import { ResolveAttempt } from '../../../apps/gateway/src/operator/resolve-attempt.js';
import { HoldLanes } from '../../../apps/gateway/src/operator/restore/hold-lanes.js';
import { NothingLost } from '../../../apps/gateway/src/operator/restore/nothing-lost.js';
import { RefundsModule } from '../../../apps/gateway/src/receipts/refunds/refunds.module.js';
import { testGatewaySettings } from '../../../apps/gateway/src/testing/gateway-settings.js';
import { LOGGER, SETTINGS_TOKEN } from '../../../apps/gateway/src/tokens.js';

/** What people and clients of a shop ask of the gateway and of its command line, without a server. */
@Global()
@Module({})
export class ShopProgram {
  static create(database: { url: string }, logger: Logger): DynamicModule {
    const settings = testGatewaySettings(database);
    return {
      module: ShopProgram,
      imports: [
        MetricsModule.register(new Metrics('shop'), { hasOwnPort: true }),
        ...[AuditModule, DevicesModule, RefundsModule],
      ],
      providers: [
        { provide: SETTINGS_TOKEN, useValue: settings },
        { provide: LOGGER, useValue: logger },
        ...databaseProviders(settings),
        // Relays find the lanes that have something to do by themselves.
        { provide: LaneBell, useValue: { ring: () => undefined } },
        ...[OperatorRepository, AdoptDevice, ResolveAttempt, HoldLanes, NothingLost],
      ],
      exports: [SETTINGS_TOKEN, LOGGER, ...DATABASES, LaneBell],
    };
  }
}
