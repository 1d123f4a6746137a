import { execFile } from 'node:child_process';
import type { TestSystem } from './system.js';

export interface CommandEnd {
  /** Null: it was ended by a signal. */
  status: number | null;
  stdout: string;
  stderr: string;
}

type Surroundings = Pick<TestSystem, 'database' | 'secretsKey'> & { settings?: Record<string, string> };

const MOST_OUTPUT_BYTES = 64 * 1024 * 1024;

/** The gateway's command line, as an operator runs it beside the system. */
export function commandLine({ database, secretsKey, settings }: Surroundings, ...args: string[]): Promise<CommandEnd> {
  const command = ['dist/apps/gateway/src/programs/cli/main.js', ...args];
  const env = { PATH: process.env['PATH'], DATABASE_URL: database.url, SECRETS_KEY: secretsKey, ...settings };
  return new Promise((resolve) => {
    const child = execFile(process.execPath, command, { env, maxBuffer: MOST_OUTPUT_BYTES }, (_error, stdout, stderr) =>
      resolve({ status: child.exitCode, stdout, stderr }),
    );
  });
}
