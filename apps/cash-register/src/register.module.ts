import { Module, type DynamicModule } from '@nestjs/common';
import type { Logger, Metrics } from '#runtime';
import { RegisterHost } from './register-host.js';
import type { RegisterSettings } from './settings.js';

/** Composition root of the cash register: the only place that chooses implementations. */
@Module({})
export class RegisterModule {
  static with(settings: RegisterSettings, logger: Logger, metrics: Metrics): DynamicModule {
    return {
      module: RegisterModule,
      providers: [{ provide: RegisterHost, useFactory: () => new RegisterHost(settings, logger, metrics) }],
    };
  }
}
