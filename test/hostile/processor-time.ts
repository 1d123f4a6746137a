import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

/** Work that an answer leaves behind: it is written to the log and cleared away a moment later. */
const AFTERWARDS_MS = 15;

/** Whether this machine says how long a process was on a processor (Linux). */
export const CAN_MEASURE = process.platform === 'linux';

/** Processor time of all threads of a process so far, nanoseconds. It does not grow while others use the processor. */
function processorNs(pid: number): number {
  const folder = `/proc/${pid}/task`;
  return readdirSync(folder).reduce((sum, thread) => sum + nsOf(`${folder}/${thread}/schedstat`), 0);
}

function nsOf(file: string): number {
  try {
    return Number(readFileSync(file, 'utf8').split(' ', 1)[0]);
  } catch {
    return 0; // a thread that has ended meanwhile
  }
}

/** What a piece of work costs a process, nanoseconds. */
export async function spentBy(pid: number, work: () => Promise<void>): Promise<number> {
  const before = processorNs(pid);
  await work();
  await delay(AFTERWARDS_MS);
  return processorNs(pid) - before;
}
