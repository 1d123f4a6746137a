import { Module } from '@nestjs/common';
import { AuditModule } from '../audit/audit.module.js';
import { ReceiptsModule } from '../receipts/receipts.module.js';
import { ReportsModule } from '../receipts/reports/reports.module.js';
import { AdoptDevice } from './adopt-device.js';
import { CompleteFiscal } from './complete-fiscal.js';
import { PlatformHealthController } from './health/platform-health.controller.js';
import { PlatformHealthRepository } from './health/platform-health.repository.js';
import { ReadPlatformHealth } from './health/read-platform-health.js';
import { ListUnknown } from './list-unknown.js';
import { NoteDelivered } from './note-delivered.js';
import { OperatorDevicesController } from './operator-devices.controller.js';
import { OperatorController } from './operator.controller.js';
import { OperatorRepository } from './operator.repository.js';
import { OverviewController, PlatformOverviewController } from './overview/overview.controller.js';
import { ReceiptSpans } from './overview/receipt-spans.js';
import { ReadOverview } from './overview/read-overview.js';
import { ReadPlatformOverview } from './overview/read-platform-overview.js';
import { ParkAttempt } from './park-attempt.js';
import { ReceiptFiscalController } from './receipt-fiscal.controller.js';
import { ResolveAttempt } from './resolve-attempt.js';
import { UnblockDevice } from './unblock-device.js';

@Module({
  imports: [AuditModule, ReceiptsModule, ReportsModule],
  controllers: [
    OperatorController,
    OperatorDevicesController,
    ReceiptFiscalController,
    OverviewController,
    PlatformOverviewController,
    PlatformHealthController,
  ],
  providers: [
    OperatorRepository,
    ListUnknown,
    ResolveAttempt,
    ParkAttempt,
    CompleteFiscal,
    AdoptDevice,
    UnblockDevice,
    NoteDelivered,
    ReadOverview,
    ReceiptSpans,
    ReadPlatformOverview,
    PlatformHealthRepository,
    ReadPlatformHealth,
  ],
})
export class OperatorModule {}
