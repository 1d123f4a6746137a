import type { StoredReceiptDocument } from '#database';
import type { Baseline, Calibration, DeviceProfile, ReceiptStatus } from '#fiscal-domain';
import type { AttemptState, AttemptEvidence, LastKnown } from '#ledger';
import type { DeviceStateName } from '../../../devices/register.js';

export interface DeviceRow {
  id: string;
  state: DeviceStateName;
  profile: DeviceProfile;
  terminalId: string | null;
  journalId: string | null;
  keyed: boolean;
  /** Its register is exchanged for one of another make now and then. */
  changesMake?: boolean;
}

export interface LaneRow {
  deviceId: string;
  lockNumber: number;
  dueAtMs: number | null;
  failures: number;
  baseline: Baseline | null;
  lastKnown: LastKnown | null;
  calibration: Calibration | null;
  mustSettle: boolean;
  settlingRelay: string | null;
  settleUntilMs: number | null;
  updatedAtMs: number;
}

export interface ReceiptRow {
  id: string;
  deviceId: string;
  place: number;
  status: ReceiptStatus;
  document: StoredReceiptDocument;
  updatedAtMs: number;
  openAttemptId: string | null;
  terminalId: string | null;
  receiptSeq: number | null;
  fiscalSign: string | null;
  /** `unknown → accepted` by a person's decision. */
  sentAgainByOperator: boolean;
  /** In order of their numbers. */
  attempts: AttemptRow[];
  /** It has no device: its payment provider registers it. */
  isProviders?: boolean;
  /** A payment hold ends here. */
  dispatchBeforeMs?: number;
}

export interface AttemptRow {
  id: string;
  receiptId: string;
  deviceId: string;
  state: AttemptState;
  baseline: Baseline;
  request: Buffer;
  createdAtMs: number;
  refusedAtMs: number | null;
  refusedTo: string | null;
  outcome: AttemptEvidence | null;
}
