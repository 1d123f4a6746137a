import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';

const MOST_ROUNDS = 15;
const KILLS = 5;

/** Grows with each step of a keeper that others see. */
async function stepsOf(owner: pg.Client): Promise<number> {
  const { rows } = await owner.query<{ steps: number }>(`
    SELECT (SELECT count(*) + count(*) FILTER (WHERE state <> 'writing') FROM archives)::int4
           + (SELECT count(*) + count(dropped_at) FROM released_partitions)::int4 AS steps`);
  return rows[0]?.steps ?? 0;
}

/**
 * Runs a keeper in a process of its own, again and again, each time to be killed a moment after it has done a step: the first one at once, each
 * later one a little after. By steps and not by time alone, as on a busy machine a keeper may have done nothing within any time.
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
    while (child.exitCode === null && (await stepsOf(owner)) === before) await delay(2);
    await Promise.race([delay(12 * killed), ended]);
    if (child.exitCode === null) killed += 1;
    child.kill('SIGKILL');
    await ended;
    await afterEach();
  }
  return killed;
}
