import { Module } from '@nestjs/common';
import { deriveKey } from '#runtime';
import { AuditModule } from '../audit/audit.module.js';
import { ReceiptUrls } from '../receipts/receipt-url.js';
import { ReceiptRepository } from '../receipts/receipt.repository.js';
import type { GatewaySettings } from '../settings.js';
import { SETTINGS_TOKEN } from '../tokens.js';
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
  imports: [AuditModule],
  controllers: [OperatorController, OperatorDevicesController, ReceiptFiscalController],
  providers: [
    OperatorRepository,
    ReceiptRepository,
    ListUnknown,
    ResolveAttempt,
    ParkAttempt,
    CompleteFiscal,
    AdoptDevice,
    UnblockDevice,
    {
      provide: ReceiptUrls,
      inject: [SETTINGS_TOKEN],
      useFactory: ({ PUBLIC_URL, SECRETS_KEY }: GatewaySettings) =>
        new ReceiptUrls(PUBLIC_URL, deriveKey(SECRETS_KEY, 'receipt-url')),
    },
  ],
})
export class OperatorModule {}
