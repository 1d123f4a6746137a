export { acrossMerchants, onBehalfOfAll, withinMerchant, withinShare } from './merchant-scope.js';
export { TENANT_SUFFIX } from './scoped-query.js';
export * from './channels.js';
export { ChannelListener, type ChannelListenerOptions } from './channel-listener.js';
export { Freshness } from './freshness.js';
export { NotifiedCache } from './notified-cache.js';
export { JobDatabase, ReportDatabase, SalesDatabase } from './databases.js';
export type { DeviceReading, DeviceShiftReading } from './device-reading.js';
export {
  type DeviceBusiness,
  type DeviceIntroduction,
  type DeviceTaskKind,
  type DeviceTaskResult,
  type InspectParams,
} from './device-task.js';
export { NoticeSender } from './notice-sender.js';
export { PrismaService, type DatabaseSettings } from './prisma.service.js';
export { Prisma } from './generated/client.js';
export { observePools } from './pool-metrics.js';
export { PageReader, type PageReaderOptions } from './page-reader.js';
export { ListReads, observeReads, Replica, ReportReads } from './read-database.js';
export { ReplicaWatch } from './replica-watch.js';
export { sessionsAt, transactionsAt, type DatabaseAddresses } from './pooler.js';
export { sessionConfig } from './session.js';
export { endSession, watchedSession, type WatchedSession } from './watched-client.js';
export { WatchedPool } from './watched-pool.js';
export type { StoredNotify, StoredReceiptDocument } from './stored-receipt.js';
export { LEDGER_REFUND, REFUND_OPERATION, SURPLUS_OPERATION, WITHDRAWAL_OPERATION } from './ledger-refund.js';
export { ANNOUNCED, HELD_BY_RESTORE, HOLD_OF_ALL_LANES, LANE_LOCK_SESSIONS, RESTORED } from './restore-words.js';
export { FROM_COPY } from './from-copy.js';
export { KnownServer, ON_UNKNOWN_SERVER, onKnownServer, PUT_BACK_US } from './known-server.js';
export { isSameCluster, isSameDatabase, readIdentity, withTablesOfNow } from './database-identity.js';
export { IS_ADMITTED } from './is-admitted.js';
export { UNPROVEN_ATTEMPT } from './unproven-attempt.js';
export { isNotAllowed, isRefusedByServer, isRefusedForItsRows, isUniqueViolation } from './sql-errors.js';
export { apiKeyOwner, idTokenOwner, signingSecretOwner, totpOwner, webhookSecretOwner } from './sealed-columns.js';
export { SEALED_COLUMNS, type SealedColumn } from './sealed-column-list.js';
export { callbackOwner, credentialsOwner, instrumentOwner } from './payment-columns.js';
export { chatOwner, messageAddressOwner, messageCredentialsOwner, messageKeyOwner } from './message-columns.js';
export { LATENCY_BOUNDS_MS, LATENCY_KEPT_HOURS } from './latency-buckets.js';
export { HOLDS_UP_MS, MAX_GROUPED_ROWS, StatementPump } from './statement-pump.js';
export { StatementGroup } from './statement-group.js';
export { givenRows } from './given-rows.js';
