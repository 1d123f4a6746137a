// Promise: a program whose output has no reader any more can still be stopped.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

const RUNTIME = join(process.cwd(), 'dist', 'libs', 'runtime', 'src', 'index.js');

(existsSync(RUNTIME) ? test : test.skip)('ends on SIGTERM after the reader of its output is gone', async () => {
  const program = `
    const { createLogger, stopOnSignals } = await import(${JSON.stringify(RUNTIME)});
    const logger = createLogger('pipe', 'info');
    stopOnSignals({ logger, stop: () => Promise.resolve(), timeoutMs: 2000 });
    logger.info('ready');
    setInterval(() => logger.info('still here'), 5);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  await once(child.stdout, 'data');
  child.stdout.destroy();
  const gone = once(child, 'exit');
  const hard = setTimeout(() => child.kill('SIGKILL'), 20_000);
  child.kill('SIGTERM');
  const [code, signal] = (await gone) as [number | null, string | null];
  clearTimeout(hard);
  expect({ code, signal }).toEqual({ code: 0, signal: null });
});
