import { spawn } from 'node:child_process';
import path from 'node:path';

import { exitCodeOf } from './lib/gateway-command.mjs';
import { ROOT } from './lib/paths.mjs';
import { prepareWorkspace } from './lib/prepare.mjs';
import { reportOnStandardError } from './lib/progress.mjs';
import { runProgram } from './lib/user-error.mjs';

const MAIN = path.join(ROOT, 'dist', 'apps', 'cli', 'src', 'main.js');

/** npm run fgw -- receipts list …: the command line, without installing it. */
await runProgram(async () => {
  reportOnStandardError();
  await prepareWorkspace();
  const child = spawn(process.execPath, ['--enable-source-maps', MAIN, ...process.argv.slice(2)], { stdio: 'inherit' });
  // Ctrl-C reaches it as well; it decides when this ends.
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) process.on(signal, () => child.kill(signal));
  process.exitCode = await exitCodeOf(child);
});
