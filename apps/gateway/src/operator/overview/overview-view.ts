import type { ReceiptStatus } from '#fiscal-domain';

/** Receipts, and their sum in tiyin. */
export interface CountAndTotal {
  count: number;
  total: number;
}

/** Of receipts that were accepted in the time. */
export interface OverviewSums {
  by_status: Record<ReceiptStatus, CountAndTotal>;
  /** Registered. */
  sales: CountAndTotal;
  /** Registered. */
  refunds: CountAndTotal;
  /** Sales less refunds, tiyin. */
  net: number;
  /** The VAT in it. */
  net_vat: number;
}

export interface OverviewDay {
  /** Of Tashkent. */
  day: string;
  registered: CountAndTotal;
  refunds: CountAndTotal;
  rejected: number;
}

export interface OverviewBranch {
  branch_id: string;
  name: string;
  /** Registered sales. */
  today: CountAndTotal;
  last_30_days: CountAndTotal;
}

export interface OverviewDevice {
  device_id: string;
  name: string;
  branch_id: string;
  state: string;
  /** Registered sales. */
  today: CountAndTotal;
  last_30_days: CountAndTotal;
}

/** From accepted to registered, milliseconds; null where there was nothing. */
export interface Percentiles {
  count: number;
  p50_ms: number | null;
  p95_ms: number | null;
  p99_ms: number | null;
  max_ms: number | null;
}

export interface LatencyMinute extends Percentiles {
  at: string;
}

export interface OverviewLatency {
  last_hour: Percentiles;
  last_24_hours: Percentiles;
  /** Of the last hour those in which something was registered, oldest first. */
  minutes: LatencyMinute[];
}

export interface OverviewCountdown {
  /** `module_memory` counts documents, the others seconds. */
  kind: 'ofd_deadline' | 'shift_age' | 'module_memory' | 'subscription';
  device_id: string;
  device_name: string;
  due_at: string | null;
  remaining: number;
  limit: number;
}

export interface Overview {
  /** When the sums of today were read; those of the days before may be ten minutes older. */
  generated_at: string;
  /** Receipts of any age about which a person has to decide: unknown ones, and ended ones of which a register has a document. Counted up to 5 000. */
  waiting_for_person: number;
  today: OverviewSums;
  /** Today is one of them. */
  last_30_days: OverviewSums;
  /** Oldest first. */
  days: OverviewDay[];
  /** Those that sold most first, at most 500. */
  by_branch: OverviewBranch[];
  /** Those that sold most first, at most 500. */
  by_device: OverviewDevice[];
  latency: OverviewLatency;
  /** What runs out next, at most 50. */
  countdowns: OverviewCountdown[];
}

/** How many merchants there are. */
export interface MerchantCounts {
  live: number;
  sandbox: number;
  /** Live or sandbox. */
  suspended: number;
}

export interface OverviewMerchant {
  merchant_id: string;
  name: string;
  /** Registered sales. */
  today: CountAndTotal;
  last_30_days: CountAndTotal;
}

export interface PlatformCountdown extends OverviewCountdown {
  merchant_id: string;
}

export interface PlatformLatency {
  last_hour: Percentiles;
  /** Those in which something was registered, oldest first. */
  minutes: LatencyMinute[];
}

/** Of all live merchants; sandboxes are counted as merchants and nowhere else. */
export interface PlatformOverview {
  /** When the last hour was read; a minute old at most. The rest of today may be ten minutes older, days that are over an hour. */
  generated_at: string;
  merchants: MerchantCounts;
  /** Receipts of any age about which a person has to decide: unknown ones, and ended ones of which a register has a document. Counted up to 5 000. */
  waiting_for_person: number;
  today: OverviewSums;
  /** Today is one of them. */
  last_30_days: OverviewSums;
  /** Oldest first. */
  days: OverviewDay[];
  /** Those that sold most first, at most 500. */
  by_merchant: OverviewMerchant[];
  latency: PlatformLatency;
  /** What runs out next, at most 50. */
  countdowns: PlatformCountdown[];
}
