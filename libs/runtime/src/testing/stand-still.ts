/** Blocks this process for so long, as one that was stopped, or whose machine was: timers and answers wait until after it. */
export function standStill(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
