import { Module } from '@nestjs/common';
import { LaneBell } from '#queue';
import { deriveKey, type Logger } from '#runtime';
import { GoodsCatalog } from '../catalog/goods-catalog.js';
import { ChooseDevice } from '../devices/choose-device.js';
import { MerchantRules } from '../merchants/merchant-rules.js';
import type { GatewaySettings } from '../settings.js';
import { LOGGER, SETTINGS_TOKEN } from '../tokens.js';
import { AcceptReceipts } from './accept-receipts.js';
import { ComposeDocument } from './compose-document.js';
import { CreateReceipt } from './create-receipt.js';
import { PrepareReceipt } from './prepare-receipt.js';
import { ReceiptUrls } from './receipt-url.js';
import { ReceiptRepository } from './receipt.repository.js';
import { RingLanes } from './ring-lanes.js';
import { SettledReceipts } from './settled-receipts.js';

@Module({
  providers: [
    ReceiptRepository,
    GoodsCatalog,
    MerchantRules,
    ChooseDevice,
    ComposeDocument,
    PrepareReceipt,
    AcceptReceipts,
    CreateReceipt,
    {
      provide: RingLanes,
      inject: [LaneBell, SettledReceipts],
      useFactory: (bell: LaneBell, settled: SettledReceipts) => new RingLanes(bell, settled),
    },
    {
      provide: SettledReceipts,
      inject: [SETTINGS_TOKEN, ReceiptRepository, LOGGER],
      useFactory: ({ DATABASE_URL }: GatewaySettings, receipts: ReceiptRepository, logger: Logger) =>
        new SettledReceipts({ databaseUrl: DATABASE_URL }, receipts, logger),
    },
    {
      provide: ReceiptUrls,
      inject: [SETTINGS_TOKEN],
      useFactory: ({ PUBLIC_URL, SECRETS_KEY }: GatewaySettings) =>
        new ReceiptUrls(PUBLIC_URL, deriveKey(SECRETS_KEY, 'receipt-url')),
    },
  ],
  exports: [ReceiptRepository, ReceiptUrls, PrepareReceipt, CreateReceipt, RingLanes, SettledReceipts],
})
export class ReceiptsModule {}
