/**
 * Which devices still have to be announced to the queue. A set, not a list: a thousand receipts for one device are one
 * entry, and an outage of the queue costs at most `maxDevices` ids of memory.
 */
export class PendingRings {
  private readonly waiting = new Set<string>();
  private readonly inFlight = new Set<string>();
  private readonly rungAgain = new Set<string>();

  constructor(private readonly maxDevices: number) {}

  /** @returns false when the set is full and the ring is dropped; the sweeper finds that lane. */
  ring(deviceId: string): boolean {
    if (this.inFlight.has(deviceId)) {
      // The add in flight may have been read by a worker before this receipt was committed: exactly one more follows.
      this.rungAgain.add(deviceId);
      return true;
    }
    if (this.waiting.has(deviceId)) return true;
    if (this.waiting.size >= this.maxDevices) return false;
    this.waiting.add(deviceId);
    return true;
  }

  /** Takes the device that has waited longest; its add is now in flight until `settle`. */
  take(): string | undefined {
    for (const deviceId of this.waiting) {
      this.waiting.delete(deviceId);
      this.inFlight.add(deviceId);
      return deviceId;
    }
    return undefined;
  }

  /** The add of a taken device ended; one that failed, or was rung again meanwhile, waits anew. */
  settle(deviceId: string, added: boolean): void {
    this.inFlight.delete(deviceId);
    const again = this.rungAgain.delete(deviceId);
    if (again || !added) this.waiting.add(deviceId);
  }

  get waitingCount(): number {
    return this.waiting.size;
  }

  get inFlightCount(): number {
    return this.inFlight.size;
  }
}
