import { Module, type OnModuleInit } from '@nestjs/common';
import { LANE_WAKE_CHANNEL, NoticeSender, SalesDatabase, SETTLED_IDS_PER_NOTICE } from '#database';
import { LaneBell } from '#queue';
import { Metrics } from '#runtime';
import { deriveKey } from '#secrets';
import { DevicesModule } from '../fleet/devices/devices.module.js';
import { UsageModule } from '../fleet/usage/usage.module.js';
import { CatalogModule } from '../goods/catalog/catalog.module.js';
import type { GatewaySettings } from '../settings.js';
import { SETTINGS_TOKEN } from '../tokens.js';
import { AcceptTimes, observeAccepting, observeWakes } from './accept-metrics.js';
import { ACCEPT_LIMITS, AcceptReceipts } from './accept-receipts.js';
import { AdmitReceipts } from './admit-receipts.js';
import { CancelReceipt } from './cancel-receipt.js';
import { ComposeDocument } from './compose-document.js';
import { CreateBatch } from './create-batch.js';
import { CreateReceipt } from './create-receipt.js';
import { PrepareReceipt } from './prepare-receipt.js';
import { ReceiptUrls } from './receipt-url.js';
import { ReceiptWait } from './receipt-wait.js';
import { ReceiptRepository } from './receipt.repository.js';
import { RecentRequests } from './recent-requests.js';
import { RingLanes } from './ring-lanes.js';
import { SettledReceipts } from './settled-receipts.js';
import { WakeLanes } from './wake-lanes.js';

/** A sale becomes a stored receipt, and its caller waits for the register. */
@Module({
  imports: [CatalogModule, DevicesModule, UsageModule],
  providers: [
    ReceiptRepository,
    ComposeDocument,
    {
      provide: ACCEPT_LIMITS,
      inject: [SETTINGS_TOKEN],
      useFactory: ({ ACCEPT_MAX_WAITING: maxWaiting }: GatewaySettings) => ({ maxWaiting }),
    },
    AcceptReceipts,
    AdmitReceipts,
    AcceptTimes,
    PrepareReceipt,
    RecentRequests,
    CreateReceipt,
    CreateBatch,
    CancelReceipt,
    ReceiptWait,
    {
      provide: RingLanes,
      inject: [LaneBell, WakeLanes, SettledReceipts],
      useFactory: (bell: LaneBell, wakes: WakeLanes, settled: SettledReceipts) => new RingLanes(bell, wakes, settled),
    },
    {
      provide: WakeLanes,
      inject: [SETTINGS_TOKEN, LaneBell, SettledReceipts, SalesDatabase],
      useFactory: wakeLanes,
    },
    SettledReceipts,
    {
      provide: ReceiptUrls,
      inject: [SETTINGS_TOKEN],
      useFactory: receiptUrls,
    },
  ],
  exports: [
    UsageModule,
    AcceptReceipts,
    AcceptTimes,
    ReceiptRepository,
    ReceiptUrls,
    ReceiptWait,
    CatalogModule,
    PrepareReceipt,
    CreateReceipt,
    CreateBatch,
    CancelReceipt,
    RingLanes,
    SettledReceipts,
  ],
})
export class AcceptModule implements OnModuleInit {
  constructor(
    private readonly accepting: AcceptReceipts,
    private readonly wakes: WakeLanes,
    private readonly metrics: Metrics,
  ) {}

  onModuleInit(): void {
    observeAccepting(this.metrics, this.accepting);
    observeWakes(this.metrics, this.wakes);
  }
}

function wakeLanes(
  { LANE_WAKE }: GatewaySettings,
  bell: LaneBell,
  settled: SettledReceipts,
  database: SalesDatabase,
): WakeLanes {
  const notices = new NoticeSender(database, {
    channel: LANE_WAKE_CHANNEL,
    perNotice: SETTLED_IDS_PER_NOTICE,
    onLost: () => undefined, // no relay answers, and that is counted
  });
  const wakes = new WakeLanes({
    notify: (deviceId) => notices.send(deviceId),
    ring: (deviceId) => bell.ring(deviceId),
    isListening: () => LANE_WAKE === 'notice' && settled.isListening,
  });
  settled.onTaken((deviceId) => wakes.noteTaken(deviceId));
  return wakes;
}

function receiptUrls({ PUBLIC_URL, SECRETS_KEY }: GatewaySettings): ReceiptUrls {
  const older = [...SECRETS_KEY.keys.keys()].filter((keyId) => keyId !== SECRETS_KEY.active);
  return new ReceiptUrls(
    PUBLIC_URL,
    deriveKey(SECRETS_KEY, 'receipt-url'),
    older.map((keyId) => deriveKey(SECRETS_KEY, 'receipt-url', keyId)),
  );
}
