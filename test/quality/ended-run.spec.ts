// Promise: a run of checks that is asked to end ends what it has started, tidies up after itself, and says by its code that it did not finish.
import { spawn } from 'node:child_process';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { commandOf, waitUntil } from '../../scripts/lib/processes.mjs';

const RUN = pathToFileURL(path.resolve(import.meta.dirname, '../../scripts/lib/run.mjs')).href;
const FOR_EVER = 'setInterval(() => undefined, 1_000);';
/** What a run is to jest, jest to the processes of its test files, and these to the systems that they start: one that hears no SIGTERM either. */
const STARTS_ANOTHER = `
  const other = require('node:child_process').spawn(process.execPath, ['-e', ${JSON.stringify(FOR_EVER)}], { stdio: 'ignore' });
  process.stderr.write('pid ' + process.pid + '\\npid ' + other.pid + '\\n');
  ${FOR_EVER}`;
const HARNESS = `
  const { endCommandsWithUs, run } = await import(${JSON.stringify(RUN)});
  const endedBy = endCommandsWithUs();
  const start = () => run(process.execPath, ['-e', ${JSON.stringify(STARTS_ANOTHER)}], { show: true });
  try {
    await start().catch((error) => console.log('rejected: ' + error.message));
    await start().catch((error) => console.log('not begun: ' + error.message));
  } finally {
    console.log('tidied up');
  }
  process.exitCode = endedBy() ?? 0;`;

test.each(['SIGTERM', 'SIGINT'] as const)(
  '%s',
  async (signal) => {
    const harness = spawn(process.execPath, ['--input-type=module', '-e', HARNESS], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let said = '';
    harness.stdout.setEncoding('utf8').on('data', (text: string) => (said += text));
    const pids = (): number[] => [...said.matchAll(/pid (\d+)/g)].map(([, pid]) => Number(pid));
    try {
      expect(await waitUntil(() => pids().length === 2, 20_000)).toBe(true);
      const ended = new Promise((resolve) => harness.once('exit', resolve));
      harness.kill(signal);
      expect(await ended).toBe(signal === 'SIGTERM' ? 143 : 130);
      expect(pids().map((pid) => commandOf(pid))).toEqual(['', '']);
      expect(said).toContain('rejected: ');
      expect(said).toContain('not begun: ');
      expect(said).toContain('tidied up');
    } finally {
      for (const pid of pids().filter((each) => commandOf(each) !== '')) process.kill(pid, 'SIGKILL');
    }
  },
  40_000,
);
