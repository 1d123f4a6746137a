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
