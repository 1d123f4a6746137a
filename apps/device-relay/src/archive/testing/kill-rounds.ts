import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { build } from 'esbuild';
import type pg from 'pg';

const MOST_ROUNDS = 15;
const KILLS = 6;
/** Within the project, whose packages are found from there. */
const ARTIFACTS = join(import.meta.dirname, '../../../../../.artifacts');

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
 * One file with all that a keeper needs: read in a third of the processor time that its modules take, each time that it is begun.
 * @param script of a keeper
 * @returns the file's folder
 */
async function bundled(script: string): Promise<string> {
  mkdirSync(ARTIFACTS, { recursive: true });
  const folder = mkdtempSync(join(ARTIFACTS, 'keeper-'));
  await build({
    stdin: { contents: `process.stdout.write('read'); ${script}`, resolveDir: import.meta.dirname },
    outfile: join(folder, 'keeper.mjs'),
    bundle: true,
    platform: 'node',
    format: 'esm',
    conditions: ['source'],
    // What packages ask for and do without.
    external: ['pg-native', '@prisma/client/*', '@nestjs/websockets', '@nestjs/microservices', 'class-*'],
    banner: {
      js: `import { createRequire } from 'node:module'; const require = createRequire(${JSON.stringify(import.meta.url)});`,
    },
    logLevel: 'error',
  });
  return folder;
}

/**
 * Runs a keeper in a process of its own, again and again, each time to be killed: in turn a moment after it has begun, and after it has done a step.
 * By these and not by time alone, as on a busy machine a keeper may have done nothing within any time.
 * @param script of a keeper
 * @returns how often it was killed before it had ended
 */
export async function killRounds(owner: pg.Client, script: string, afterEach: () => Promise<void>): Promise<number> {
  const folder = await bundled(script);
  try {
    return await killInTurn(owner, join(folder, 'keeper.mjs'), afterEach);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function killInTurn(owner: pg.Client, program: string, afterEach: () => Promise<void>): Promise<number> {
  let killed = 0;
  for (let round = 0; killed < KILLS && round < MOST_ROUNDS; round += 1) {
    const before = await stepsOf(owner);
    const child = spawn(process.execPath, ['--no-warnings', program], { stdio: ['ignore', 'pipe', 'inherit'] });
    const ended = once(child, 'exit');
    // The database is not asked while the processor reads the keeper.
    await Promise.race([once(child.stdout, 'data'), ended]);
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
