/** A process that has a session of its own at the database for as long as it works. */
export interface HealthProgram {
  /** From where it is connected; null: through a socket on the database's machine. */
  address: string | null;
  since: string;
}

export interface HealthRelay extends HealthProgram {
  /** Lanes that it has in hand, each locked by it alone. */
  lanes: number;
}

export interface HealthQueue {
  /** Whether the wake-ups of relays reach the queue, from this gateway. Without it lanes are found by reading, and go on. */
  state: 'up' | 'down';
  /** Lanes in which a receipt waits. */
  lanes: number;
  /** Accepted receipts of all lanes, counted up to 20 000. */
  receipts: number;
  oldest_receipt_seconds: number;
  oldest_attempt_seconds: number;
  /** Receipts that wait for a person. */
  unknown: number;
  /** Each counted up to 10 000. */
  overdue: { payments: number; webhook_endpoints: number; message_accounts: number };
}

export interface HealthDatabase {
  version: string;
  size_bytes: number;
  connections: number;
  max_connections: number;
  /** Sessions that wait for a lock now. */
  blocked: number;
  oldest_transaction_seconds: number;
  /** Standbys that follow it now. */
  standbys: number;
}

export interface HealthTable {
  name: string;
  /** With its indexes. */
  bytes: number;
  /** As the statistics have it. */
  rows: number;
  /** 0: it is not partitioned. */
  partitions: number;
}

/** What the installation runs on, as its database sees it. */
export interface PlatformHealth {
  generated_at: string;
  /** At most 500. */
  gateways: HealthProgram[];
  /** At most 500. */
  relays: HealthRelay[];
  queue: HealthQueue;
  database: HealthDatabase;
  /** The ten largest. */
  tables: HealthTable[];
}
