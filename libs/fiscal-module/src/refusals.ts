import type { ModuleRefusal, ModuleRefusalReason } from './fiscal-module.js';

const CODES: Readonly<Record<ModuleRefusalReason, ModuleRefusal['code']>> = {
  chain_broken: 'F-001',
  shift_not_open: 'F-002',
  memory_full: 'F-003',
  shift_memory_full: 'F-003',
  sums_full: 'F-003',
  clock_behind: 'F-003',
  disk_full: 'F-003',
  unsent_too_old: 'F-003',
  shift_already_open: 'F-005',
  shift_empty: 'F-005',
  shift_full: 'F-005',
  payment_mismatch: 'F-005',
  refund_exceeds_sales: 'F-005',
  refund_receipt_unknown: 'F-005',
  refund_mismatch: 'F-005',
};

const MESSAGES: Readonly<Record<ModuleRefusalReason, string>> = {
  chain_broken: 'The fiscal module is not initialised: its journal does not verify',
  shift_not_open: 'The shift is not open: open it with POST /z-report/open',
  memory_full: 'The module holds as many unsent documents as fit: send them with POST /receipts/send-unsent',
  shift_memory_full: 'The module has used all the shifts of its life',
  sums_full:
    'The lifetime sums of the module have no room for this document, and no Z-report empties them: check its sum, else sell at another register',
  clock_behind: 'The clock is behind the last operation of the module',
  disk_full: 'The disk of the register is full: make room in its data folder',
  unsent_too_old: 'The oldest unsent document is older than 48 hours: send it with POST /receipts/send-unsent',
  shift_already_open: 'The shift is already open',
  shift_empty: 'The shift is empty and cannot be closed',
  shift_full: 'The shift has as many documents as fit: close it with POST /z-report/close',
  payment_mismatch: 'What was paid is too far from what the document comes to',
  refund_exceeds_sales: 'The refund exceeds what this module has sold',
  refund_receipt_unknown: 'The refunded receipt is not in the journal of this module',
  refund_mismatch: 'refundInfo does not match the refunded receipt',
};

/** One table says which code and words a reason has. */
export function refusal(reason: ModuleRefusalReason, details: Readonly<Record<string, unknown>> = {}): ModuleRefusal {
  return { kind: 'refused', code: CODES[reason], reason, message: MESSAGES[reason], details };
}
