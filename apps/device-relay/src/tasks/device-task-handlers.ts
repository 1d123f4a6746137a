import type { DeviceTaskKind } from '#database';
import type { DeviceTaskHandler } from './device-task.js';

/**
 * Who does which kind of task. Modules add theirs in `onModuleInit`; the runner begins at `onApplicationBootstrap` and
 * takes only kinds that have a handler here, so that an older relay leaves what it does not know to a newer one.
 */
export class DeviceTaskHandlers {
  private readonly handlers = new Map<string, DeviceTaskHandler>();

  /** @throws Error when the kind has a handler already */
  add(handler: DeviceTaskHandler): void {
    if (this.handlers.has(handler.kind)) throw new Error(`Two handlers for device tasks of kind ${handler.kind}`);
    this.handlers.set(handler.kind, handler);
  }

  of(kind: DeviceTaskKind): DeviceTaskHandler | undefined {
    return this.handlers.get(kind);
  }

  get kinds(): DeviceTaskKind[] {
    return [...this.handlers.values()].map(({ kind }) => kind);
  }
}
