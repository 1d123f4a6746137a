import { inspect } from 'node:util';
import { sentenceOfStart } from './start-failure.js';

/**
 * Runs a program's `main`. What its operator can mend (a setting, a busy port) is one sentence on standard error; a
 * surprise shows its stack. Either way the process leaves with exit code 1.
 */
export function runProgram(main: () => Promise<void>): void {
  main().catch((error: unknown) => {
    process.stderr.write(`${sentenceOfStart(error) ?? inspect(error)}\n`);
    process.exit(1);
  });
}
