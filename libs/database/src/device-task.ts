/**
 * What gateways ask of registers through rows of `device_tasks`. `inspect` asks a register who it is, before it is
 * registered or after its address or key has changed; `check` reads its health now.
 */
export const DEVICE_TASK_KINDS = ['inspect', 'check', 'shift_status', 'shift_open', 'shift_close'] as const;
export type DeviceTaskKind = (typeof DEVICE_TASK_KINDS)[number];

/** What `device_tasks.result` holds. */
export type DeviceTaskResult =
  | { kind: 'ok'; value: Record<string, unknown> }
  /** `code`: the register's own (`F-002`), or one of DeviceTaskFailure. `detail`: one sentence for the caller. */
  | { kind: 'failed'; code: string; detail: string };

/** Codes of failures that no register gave. */
export const DEVICE_TASK_FAILURES = [
  /** Nobody began it before its caller had gone. */
  'expired',
  /** The device does not answer: nothing was sent, or nothing came back. */
  'unreachable',
  /** It answered nothing that can be read as the local fiscal API. */
  'not_a_register',
  /** The handler failed in a way that nobody foresaw. */
  'internal',
] as const;
export type DeviceTaskFailure = (typeof DEVICE_TASK_FAILURES)[number];
