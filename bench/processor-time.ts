import { readFileSync } from 'node:fs';
import { sql } from '../test/system/database.js';
import type { TestSystem } from '../test/system/system.js';

/** Seconds of processor time by program: what they cost, whatever else the machine does beside them. */
export type ProcessorTime = Readonly<Record<'gateway' | 'relay' | 'register' | 'PostgreSQL' | 'client', number>>;

/** Of Linux: the length of a tick of `/proc/<pid>/stat`. */
const TICKS_PER_SECOND = 100;

/** What a piece of work costs each program of the system, and this process as its client. */
export async function processorTimeOf<T>(
  system: TestSystem,
  work: () => Promise<T>,
): Promise<{ result: T; spent: ProcessorTime }> {
  const before = await read(system);
  const result = await work();
  const after = await read(system);
  const spent = (name: keyof ProcessorTime): number => after[name] - before[name];
  return {
    result,
    spent: {
      ...{ gateway: spent('gateway'), relay: spent('relay'), register: spent('register') },
      ...{ PostgreSQL: spent('PostgreSQL'), client: spent('client') },
    },
  };
}

async function read(system: TestSystem): Promise<ProcessorTime> {
  const { gateways, relays, register, ofd } = system;
  const of = (programs: readonly { pid: number | null }[]): number =>
    programs.reduce((sum, { pid }) => sum + secondsOf(pid), 0);
  const sessions = await sql<{ pid: number }>(system.database, 'SELECT pid FROM pg_stat_activity');
  const { user, system: kernel } = process.cpuUsage();
  return {
    ...{
      gateway: of(gateways),
      relay: of(relays),
      register: of([register, ofd]),
      PostgreSQL: secondsOfServer(sessions.map(({ pid }) => pid)),
    },
    client: (user + kernel) / 1e6,
  };
}

/** PostgreSQL's processes, and those that have ended meanwhile: their parent has waited for them. */
export function secondsOfServer(sessions: readonly number[]): number {
  const parent = fieldsOf(sessions[0] ?? null)[1];
  const [, , , , , , , , , , , user, kernel, endedUser, endedKernel] = fieldsOf(Number(parent)).map(Number);
  const ended = ((user ?? 0) + (kernel ?? 0) + (endedUser ?? 0) + (endedKernel ?? 0)) / TICKS_PER_SECOND;
  return sessions.reduce((sum, pid) => sum + secondsOf(pid), ended);
}

/** A program and its workers. */
export function processesOf(program: { pid: number | null } | undefined): number[] {
  const pid = program?.pid ?? null;
  if (pid === null) return [];
  const children = readFileSync(`/proc/${String(pid)}/task/${String(pid)}/children`, 'utf8');
  return [pid, ...children.split(' ').filter(Boolean).map(Number)];
}

/** User and system time of all threads of a process. */
export function secondsOf(pid: number | null): number {
  const fields = fieldsOf(pid);
  return (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) / TICKS_PER_SECOND;
}

/** `/proc/<pid>/stat` from the state on: behind the name, which may hold anything. */
function fieldsOf(pid: number | null): string[] {
  try {
    const stat = readFileSync(`/proc/${String(pid)}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    // Ended between the list and the read.
    return [];
  }
}
