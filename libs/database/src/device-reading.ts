import type { SubscriptionState } from '#fiscal-domain';

/** What `devices.reading` holds: the last health reading of a register. Written by the relay, shown and judged by the gateway. */
export interface DeviceReading {
  terminalId: string;
  /** Last document of the module. */
  receiptSeq: number;
  /** Documents that wait in the module for the OFD, and how many it can hold. */
  unsentReceipts: number;
  maxUnsentReceipts: number;
  /** Shifts that the module has counted, and how many it can count in its life. */
  zReportsUsed: number;
  zReportsMax: number;
  unsentZReports: number;
  /** Null: none was ever opened, or the register did not report it. */
  shift: DeviceShiftReading | null;
  subscriptionState: SubscriptionState;
  /** RFC 3339 UTC; null = nothing is unsent, or it is unknown since when. */
  oldestUnsentAt: string | null;
  /** Version of the classification register that it has; absent = it does not say. */
  classifierVersion?: number;
}

export interface DeviceShiftReading {
  number: number;
  /** RFC 3339 UTC. */
  openedAt: string;
  /** Null: it is open. */
  closedAt: string | null;
  /** Sales and refunds so far; advances and credits stand in no total. */
  documents: number;
  /** RFC 3339 UTC; since when it has documents, as far as polls can show; null = it is empty. Closing counts from here. */
  busySince?: string | null;
  /** RFC 3339 UTC, by the database's clock; when the register showed this shift. Absent in readings of before. */
  seenAt?: string;
}
