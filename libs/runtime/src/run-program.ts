import { inspect } from 'node:util';
import { SettingsError } from './settings.js';

/**
 * Runs a program's `main`. What its operator can mend (a setting, a busy port) is one sentence on standard error; a
 * surprise shows its stack. Either way the process leaves with exit code 1.
 */
export function runProgram(main: () => Promise<void>): void {
  main().catch((error: unknown) => {
    process.stderr.write(`${operatorMessage(error) ?? inspect(error)}\n`);
    process.exit(1);
  });
}

function operatorMessage(error: unknown): string | null {
  if (error instanceof SettingsError) return error.message;
  if (!(error instanceof Error) || !('code' in error)) return null;
  if (error.code === 'EADDRINUSE') return `Cannot start: the port is in use (${error.message}).`;
  if (error.code === 'EACCES') return `Cannot start: not allowed (${error.message}).`;
  return null;
}
