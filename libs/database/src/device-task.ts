import type { DeviceReading } from './device-reading.js';

/**
 * What gateways ask of registers through rows of `device_tasks`. `inspect` asks a register who it is, before it is
 * registered or after its address or key has changed; `check` reads its health now.
 */
export const DEVICE_TASK_KINDS = ['inspect', 'check', 'shift_status', 'shift_open', 'shift_close'] as const;
export type DeviceTaskKind = (typeof DEVICE_TASK_KINDS)[number];

/** What `device_tasks.result` holds. */
export type DeviceTaskResult =
  | { kind: 'ok'; value: Record<string, unknown> }
  /** `code`: the register's own (`F-002`), or one of DEVICE_TASK_FAILURES. `detail`: one sentence for the caller. */
  | { kind: 'failed'; code: string; detail: string };

/** Codes of failures that no register gave. */
export const DEVICE_TASK_FAILURES = [
  /** It was not begun before its caller had gone. */
  'expired',
  /** The device does not answer: nothing was sent, or nothing came back. */
  'unreachable',
  /** It answered nothing that can be read as the local fiscal API. */
  'not_a_register',
  /** It belongs to another taxpayer than the merchant. */
  'tin_mismatch',
  /** A live device, of any merchant, has its terminal. */
  'terminal_taken',
  /** Another terminal answers than the one that this device is. */
  'other_terminal',
  /** The handler failed in an unforeseen way. */
  'internal',
] as const;

/** Params of `inspect`. What is given is tried instead of what the row holds: an address or key before it is taken over. */
export interface InspectParams {
  baseUrl?: string;
  /** base64, sealed for the device's row. */
  apiKeySealed?: string;
}

/** What an `inspect` that went well has learned. */
export interface DeviceIntroduction {
  terminalId: string;
  journalId: string | null;
  capabilities: string[];
  /** RFC 3339 UTC; null = the register does not report it. */
  subscriptionExpiresAt: string | null;
  business: DeviceBusiness;
  reading: DeviceReading;
}

/** What `devices.business` holds: whom the register says it belongs to, and where it stands. */
export interface DeviceBusiness {
  name: string;
  tin: string;
  phone: string;
  legalAddress: string;
  actualAddress: string;
  branchId: string;
  branchAddress: string;
}
