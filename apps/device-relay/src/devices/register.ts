import type {
  Baseline,
  CloseShiftResponse,
  CurrentZReport,
  DeviceProfile,
  FiscalField,
  FmInfo,
  LocalBranch,
  LocalBusiness,
  LocalStatus,
  OpenShiftResponse,
  RegisterAnswer,
  ResendResult,
  SaleResponse,
  ZReportStats,
} from '#fiscal-domain';

/** What the relay asks of a register. Two implementations: the real one, and the simulation's. */

export type DeviceStateName =
  | 'online'
  | 'degraded'
  | 'unreachable'
  | 'blocked'
  | 'expired'
  | 'replaced'
  | 'disabled'
  /** Another merchant holds the terminal that it says it is. */
  | 'claimed_elsewhere';

/** Stopped by a person, or for one: nothing is sent to it, and nothing that it says of itself ends that. */
export const STOPPED_STATES: ReadonlySet<DeviceStateName> = new Set(['disabled', 'replaced', 'claimed_elsewhere']);

export interface LaneDevice {
  id: string;
  merchantId: string;
  state: DeviceStateName;
  /** Null: the register dials in over its link. */
  baseUrl: string | null;
  apiKeySealed: Buffer;
  /** The link key in force when `apiKeySealed` was read: it goes over the link of this key alone. Null: there is none. */
  linkKeyId: string | null;
  profile: DeviceProfile;
  /** Its register has our extensions: it may be sent how the money came, and ignores what it does not know. */
  takesExtraInfo?: boolean;
  /** What beyond the specification it takes into the fiscal document. */
  takesFields?: readonly FiscalField[];
}

/** Nothing is known of the register. */
export const UNKNOWN_BASELINE: Baseline = { terminalId: null, journalId: null, sequence: null, reading: null };

/** An answer to one of the register's small calls. */
export type CallAnswer<T> =
  | { kind: 'ok'; value: T; headers?: Readonly<Record<string, string | string[] | undefined>> }
  | { kind: 'refused'; code: string; message: string }
  | { kind: 'unreachable'; reason: string }
  | { kind: 'unclear'; reason: string };

export type PreparedReceipt =
  | { kind: 'ready'; call: { send(mayStillSend: () => boolean): Promise<RegisterAnswer>; abandon(): void } }
  | { kind: 'not_sent'; reason: string };

export interface Register {
  status(): Promise<CallAnswer<LocalStatus>>;
  fmInfo(): Promise<CallAnswer<FmInfo>>;
  business(): Promise<CallAnswer<LocalBusiness>>;
  branch(): Promise<CallAnswer<LocalBranch>>;
  openShift(): Promise<CallAnswer<OpenShiftResponse>>;
  closeShift(): Promise<CallAnswer<CloseShiftResponse>>;
  currentZReport(): Promise<CallAnswer<CurrentZReport>>;
  zReportStats(): Promise<CallAnswer<ZReportStats>>;
  sendUnsentReceipts(): Promise<CallAnswer<ResendResult>>;
  sendUnsentZReports(): Promise<CallAnswer<ResendResult>>;
  /** The registration with this number; only of a register with extensions. */
  findBySeq(seq: number): Promise<CallAnswer<SaleResponse>>;
  /** Opens the connection, sends nothing. */
  prepareReceipt(body: Buffer, idempotencyKey: string): Promise<PreparedReceipt>;
}

export interface Registers {
  of(device: LaneDevice): Register;
}
