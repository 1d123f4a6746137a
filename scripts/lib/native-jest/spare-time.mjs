import os from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';

/**
 * Whether the processors have time to spare: many test files wait, for a pause between two attempts or for a provider that is slow on purpose,
 * and most of those that take longest do. Beside them another file costs none its time; beside files that compute it would.
 */

/** So much of all processors, in each of so many samples. */
const SPARE = 0.3;
const SAMPLES = 3;
const SAMPLE_MS = 1_000;
/** Between two files that begin in spare time: the first is to show what it needs. */
const PAUSE_MS = 10_000;
/** A whole system, and what the files that run may still take. */
const SPARE_MEMORY_BYTES = 6 * 1024 ** 3;

let lastGivenMs = -Infinity;

/**
 * Waits until the processors have been idle for a while. Who asks first is given the time first, the next one not before its pause is over.
 * @param {() => boolean} isOver whether it is no longer wanted
 * @returns {Promise<boolean>} false: it is over, or not to be known
 */
export async function spareTime(isOver) {
  // What the whole machine leaves idle says nothing about a part of its processors.
  if (os.cpus().length !== os.availableParallelism()) return false;
  let idle = 0;
  let before = processorTime();
  while (!isOver()) {
    await delay(SAMPLE_MS);
    const now = processorTime();
    const share = (now.idle - before.idle) / Math.max(1, now.all - before.all);
    idle = share >= SPARE ? idle + 1 : 0;
    before = now;
    const isRested = performance.now() - lastGivenMs > PAUSE_MS;
    if (idle >= SAMPLES && isRested && process.availableMemory() > SPARE_MEMORY_BYTES) {
      lastGivenMs = performance.now();
      return true;
    }
  }
  return false;
}

/** Milliseconds since the machine's start, of all processors together. */
function processorTime() {
  let [idle, all] = [0, 0];
  for (const { times } of os.cpus()) {
    idle += times.idle;
    all += times.user + times.nice + times.sys + times.irq + times.idle;
  }
  return { idle, all };
}
