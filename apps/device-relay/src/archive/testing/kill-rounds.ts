import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';

const ROUNDS = 6;

/**
 * Runs a keeper in a process of its own, again and again, each time to be killed after a while.
 * @param script prints something when it begins
 * @param lifeMs how long it lives from then on, by the round from 0
 * @returns how often it was killed before it had ended
 */
export async function killRounds(
  script: string,
  lifeMs: (round: number) => number,
  afterEach: () => Promise<void>,
): Promise<number> {
  let killed = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const child = spawn(process.execPath, [...process.execArgv, '--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ended = once(child, 'exit');
    await Promise.race([once(child.stdout, 'data'), ended]);
    await Promise.race([delay(lifeMs(round)), ended]);
    if (child.exitCode === null) killed += 1;
    child.kill('SIGKILL');
    await ended;
    await afterEach();
  }
  return killed;
}
