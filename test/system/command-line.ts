import { spawnSync } from 'node:child_process';
import type { TestSystem } from './system.js';

/** The gateway's command line, as an operator runs it beside the system. Blocks until it has ended. */
export function commandLine(
  { database, secretsKey }: TestSystem,
  ...args: string[]
): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(process.execPath, ['dist/apps/gateway/src/programs/cli/main.js', ...args], {
    env: { PATH: process.env['PATH'], DATABASE_URL: database.url, SECRETS_KEY: secretsKey },
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
}
