#!/usr/bin/env node
import { run } from './run.js';
import { thisProcess } from './session.js';

const stopping = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
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
