import { readFileSync } from 'node:fs';
import type { Program } from '../test/system/program.js';
import type { Figure } from './report.js';

/** Resident memory of each running program (Linux). */
export function memoryOf(programs: readonly Program[]): Figure[] {
  return programs.flatMap((program) => {
    const value = program.pid === null ? null : residentMebibytes(program.pid);
    return value === null ? [] : [{ name: `memory: ${program.name}`, value, unit: 'MiB' }];
  });
}

export function residentMebibytes(pid: number): number | null {
  try {
    const kilobytes = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return kilobytes === undefined ? null : Number(kilobytes) / 1_024;
  } catch {
    return null; // not Linux: there is no such figure
  }
}

/** Processor time that a program has used so far, milliseconds (Linux: in hundredths of a second). */
export function processorMs(pid: number): number | null {
  try {
    // After the name, which may have spaces: 12th and 13th are user and system time.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
    return (Number(fields[11]) + Number(fields[12])) * 10;
  } catch {
    return null; // not Linux: there is no such figure
  }
}
