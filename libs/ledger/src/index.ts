export { assertMove, canMoveAttempt, isFinalStatus, type AttemptState } from './moves.js';
export { jsonOrNull, type Statements } from './statements.js';
export {
  deviceEvents,
  insertEvents,
  newReceiptEventId,
  renumberEvents,
  writeDeviceEvent,
  writeEvent,
  writeReceiptEvent,
} from './events.js';
export { claimedElsewhereReason, claimTerminal, contestTerminal, type TerminalClaim } from './terminal-claims.js';
export { announceQuotas, TASHKENT_DAY, type QuotaUse } from './quota-notices.js';
export { findIdentities } from './accept/identities.js';
export { insertReceipts } from './accept/insert-receipts.js';
export { insertRefund, type NewRefund } from './accept/insert-refund.js';
export { insertUnpaid } from './accept/insert-unpaid.js';
export type { NewReceipt, StoredIdentity } from './accept/new-receipt.js';
export {
  isArchiveName,
  tableOfArchive,
  type ArchivedTable,
  type ArchiveFiles,
  type ArchiveWriter,
  type FileState,
  type Manifest,
  type Recorded,
} from './archive/archive-files.js';
export { StoreUnavailable } from './archive/archive-store.js';
export * from './archive/archive-settings.js';
export * from './archive/archive-rows.js';
export {
  inFamilies,
  LEAVING_PREFIX,
  daysKept,
  EMPTIED_TABLES,
  LEAVING_TABLES,
  readDue,
  removeArchived,
  scanRows,
  type KeepDays,
  type LeavingTable,
} from './archive/leaving-rows.js';
export * from './archive/partitions.js';
export {
  closeNotRegistered,
  closeRejected,
  closeUnknown,
  noteRefusal,
  type AttemptEvidence,
  type AttemptOfReceipt,
  type Closed,
  type CloseRegistered,
} from './attempts/close.js';
export type { ClosedAndOpened } from './attempts/close-and-open.js';
export { LaneWrites } from './attempts/lane-writes.js';
export { holdCopied, lockRestore, type HeldReceipt, type RunStatement } from './attempts/hold-from-copy.js';
export { ENDED_AND_FOUND, recordLateAnswer, type LateAnswer, type LateRegistration } from './attempts/late-answer.js';
export type { Intent, Opened } from './attempts/open.js';
export { holdBackUnproven, parkAttempt, parkAttemptsOfTerminal } from './attempts/park.js';
export * from './attempts/resolve.js';
export { LANE_LOCK_SPACE, LANES_GO, type LaneLock } from './lanes/lane-lock.js';
export * from './lanes/lanes.js';
export * from './reading/archived-payments.js';
export { archivedWithin, findArchiveOf, type Span } from './reading/archived-receipts.js';
export { receiptsWithin, twoHalfYearsBefore, type ReceiptsSince, type ReceiptsWithin } from './half-years.js';
export { receiptColumns, type ReceiptRow } from './reading/receipt-row.js';
export { countUnknown, countUnknownOf, mostUnderWay, readBacklog, type Backlog } from './reading/backlog.js';
export {
  answeredStatus,
  findSumOfAttempt,
  findUnfinished,
  hasUnpaid,
  firstOfdDeadline,
  listAttempts,
} from './reading/device-work.js';
export {
  findBuyers,
  findDocument,
  findMadeBy,
  findNotices,
  findOwner,
  findReceipt,
  findReceipts,
  findSettled,
  holdReceipt,
  refundsOf,
  type Buyer,
} from './reading/receipts.js';
export { documentsOfShift } from './reading/shift-documents.js';
export { cancelReceipt, cancelUnpaid, cancelUnpaidWithin } from './receipts/cancel.js';
export { changeLanes } from './receipts/fail-over.js';
export * from './receipts/ofd.js';
export {
  completeFiscalSign,
  registerByOperator,
  registerByProvider,
  type NamedRegistration,
} from './receipts/register.js';
export { rejectUnsent } from './receipts/reject.js';
export { releaseReceipt, releaseReceipts, releaseReceiptWithin, type Released } from './receipts/release.js';
