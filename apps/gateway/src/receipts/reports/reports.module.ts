import { Module } from '@nestjs/common';
import type { GatewaySettings } from '../../settings.js';
import { SETTINGS_TOKEN } from '../../tokens.js';
import { Reconciliation } from './reconciliation.js';
import { DEFAULT_WAITING, ReportGate } from './report-gate.js';
import { ReportsController } from './reports.controller.js';
import { Turnover } from './turnover.js';

/** Sums over what was registered. */
@Module({
  controllers: [ReportsController],
  providers: [
    Turnover,
    Reconciliation,
    {
      provide: ReportGate,
      inject: [SETTINGS_TOKEN],
      useFactory: ({ REPORT_POOL_SIZE: atOnce }: GatewaySettings) => new ReportGate({ atOnce, ...DEFAULT_WAITING }),
    },
  ],
  exports: [ReportGate],
})
export class ReportsModule {}
