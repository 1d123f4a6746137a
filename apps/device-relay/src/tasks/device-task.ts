import type { DeviceTaskKind, DeviceTaskResult } from '#database';

/** Something that a gateway asks of a register and waits for. */
export interface DeviceTask {
  id: string;
  deviceId: string;
  /** As the gateway wrote it; the handler reads what it knows. */
  params: unknown;
  /** Who asked: an OAuth client's id. */
  actor: string;
}

/**
 * Does one kind of task. May run twice for one task: the relay that had it died or fell silent, and another took over.
 * What it throws becomes the failure `internal`.
 */
export interface DeviceTaskHandler {
  readonly kind: DeviceTaskKind;
  run(task: DeviceTask): Promise<DeviceTaskResult>;
}
