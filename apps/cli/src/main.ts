#!/usr/bin/env node
import { EXIT } from './exit-codes.js';
import { run } from './run.js';
import { thisProcess } from './session.js';

/** Ctrl-C arrives twice through `npm run fgw`: from the terminal, and handed on. Later than that a person is in a hurry. */
const ONE_CTRL_C_MS = 1_000;

const stopping = new AbortController();
let stoppedMs = 0;
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    if (stopping.signal.aborted) {
      if (performance.now() - stoppedMs > ONE_CTRL_C_MS) process.exit(EXIT.interrupted);
      return;
    }
    stoppedMs = performance.now();
    stopping.abort(new Error(`ended by ${signal}`));
    // A command that still reads its input would wait for the end of it.
    process.stdin.destroy();
  });
}
// `fgw receipts list | head`: the reader has enough, and that is no fault.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
});
process.exitCode = await run(process.argv.slice(2), thisProcess(stopping.signal));
