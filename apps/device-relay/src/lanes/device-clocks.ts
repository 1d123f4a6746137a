import type { Metrics } from '#runtime';

/** Below this it is the way there and back, and the second that some modules round to. */
const APART_MS = 30_000;
/** A register that has sold nothing for so long may have been set right since. */
const SHOWN_FOR_MS = 3_600_000;

interface Noted {
  aheadMs: number;
  atMs: number;
}

/** Registers whose clock was another one than ours when they last answered a sale: what they write onto documents is wrong, and the fuse counts from it. */
export class DeviceClocks {
  private readonly apart = new Map<string, Noted>();

  constructor(private readonly nowMs: () => number = Date.now) {}

  /** @param transactionTimeMs of a document that the register has made just now */
  note(deviceId: string, transactionTimeMs: number): void {
    // An emulated register alarms no person.
    if (deviceId.startsWith('dev_test_')) return;
    const atMs = this.nowMs();
    const aheadMs = transactionTimeMs - atMs;
    if (Math.abs(aheadMs) < APART_MS) this.apart.delete(deviceId);
    else this.apart.set(deviceId, { aheadMs, atMs });
  }

  /** By how much each is ahead, negative: behind. */
  read(): ReadonlyMap<string, number> {
    const oldestMs = this.nowMs() - SHOWN_FOR_MS;
    for (const [deviceId, { atMs }] of this.apart) if (atMs < oldestMs) this.apart.delete(deviceId);
    return new Map([...this.apart].map(([deviceId, { aheadMs }]) => [deviceId, aheadMs]));
  }

  observe(metrics: Metrics): this {
    metrics.gauge(
      {
        name: 'device_clock_ahead_seconds',
        help: 'By how much the clock of a register was ahead of the relay’s at its last sale within the hour, negative: behind; half a minute and less are left out',
        labels: ['device'],
      },
      (gauge) => {
        gauge.reset();
        for (const [device, aheadMs] of this.read()) gauge.set({ device }, aheadMs / 1_000);
      },
    );
    return this;
  }
}
