import { readArguments } from './lib/arguments.mjs';
import { assertNodeVersion, ensureInstalled } from './lib/install.mjs';
import { endCommandsWithUs } from './lib/run.mjs';
import { runProgram } from './lib/user-error.mjs';

/**
 * npm test: everything that CI checks, from a fresh clone on. `npm test -- lint unit` runs only these groups. The last
 * line is "N passed, N failed" with the real counts.
 */
await runProgram(async () => {
  assertNodeVersion();
  endCommandsWithUs();
  const usage = 'Usage: npm test [-- types lint unit …], those of every change where none is named.';
  const { names } = readArguments(usage, { names: true });
  await ensureInstalled();
  // Packages may be used only from here on.
  const { runGroups } = await import('./lib/test-run.mjs');
  const { passed, failed, skipped } = await runGroups(names);
  process.exitCode = failed === 0 ? 0 : 1;
  console.log(`${passed} passed, ${failed} failed${skipped === 0 ? '' : `, ${skipped} skipped`}`);
});
