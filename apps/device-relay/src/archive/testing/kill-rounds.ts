import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';

const MOST_ROUNDS = 15;
const KILLS = 6;

/** Grows with each step of a keeper that others see. */
async function stepsOf(owner: pg.Client): Promise<number> {
  const { rows } = await owner.query<{ steps: number }>(`
    SELECT (SELECT count(*) + count(*) FILTER (WHERE state <> 'writing') FROM archives)::int4
           + (SELECT count(*) + count(dropped_at) FROM released_partitions)::int4 AS steps`);
  return rows[0]?.steps ?? 0;
}

/** A keeper holds its lock: it has begun, and may have done nothing yet. */
async function hasBegun(owner: pg.Client): Promise<boolean> {
  const { rowCount } = await owner.query(
    `SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
  );
  return (rowCount ?? 0) > 0;
}

/**
 * Runs a keeper in a process of its own, again and again, each time to be killed: in turn a moment after it has begun, and after it has done a step.
 * By these and not by time alone, as on a busy machine a keeper may have done nothing within any time.
 * @param script of a keeper
 * @returns how often it was killed before it had ended
 */
export async function killRounds(owner: pg.Client, script: string, afterEach: () => Promise<void>): Promise<number> {
  let killed = 0;
  for (let round = 0; killed < KILLS && round < MOST_ROUNDS; round += 1) {
    const before = await stepsOf(owner);
    const child = spawn(process.execPath, [...process.execArgv, '--input-type=module', '-e', script], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const ended = once(child, 'exit');
    const isAlive = (): boolean => child.exitCode === null && child.signalCode === null;
    const isThere = round % 2 === 0 ? async () => (await stepsOf(owner)) !== before : () => hasBegun(owner);
    while (isAlive() && !(await isThere())) await delay(2);
    await Promise.race([delay(12 * killed), ended]);
    if (isAlive()) killed += 1;
    child.kill('SIGKILL');
    await ended;
    await afterEach();
  }
  return killed;
}
