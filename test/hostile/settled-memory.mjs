// Loaded before a program under test: on SIGUSR2 it collects its garbage and says what it really holds.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc');

process.on('SIGUSR2', () => {
  collect();
  // What a finalizer releases is garbage of the next round.
  setImmediate(() => {
    collect();
    const { heapUsed, external } = process.memoryUsage();
    process.stdout.write(`settled: ${heapUsed + external} bytes\n`);
  });
});
