import { Module } from '@nestjs/common';
import { AuditModule } from '../audit/audit.module.js';
import { ReceiptsModule } from '../receipts/receipts.module.js';
import { AdoptDevice } from './adopt-device.js';
import { CompleteFiscal } from './complete-fiscal.js';
import { ListUnknown } from './list-unknown.js';
import { OperatorDevicesController } from './operator-devices.controller.js';
import { OperatorController } from './operator.controller.js';
import { OperatorRepository } from './operator.repository.js';
import { ParkAttempt } from './park-attempt.js';
import { ReceiptFiscalController } from './receipt-fiscal.controller.js';
import { ResolveAttempt } from './resolve-attempt.js';
import { UnblockDevice } from './unblock-device.js';

@Module({
  imports: [AuditModule, ReceiptsModule],
  controllers: [OperatorController, OperatorDevicesController, ReceiptFiscalController],
  providers: [OperatorRepository, ListUnknown, ResolveAttempt, ParkAttempt, CompleteFiscal, AdoptDevice, UnblockDevice],
})
export class OperatorModule {}
