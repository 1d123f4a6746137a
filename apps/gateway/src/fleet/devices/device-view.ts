import type { DeviceBusiness } from '#database';
import { OFD_ALARM_MS, OFD_FUSE_MS, OFD_WARNING_MS, SHIFT_DOCUMENT_LIMIT } from '#fiscal-domain';
import { profileView, type ProfileView } from './device-profile.js';
import type { DeviceRow } from './device.repository.js';
import type { Transport } from './device-bodies.js';
import { viewOfColumns } from '../../http/view-of-columns.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** A register as GET /v1/devices/{id} shows it. Times in UTC, `close_at` in Tashkent; the API key is never shown. */
export interface DeviceView {
  id: string;
  name: string;
  model: string;
  branch_id: string;
  group_id: string | null;
  transport: Transport;
  base_url: string | null;
  state: string;
  state_reason: string | null;
  state_since: string;
  draining_since: string | null;
  registered_at: string;
  last_seen_at: string | null;
  terminal_id: string | null;
  journal_id: string | null;
  capabilities: string[];
  /** Of the classification register that it judges goods by; null = it does not say. */
  classifier_version: number | null;
  /** Older than the register here; null = not known. */
  classifier_is_old: boolean | null;
  profile: ProfileView;
  close_at: string | null;
  business: Record<string, string> | null;
  lane: LaneView;
  countdowns: CountdownsView;
}

export interface LaneView {
  /** Accepted receipts; counted up to 10 000. */
  waiting: number;
  oldest_accepted_at: string | null;
  open_attempt_id: string | null;
  /** When the lane is worked on next; null = at once. */
  due_at: string | null;
  due_reason: string | null;
}

/** What runs out, and when. Null: not known. */
export interface CountdownsView {
  read_at: string | null;
  subscription: { state: string | null; expires_at: string | null; days_left: number | null } | null;
  memory: { receipts_left: number; receipts_max: number; z_reports_left: number; z_reports_max: number } | null;
  /** Null: nothing is unsent. */
  fuse: {
    oldest_unsent_at: string;
    warning_at: string;
    alarm_at: string;
    deadline_at: string;
    seconds_left: number;
    unsent_receipts: number | null;
    unsent_z_reports: number | null;
  } | null;
  /** Null: none is open. */
  shift: {
    number: number;
    opened_at: string;
    age_seconds: number;
    documents: number;
    documents_left: number;
    /** Next moment at which the schedule closes it; null = the relay's own default. */
    closes_at: string | null;
  } | null;
}

export function deviceView(row: DeviceRow): DeviceView {
  return {
    ...viewOfColumns(row, 'id', 'name', 'model', 'branch_id', 'group_id', 'transport', 'base_url'),
    ...viewOfColumns(row, 'state', 'state_reason', 'state_since', 'draining_since', 'registered_at', 'last_seen_at'),
    ...viewOfColumns(row, 'terminal_id', 'journal_id', 'capabilities', 'close_at'),
    classifier_version: row.reading?.classifierVersion ?? null,
    classifier_is_old: isClassifierOld(row),
    profile: profileView(row.profile),
    business: row.business && businessView(row.business),
    lane: viewOfColumns(row, 'waiting', 'oldest_accepted_at', 'open_attempt_id', 'due_at', 'due_reason'),
    countdowns: {
      read_at: moment(row.reading_at),
      subscription: subscriptionOf(row),
      memory: memoryOf(row),
      fuse: fuseOf(row),
      shift: shiftOf(row),
    },
  };
}

function isClassifierOld({ reading, newest_classifier: newest }: DeviceRow): boolean | null {
  const own = reading?.classifierVersion;
  return own === undefined || newest === null ? null : own < newest;
}

function businessView(business: DeviceBusiness): Record<string, string> {
  const { name, tin, phone, legalAddress, actualAddress, branchId, branchAddress } = business;
  return {
    ...{ name, tin, phone, legal_address: legalAddress, actual_address: actualAddress },
    ...{ branch_id: branchId, branch_address: branchAddress },
  };
}

function subscriptionOf({
  reading,
  subscription_expires_at: expiresAt,
  now,
}: DeviceRow): CountdownsView['subscription'] {
  if (!reading && !expiresAt) return null;
  const daysLeft = expiresAt && Math.max(0, Math.floor((expiresAt.getTime() - now.getTime()) / DAY_MS));
  return { state: reading?.subscriptionState ?? null, expires_at: moment(expiresAt), days_left: daysLeft };
}

function memoryOf({ reading }: DeviceRow): CountdownsView['memory'] {
  if (!reading) return null;
  return {
    receipts_left: Math.max(0, reading.maxUnsentReceipts - reading.unsentReceipts),
    receipts_max: reading.maxUnsentReceipts,
    z_reports_left: Math.max(0, reading.zReportsMax - reading.zReportsUsed),
    z_reports_max: reading.zReportsMax,
  };
}

function fuseOf({ reading, next_ofd_deadline: ownDeadline, now }: DeviceRow): CountdownsView['fuse'] {
  const reported = reading?.oldestUnsentAt ? Date.parse(reading.oldestUnsentAt) : Number.POSITIVE_INFINITY;
  const own = ownDeadline ? ownDeadline.getTime() - OFD_FUSE_MS : Number.POSITIVE_INFINITY;
  const oldest = Math.min(reported, own);
  if (!Number.isFinite(oldest)) return null;
  return {
    oldest_unsent_at: new Date(oldest).toISOString(),
    warning_at: new Date(oldest + OFD_WARNING_MS).toISOString(),
    alarm_at: new Date(oldest + OFD_ALARM_MS).toISOString(),
    deadline_at: new Date(oldest + OFD_FUSE_MS).toISOString(),
    seconds_left: Math.max(0, Math.floor((oldest + OFD_FUSE_MS - now.getTime()) / 1_000)),
    unsent_receipts: reading?.unsentReceipts ?? null,
    unsent_z_reports: reading?.unsentZReports ?? null,
  };
}

function shiftOf(row: DeviceRow): CountdownsView['shift'] {
  const shift = row.reading?.shift;
  if (!shift || shift.closedAt !== null) return null;
  const openedAt = Date.parse(shift.openedAt);
  return {
    number: shift.number,
    opened_at: new Date(openedAt).toISOString(),
    age_seconds: Math.max(0, Math.floor((row.now.getTime() - openedAt) / 1_000)),
    documents: shift.documents,
    documents_left: Math.max(0, SHIFT_DOCUMENT_LIMIT - shift.documents),
    closes_at: row.close_due_at?.toISOString() ?? null,
  };
}

function moment(at: Date | null): string | null {
  return at?.toISOString() ?? null;
}
